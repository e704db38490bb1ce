"""Scores, tiers and our own submissions: matched with what is known, kept where they differ."""

from datetime import timedelta
from typing import Any

from sqlmodel import select

from scrapers.kaggle.polling.poller import Poller
from state.community import CommunityView
from state.series import history, last_reading
from state.store import Store
from state.tables import Author, Observation
from tests.scrapers.kaggle.polling.world import SLUG, World


def readings(store: Store, target: str, id: str) -> list[tuple[float | None, str | None]]:
    with store.read() as session:
        query = select(Observation).where(Observation.target == target, Observation.target_id == id)
        rows = session.exec(query.order_by(Observation.pk)).all()
    return [(row.public_score, row.tier) for row in rows if (row.public_score, row.tier) != (None, None)]


def written(kind: str, id: int, tier: str | int, user: int = 5, name: str = "ann") -> dict[str, Any]:
    owner = {"id": user, "userName": name, "displayName": name, "tier": tier}
    return {"id": id, "documentType": kind, "title": "x", "ownerUser": owner}


async def test_a_kernels_score_is_that_of_its_current_version_and_kept_where_it_differs(world, store, poller) -> None:
    world.kernel(1)
    world.kernel(2, score=0.5)
    for part in ("kernels", "sources"):
        await poller.poll(SLUG, part)
    assert (await poller.poll(SLUG, "scores")).ids("score") == ["kernel/2/v1"]
    assert not (await poller.poll(SLUG, "scores")).ids_by_kind
    world.kernels[2].score = 0.4
    world.run(2, "second", minutes=5)
    for part in ("kernels", "sources", "scores"):
        await poller.poll(SLUG, part)
    assert readings(store, "kernel", "2/v1") == [(0.5, None), (None, "EXPERT")]
    assert readings(store, "kernel", "2/v2") == [(None, "EXPERT"), (0.4, None)]
    assert readings(store, "kernel", "1/v1") == [(None, "EXPERT")]
    seen = CommunityView(store, SLUG, world.clock.now() + timedelta(hours=1)).posts()
    assert {post.ref: (post.public_score, post.tier) for post in seen} == {
        "ann/kernel-1": (None, "EXPERT"),
        "ann/kernel-2": (0.4, "EXPERT"),
    }


async def test_what_is_not_known_and_what_no_client_knows_is_left_aside(world, store, poller) -> None:
    world.thread(1)
    world.found["KERNEL"] = [{"id": 99, "documentType": "KERNEL"}, {"id": 1, "documentType": "PLAYLIST"}]
    world.found["TOPIC"] = [written("TOPIC", 99, "MASTER", user=6), written("PLAYLIST", 1, "MASTER")]
    await poller.poll(SLUG, "topics")
    assert not (await poller.poll(SLUG, "scores")).ids_by_kind
    assert not (await poller.poll(SLUG, "tiers")).ids_by_kind
    with store.read() as session:
        assert session.exec(select(Author)).all() == []


async def test_a_kernel_without_an_id_is_known_by_its_address(world: World, store: Store, poller: Poller) -> None:
    world.kernel(1, score=0.5).id = 0
    world.kernel(2, score=0.7).id = 0
    for part in ("kernels", "sources", "scores"):
        await poller.poll(SLUG, part)
    assert readings(store, "kernel", "ann/kernel-1/v1")[0] == (0.5, None)
    assert readings(store, "kernel", "ann/kernel-2/v1")[0] == (0.7, None)


async def test_tiers_of_those_who_wrote_stand_for_their_posts_that_the_search_does_not_show(world, store, poller):
    world.thread(1)
    world.comment(1, 101, minutes=1)
    world.found["TOPIC"] = [written("TOPIC", 1, "GRANDMASTER")]
    for part in ("topics", "messages"):
        await poller.poll(SLUG, part)
    assert (await poller.poll(SLUG, "tiers")).ids("tier") == ["post/1", "post/100", "post/101"]
    assert not (await poller.poll(SLUG, "tiers")).ids_by_kind
    assert readings(store, "topic", "1") == readings(store, "message", "101") == [(None, "GRANDMASTER")]
    world.comment(1, 102, minutes=2)
    for part in ("topics", "messages"):
        await poller.poll(SLUG, part)
    assert readings(store, "message", "102") == [(None, "GRANDMASTER")]


async def test_a_name_that_two_have_gives_no_tier(world: World, store: Store, poller: Poller) -> None:
    for id in (1, 2, 3):
        world.thread(id)
    await poller.poll(SLUG, "topics")
    world.found["TOPIC"] = [written("TOPIC", 1, "MASTER", user=5), written("TOPIC", 2, "NOVICE", user=6)]
    await poller.poll(SLUG, "tiers")
    assert [readings(store, "topic", id) for id in ("1", "2", "3")] == [[(None, "MASTER")], [(None, "NOVICE")], []]


async def test_tiers_are_read_by_name_or_number_and_unknown_ones_not_at_all(world, store, poller) -> None:
    for id in (1, 2, 3):
        world.thread(id)
    await poller.poll(SLUG, "topics")
    tiers = ("USER_TIER_MASTER", 2, "LUMINARY")
    world.found["TOPIC"] = [written("TOPIC", id, tier, id, f"u{id}") for id, tier in enumerate(tiers, start=1)]
    await poller.poll(SLUG, "tiers")
    assert [readings(store, "topic", id) for id in ("1", "2", "3")] == [[(None, "MASTER")], [(None, "EXPERT")], []]


async def test_the_search_is_for_the_competitions_title(world: World, store: Store, poller: Poller) -> None:
    await poller.poll(SLUG, "scores")
    assert world.methods() == ["GetCompetition", "ListEntities"]
    world.competitions = [{"ref": f"https://www.kaggle.com/competitions/{SLUG}", "title": "Leaf Classification"}]
    await poller.poll(SLUG, "competitions")
    await poller.poll(SLUG, "scores")
    assert world.methods()[-1] == "ListEntities" and "GetCompetition" not in world.methods()


def sent(ref: int, status: str = "COMPLETE", score: str = "0.5") -> dict[str, Any]:
    at = f"2026-11-20T09:00:{ref % 60:02}Z"
    return {"ref": ref, "status": status, "publicScore": score, "date": at, "description": f"run-{ref}"}


def statuses(store: Store, ref: int) -> list[tuple[str, str]]:
    with store.read() as session:
        rows = history(session, SLUG, "submission", str(ref))
        return [(row.data["status"], row.data["public_score"]) for row in rows]


async def test_a_submission_is_followed_to_its_score(world: World, store: Store, poller: Poller) -> None:
    world.submissions = [sent(7, "PENDING", "")]
    assert (await poller.poll(SLUG, "submissions")).ids("submission changed") == ["7"]
    assert not (await poller.poll(SLUG, "submissions")).ids_by_kind
    world.submissions = [sent(7)]
    assert (await poller.poll(SLUG, "submissions")).ids("submission changed") == ["7"]
    assert statuses(store, 7) == [("PENDING", ""), ("COMPLETE", "0.5")]
    with store.read() as session:
        limits = last_reading(session, SLUG, "limits")
        assert limits is not None and limits.data["num_allowed_now"] == 4


async def test_in_quiet_times_it_takes_two_questions_and_once_a_day_the_old_ones_are_read_too(world, store, poller):
    world.submissions = [sent(ref) for ref in (9, 8, 7)]
    await poller.poll(SLUG, "submissions")
    world.methods()
    world.submissions[2] = sent(7, score="0.6")  # scored anew
    await poller.poll(SLUG, "submissions")
    assert world.methods() == ["ListSubmissions", "GetSubmissionLimits"]
    assert statuses(store, 7) == [("COMPLETE", "0.5")]
    world.clock.advance(86_400)
    await poller.poll(SLUG, "submissions")
    assert world.methods() == ["ListSubmissions", "ListSubmissions", "GetSubmissionLimits"]
    assert statuses(store, 7) == [("COMPLETE", "0.5"), ("COMPLETE", "0.6")]


async def test_a_pending_one_among_settled_ones_is_not_overlooked(world: World, store: Store, poller: Poller) -> None:
    world.submissions = [sent(9), sent(8, "PENDING", ""), sent(7)]
    await poller.poll(SLUG, "submissions")
    world.submissions[1] = sent(8)
    assert (await poller.poll(SLUG, "submissions")).ids("submission changed") == ["8"]


async def test_what_an_answer_lacks_stays_as_it_was_shown(world: World, store: Store, poller: Poller) -> None:
    world.submissions = [sent(7)]
    await poller.poll(SLUG, "submissions")
    for name in ("status", "publicScore", "date", "description"):
        world.submissions = [{**sent(7), name: None}]
        assert not (await poller.poll(SLUG, "submissions")).ids_by_kind, name
        world.submissions = [{other: value for other, value in sent(7).items() if other != name}]
        assert not (await poller.poll(SLUG, "submissions")).ids_by_kind, name
    world.submissions = [{**sent(7, "PENDING"), "publicScore": ""}]
    await poller.poll(SLUG, "submissions")
    world.submissions = [sent(7, score="0.6")]
    await poller.poll(SLUG, "submissions")
    assert statuses(store, 7) == [("COMPLETE", "0.5"), ("COMPLETE", "0.6")]
