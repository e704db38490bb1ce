"""The guard: nothing without the token, nothing from other sites, nothing under another name, nothing endless."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from bot.web.guard import LONGEST_BODY
from state.steering import control, notes
from tests.bot.status.parts import SPOOKY
from tests.bot.web.conftest import HOST, KEYS, reopened

PAGES = (
    "/",
    "/system",
    f"/competition/{SPOOKY}",
    f"/competition/{SPOOKY}/node/1",
    "/stream/",
    "/static/style.css",
    "/nowhere",
)
PAUSE = {"competition": SPOOKY, "state": "paused", "csrf": KEYS.csrf}
OWN = {"Origin": HOST}


def is_paused(folder: Path) -> bool:
    with reopened(folder) as store, store.read() as session:
        return control(session, SPOOKY) == "paused"


@pytest.mark.parametrize("path", PAGES)
async def test_nothing_is_shown_without_the_token(stranger: httpx2.AsyncClient, path: str) -> None:
    answer = await stranger.get(path)
    assert answer.status_code == 401
    assert SPOOKY not in answer.text and "Token" in answer.text


async def test_the_token_in_the_address_becomes_a_cookie_that_only_this_site_sends(
    stranger: httpx2.AsyncClient,
) -> None:
    answer = await stranger.get("/?token=a-token")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "a-token" not in cookie
    assert SPOOKY in (await stranger.get("/")).text
    for asked, led in ((f"/competition/{SPOOKY}", f"/competition/{SPOOKY}"), ("//evil.example", "/evil.example")):
        answer = await stranger.get(f"http://{stranger.base_url.netloc.decode()}{asked}?token=a-token")
        assert answer.headers["location"] == led


@pytest.mark.parametrize("given", ["", "a-toke", "a-token2", "ä"])
async def test_a_wrong_token_opens_nothing(stranger: httpx2.AsyncClient, given: str) -> None:
    assert (await stranger.get("/", params={"token": given})).status_code == 401
    answer = await stranger.post("/token", data={"token": given}, headers=OWN)
    assert answer.status_code == 401 and "set-cookie" not in answer.headers


async def test_the_token_can_be_pasted(stranger: httpx2.AsyncClient) -> None:
    assert (await stranger.post("/token", data={"token": "a-token"}, headers=OWN)).status_code == 303


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "localhost.evil:8765"]
)
async def test_a_site_whose_name_leads_here_is_refused(owner: httpx2.AsyncClient, host: str) -> None:
    answer = await owner.get("/", headers={"Host": host})
    assert answer.status_code == 421 and SPOOKY not in answer.text


async def test_its_own_names_are_known(owner: httpx2.AsyncClient) -> None:
    for host in ("127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"):
        assert (await owner.get("/", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:8766"},
        {"Origin": "http://127.0.0.1:8765.evil.example"},
        {"Origin": HOST, "Sec-Fetch-Site": "cross-site"},
        {"Origin": HOST, "Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_form_that_another_site_sent_changes_nothing(
    owner: httpx2.AsyncClient, folder: Path, headers: dict[str, str]
) -> None:
    assert (await owner.post("/act/control", data=PAUSE, headers=headers)).status_code == 403
    assert not is_paused(folder)


@pytest.mark.parametrize("csrf", ["", "x", KEYS.session, KEYS.token])
async def test_a_form_without_its_own_secret_changes_nothing(
    owner: httpx2.AsyncClient, folder: Path, csrf: str
) -> None:
    assert (await owner.post("/act/control", data=PAUSE | {"csrf": csrf}, headers=OWN)).status_code == 403
    assert not is_paused(folder)


async def test_a_form_without_the_cookie_changes_nothing(stranger: httpx2.AsyncClient, folder: Path) -> None:
    assert (await stranger.post("/act/control", data=PAUSE, headers=OWN)).status_code == 401
    assert not is_paused(folder)


async def test_the_same_form_of_the_owner_is_carried_out(owner: httpx2.AsyncClient, folder: Path) -> None:
    assert (await owner.post("/act/control", data=PAUSE, headers=OWN)).status_code == 303
    assert is_paused(folder)


async def test_reading_never_changes_anything(owner: httpx2.AsyncClient, folder: Path) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert (await owner.request(method, "/act/control", params=PAUSE, headers=OWN)).status_code in (404, 405)
    assert not is_paused(folder)


async def test_a_form_that_never_ends_is_cut_off(owner: httpx2.AsyncClient, folder: Path) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1_000
            yield b"x" * 1_000

    headers = {**OWN, "Content-Type": "application/x-www-form-urlencoded"}
    assert (await owner.post("/act/note", content=endless(), headers=headers)).status_code == 413
    assert sent <= 2 * LONGEST_BODY
    with reopened(folder) as store, store.read() as session:
        assert len(notes(session, SPOOKY, datetime.max.replace(tzinfo=UTC))) == 2


async def test_every_answer_forbids_scripts_that_are_not_the_pages_own(owner: httpx2.AsyncClient) -> None:
    for path in PAGES:
        if not path.startswith("/stream"):
            headers = (await owner.get(path)).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "same-origin")
