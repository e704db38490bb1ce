"""The client: what it asks again, what it asks once, and when it stops asking."""

import io
import zipfile
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise, repeat
from pathlib import Path

import httpx2
import pytest

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.competitions import Competitions, KaggleCompetition
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.forum import Forum
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Pace, Timeouts
from scrapers.kaggle.submissions import Submissions
from state.errors import KaggleError, NotAuthenticated, RateLimited, SiteUnavailable, UnknownAnswer, UsageError
from tests.scrapers.kaggle.parts import SECRET, URL, SetClock, Site, answer, broken, client_of

GET = Method("competitions.CompetitionApiService", "GetCompetition", "competitions")
LEAF = {"id": 1, "ref": "https://www.kaggle.com/competitions/leaf"}
WAIT = {"Retry-After": "5"}


async def test_a_question_is_a_post_with_the_key_and_a_name_of_our_own() -> None:
    site = Site([answer(LEAF, Date="Fri, 20 Nov 2026 09:59:58 GMT")])
    async with client_of(site) as client:
        found = await Competitions(client).get("leaf")
    (asked,) = site.asked
    assert (asked.method, asked.body) == ("GetCompetition", {"competitionName": "leaf"})
    assert asked.headers["authorization"] == f"Bearer {SECRET}"
    assert found.slug == "leaf"
    assert found.served_at.isoformat() == "2026-11-20T09:59:58+00:00"


async def test_what_reads_is_asked_again_after_a_bad_moment() -> None:
    html = answer("<html><title>We'll be back</title></html>")
    for bad in (broken(), broken(httpx2.ReadTimeout), answer({}, 500), answer("Too many requests", 429), html):
        site, clock = Site([bad, answer(LEAF)]), SetClock()
        async with client_of(site, clock) as client:
            assert (await Competitions(client).get("leaf")).id == 1
        assert len(site.asked) == 2


async def test_what_sends_is_asked_once_whatever_comes() -> None:
    for bad in (broken(), answer({}, 500), answer("Too many requests", 429), answer("<html></html>")):
        site = Site([bad])
        async with client_of(site) as client:
            with pytest.raises(SiteUnavailable):
                await Submissions(client, "leaf").create("token", "tag")
        assert len(site.asked) == 1


async def test_the_wait_is_at_least_what_kaggle_asks_for_and_grows_without_it() -> None:
    clock = SetClock()
    site = Site([answer({}, 429, **WAIT), answer({}, 500), answer(LEAF)])
    async with client_of(site, clock, pace=Pace(min_interval=0)) as client:
        await Competitions(client).get("leaf")
    asked_for, own = clock.slept
    assert asked_for >= 5.0
    assert 0.0 < own <= 4.0


async def test_a_wait_that_is_too_long_is_left_to_a_later_call_and_believed_only_so_far() -> None:
    clock = SetClock()
    site = Site([answer({}, 429, **{"Retry-After": "86400"}), answer(LEAF)])
    async with client_of(site, clock) as client:
        with pytest.raises(RateLimited):
            await Competitions(client).get("leaf")
        with pytest.raises(RateLimited, match="are paused for 1800 s"):
            await Competitions(client).get("leaf")
        assert len(site.asked) == 1
        clock.advance(1_800)
        assert (await Competitions(client).get("leaf")).id == 1


async def test_a_family_that_fails_is_left_in_peace_and_the_others_are_not() -> None:
    clock = SetClock()
    site = Site([answer({}, 503)])
    async with client_of(site, clock) as client:
        with pytest.raises(SiteUnavailable):
            await Forum(client).topics("leaf")
        assert len(site.asked) == Timeouts().attempts
        with pytest.raises(RateLimited, match=r"\(forum\) are paused"):
            await Forum(client).topics("leaf")
        assert len(site.asked) == Timeouts().attempts
        site.script[:] = [answer(LEAF)]
        await Competitions(client).get("leaf")
        clock.advance(60)
        site.script[:] = [answer({"topics": []})]
        await Forum(client).topics("leaf")


async def test_an_unknown_key_stops_all_calls_and_another_is_looked_for_later() -> None:
    clock = SetClock()
    site = Site([answer({"error": {"code": 401, "message": "Unauthenticated"}}, 401)])
    keys = iter([Credentials("KGAT_old"), Credentials("KGAT_new")])
    async with client_of(site, clock, credentials=keys) as client:
        with pytest.raises(NotAuthenticated, match="a new token"):
            await Competitions(client).get("leaf")
        with pytest.raises(NotAuthenticated, match="a new token"):
            await Forum(client).topics("leaf")
        assert len(site.asked) == 1, "callers hear the reason, and Kaggle is left in peace"
        clock.advance(1_800)
        site.script[:] = [answer({"topics": []})]
        await Forum(client).topics("leaf")
    assert site.asked[-1].headers["authorization"] == "Bearer KGAT_new"


async def test_requests_are_apart_and_few_and_end_with_the_day() -> None:
    clock = SetClock()
    site = Site([answer(LEAF)])
    pace = Pace(per_minute=4, burst=3, per_day=6, min_interval=1)
    async with client_of(site, clock, pace=pace) as client:
        times = []
        for _ in range(6):
            await Competitions(client).get("leaf")
            times.append(clock.now())
        gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
        assert gaps[:2] == [1.0, 1.0]
        assert all(12.0 <= gap <= 15.0 for gap in gaps[2:])
        with pytest.raises(RateLimited, match=r"6 requests.*reached") as raised:
            await Competitions(client).get("leaf")
        assert len(site.asked) == 6
        clock.advance(raised.value.wait + 1_800)  # its breaker rests too
        await Competitions(client).get("leaf")


async def test_reading_what_others_wrote_leaves_a_reserve_for_submissions() -> None:
    site = Site([answer({})])
    pace = Pace(per_minute=1e6, burst=100, per_day=10, reserved=0.2, min_interval=0)
    async with client_of(site, pace=pace) as client:
        with pytest.raises(RateLimited, match="8 requests for forums and notebooks has been reached"):
            for _ in range(10):
                await Forum(client).topics("leaf")
        assert len(site.asked) == 8
        for _ in range(2):
            await Submissions(client, "leaf").limits()
        with pytest.raises(RateLimited, match="10 requests to Kaggle has been reached"):
            await Submissions(client, "leaf").limits()
    assert [one.method for one in site.asked[8:]] == ["GetSubmissionLimits"] * 2


async def test_a_no_is_neither_repeated_nor_held_against_the_family() -> None:
    site = Site([answer({"code": 400, "message": "Submission files must be named"}, 400)])
    async with client_of(site) as client:
        for _ in range(3):
            with pytest.raises(KaggleError, match="must be named") as raised:
                await Submissions(client, "leaf").limits()
            assert raised.value.status == 400
    assert len(site.asked) == 3


async def test_an_answer_that_breaks_the_interface_is_named() -> None:
    async with client_of(Site([answer({"topics": [{"id": "none"}]})])) as client:
        with pytest.raises(UnknownAnswer, match=r"ListCompetitionTopics.*topics\.0\.id"):
            await Forum(client).topics("leaf")


async def test_an_error_under_status_200_is_an_error() -> None:
    async with client_of(Site([answer({"code": 404, "message": "Not found"})])) as client:
        with pytest.raises(KaggleError, match="404"):
            await Competitions(client).get("leaf")


@pytest.mark.parametrize("error", ["Be patient", {"message": "Be patient"}, {"code": 7, "message": "Be patient"}])
async def test_an_error_without_a_status_is_no_answer(error: object) -> None:
    async with client_of(Site([answer({"error": error})]), timeouts=Timeouts(attempts=1)) as client:
        with pytest.raises(SiteUnavailable, match="Be patient"):
            await Submissions(client, "leaf").limits()


async def test_an_answer_without_end_is_given_up() -> None:
    site = Site([answer({"title": "x" * 2_000})])
    async with client_of(site, timeouts=Timeouts(max_response_bytes=1_000, attempts=1)) as client:
        with pytest.raises(SiteUnavailable, match="more than 1,000 bytes"):
            await Competitions(client).get("leaf")


async def test_both_ways_of_turning_pages_are_followed_and_end() -> None:
    def competition(number: int) -> dict[str, object]:
        return {"id": number, "ref": f"https://k/c/c{number}"}

    numbered = Site(
        [answer({"competitions": [competition(1)]}), answer({"competitions": [competition(2)]}), answer({})]
    )
    by_token = Site(
        [
            answer({"competitions": [competition(1)], "nextPageToken": "abc"}),
            answer({"competitions": [competition(2)], "nextPageToken": "def"}),
            answer({"competitions": [competition(2)], "nextPageToken": "ghi"}),
        ]
    )
    for site in (numbered, by_token):
        async with client_of(site) as client:
            assert [found.slug async for found in Competitions(client).list_entered()] == ["c1", "c2"]
    assert [asked.body.get("page") for asked in numbered.asked] == [1, 2, 3]
    assert [asked.body.get("pageToken") for asked in by_token.asked] == [None, "abc", "def"]


async def test_a_download_is_asked_without_the_key() -> None:
    def site(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "kaggle.example":
            return httpx2.Response(302, headers={"Location": "https://storage.googleapis.com/data.zip?sig=1"})
        assert "authorization" not in request.headers
        return httpx2.Response(200, content=b"zip")

    async with client_of(site) as client:
        address = await Competitions(client).data_address("leaf")
        async with client.stream(address) as response:
            assert await response.aread() == b"zip"


async def test_an_address_may_come_in_the_answer_instead_of_a_redirect() -> None:
    board = io.BytesIO()
    with zipfile.ZipFile(board, "w") as zipped:
        zipped.writestr("board.csv", "Rank,TeamId,TeamName,Score\n1,2,a,0.5\n")
    address = "https://storage.googleapis.com/board.zip?sig=1"

    def site(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "kaggle.example":
            return httpx2.Response(200, json={"url": address})
        return httpx2.Response(200, content=board.getvalue())

    async with client_of(site) as client:
        assert await Competitions(client).data_address("leaf") == address
        rows, _ = await Competitions(client).board("leaf")
        assert [row.team for row in rows] == ["a"]


async def test_an_upload_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    file = tmp_path / "submission.csv"
    file.write_bytes(bytes(range(256)) * 4)
    script: list[int | type[Exception]] = [httpx2.ReadError, 308, 503, 308, 201]
    seen: list[tuple[str | None, bytes]] = []

    def site(request: httpx2.Request) -> httpx2.Response:
        assert (request.method, "authorization" in request.headers) == ("PUT", False)
        seen.append((request.headers.get("content-range"), request.content))
        next_one = script.pop(0)
        if isinstance(next_one, type):
            raise next_one("the connection was reset")
        return httpx2.Response(next_one, headers={"Range": "bytes=0-99"} if next_one == 308 else {})

    async with client_of(site) as client:
        await client.upload("https://storage.googleapis.com/upload/1", file)
    content = file.read_bytes()
    assert seen == [
        *((None, content), ("bytes */1024", b""), ("bytes 100-1023/1024", content[100:])),
        *(("bytes */1024", b""), ("bytes 100-1023/1024", content[100:])),
    ]


@pytest.mark.parametrize("status", [404, 410, 403])
async def test_an_upload_whose_address_has_expired_ends_at_once(tmp_path: Path, status: int) -> None:
    (tmp_path / "a.csv").write_text("id\n")
    site = Site([answer("gone", status)])
    async with client_of(site) as client:
        with pytest.raises(SiteUnavailable, match=f"the upload failed with status {status}"):
            await client.upload("https://storage.googleapis.com/upload/1", tmp_path / "a.csv")
    assert len(site.asked) == 1


async def test_an_upload_of_which_nothing_arrives_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n")
    site = Site([broken()])
    async with client_of(site) as client:
        with pytest.raises(SiteUnavailable, match="connection was reset"):
            await client.upload("https://storage.googleapis.com/upload/1", tmp_path / "a.csv")
    assert len(site.asked) == 10, "five attempts, and as many questions what has arrived"


async def test_a_token_of_a_login_is_renewed_in_time_and_not_before() -> None:
    clock = SetClock()
    key = Credentials("KGAT_old", refresh="refreshing", expires_at=clock.now() + timedelta(hours=1))
    site = Site([answer(LEAF), answer({"token": "KGAT_new", "expiresIn": 43_200}), answer(LEAF)])
    async with client_of(site, clock, credentials=repeat(key)) as client:
        await Competitions(client).get("leaf")
        clock.advance(3_590)
        await Competitions(client).get("leaf")
        await Competitions(client).get("leaf")
    assert [one.method for one in site.asked] == ["GetCompetition", "GenerateAccessToken", *["GetCompetition"] * 2]
    assert [one.headers.get("authorization") for one in site.asked] == [
        *("Bearer KGAT_old", None, "Bearer KGAT_new", "Bearer KGAT_new")
    ]
    assert site.asked[1].body["refreshToken"] == "refreshing"


@pytest.mark.parametrize("refusal", [answer({"code": 400, "message": "refreshing is bad"}, 400), answer({})])
async def test_a_login_that_cannot_be_renewed_is_to_be_made_again(refusal: Callable[[], httpx2.Response]) -> None:
    key = Credentials("KGAT_old", refresh="refreshing")
    async with client_of(Site([refusal]), credentials=repeat(key)) as client:
        with pytest.raises(NotAuthenticated, match="run `kaggle auth login` again") as raised:
            await Competitions(client).get("leaf")
    assert "refreshing" not in str(raised.value)


def test_a_key_is_never_sent_in_the_clear() -> None:
    for url in ("http://kaggle.example/v1", "ftp://localhost.example/v1"):
        with pytest.raises(UsageError, match="unencrypted"):
            KaggleClient(httpx2.AsyncClient(), lambda: Credentials(SECRET), SetClock(), Tally(), KaggleSection(url=url))


async def test_a_body_holds_no_field_that_is_not_given() -> None:
    site = Site([answer({"pages": []})])
    async with client_of(site) as client:
        await Competitions(client).pages("leaf")
        await client.call(GET, {"competitionName": "leaf", "x": None}, KaggleCompetition)
    assert [asked.body for asked in site.asked] == [{"competitionName": "leaf"}] * 2
    assert URL.startswith("https")


async def test_things_of_a_list_carry_the_servers_time() -> None:
    site = Site([answer({"competitions": [LEAF]}, Date="Fri, 20 Nov 2026 09:59:58 GMT"), answer({})])
    async with client_of(site) as client:
        (found,) = [one async for one in Competitions(client).list_entered()]
    assert found.served_at.isoformat() == "2026-11-20T09:59:58+00:00"


async def test_a_board_whose_address_does_not_answer_is_no_answer_yet() -> None:
    def site(request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "kaggle.example":
            return httpx2.Response(302, headers={"Location": "https://storage.googleapis.com/board.zip?sig=1"})
        return httpx2.Response(503, text="<html>busy</html>")

    async with client_of(site) as client:
        with pytest.raises(SiteUnavailable, match="503"):
            await Competitions(client).board("leaf")


@pytest.mark.parametrize("at", [0, 30, 45, 60, 100, -30])
async def test_a_board_that_is_damaged_anywhere_is_an_unknown_answer(at: int) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("board.csv", "Rank,TeamId,TeamName,Score\n" + "1,2,a,0.5\n" * 500)
    body = bytearray(archive.getvalue())
    body[at] ^= 0xFF
    body[at + 1] ^= 0xFF
    async with client_of(lambda _: httpx2.Response(200, content=bytes(body))) as client:
        with pytest.raises(KaggleError):
            await Competitions(client).board("leaf")


async def test_a_board_that_unpacks_to_far_more_than_any_is_an_unknown_answer() -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("board.csv", bytes(30_000_000))
    async with client_of(lambda _: httpx2.Response(200, content=archive.getvalue())) as client:
        with pytest.raises(UnknownAnswer, match="30,000,000 bytes unpacked"):
            await Competitions(client).board("leaf")
