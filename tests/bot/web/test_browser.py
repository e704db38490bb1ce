"""The page in a real browser: it changes by itself, needs no mouse, fits a phone, and runs nothing that strangers wrote."""

from pathlib import Path

import pytest

from state.progress import create_node, end_node
from state.steering import control, notes
from tests.bot.status.parts import RUN, SPOOKY
from tests.bot.web.attempts import ATTEMPTS
from tests.bot.web.conftest import reopened
from tests.bot.web.hostile import hostile_day, write_everywhere
from tests.bot.web.served import served
from tests.bot.web.test_form_actions import LATER
from tests.browser import Browser, browser

pytestmark = pytest.mark.integration
TOGETHER = 4
"""Attempts in one text, each of which is tried alone against the pages' markup."""
COMPETITION = f"/competition/{SPOOKY}"


def words(tab: Browser, part: str) -> str:
    return str(tab.run(f"document.getElementById({part!r})?.innerText ?? ''"))


def test_an_open_page_changes_by_itself_and_keeps_what_its_reader_does(folder: Path, tmp_path: Path) -> None:
    with served(folder) as (port, token), browser(tmp_path / "profile") as tab:
        here = f"http://127.0.0.1:{port}"
        tab.open(f"{here}/?token={token}")
        assert tab.run("location.href") == f"{here}/" and token not in str(tab.run("document.cookie"))
        tab.open(here + COMPETITION)
        tab.until(lambda: words(tab, "state") == "connected")
        tab.run("document.querySelector('#standing summary').click(), document.getElementById('note').focus()")
        tab.call("Input.insertText", text="half a thought")
        with reopened(folder) as store, store.write() as tx:
            number = create_node(tx, RUN, action="merge", parents=[1, 3]).id
            end_node(tx, RUN, number, "valid", score=0.31)
        tab.until(lambda: f"{number} merge" in words(tab, "tree"))
        tab.until(lambda: "node 6" in words(tab, "standing"))
        assert tab.run("document.querySelector('#standing details').open")
        assert tab.run("document.activeElement.id") == "note"
        assert tab.run("document.getElementById('note').value") == "half a thought"
        assert tab.complaints() == []
        assert all(address.startswith(here) for address in tab.asked() if not address.startswith("data:"))


def test_a_note_is_left_and_a_competition_paused_by_keyboard_alone(folder: Path, tmp_path: Path) -> None:
    with served(folder) as (port, token), browser(tmp_path / "profile") as tab:
        tab.open(f"http://127.0.0.1:{port}/?token={token}")
        tab.open(f"http://127.0.0.1:{port}{COMPETITION}")
        tab.press("Tab")
        assert tab.run("document.activeElement.className") == "skip"

        def reach(script: str) -> None:
            for _ in range(120):
                if tab.run(f"document.activeElement?.matches({script!r}) ?? false"):
                    outline = tab.run("getComputedStyle(document.activeElement).outlineStyle")
                    assert outline != "none", "the focus cannot be seen"
                    return
                tab.press("Tab")
            raise AssertionError(f"{script} cannot be reached")

        reach("#note")
        tab.call("Input.insertText", text="by keyboard")
        reach("form.note button")
        tab.press("Enter", "\r")
        tab.until(lambda: "by keyboard" in words(tab, "steering"))
        reach("button[value=paused]")
        tab.press("Enter", "\r")
        tab.until(lambda: "paused by you" in words(tab, "standing"))
    with reopened(folder) as store, store.read() as session:
        assert notes(session, SPOOKY, LATER)[-1].text == "by keyboard"
        assert control(session, SPOOKY) == "paused"


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_can_be_read_by_day_and_night(folder: Path, runs: Path, tmp_path: Path, dark: bool) -> None:
    with served(folder) as (port, token), browser(tmp_path / "profile") as tab:
        tab.shape(390, 844, dark=dark)
        tab.open(f"http://127.0.0.1:{port}/?token={token}")
        for path in ("/", COMPETITION, f"/run/{next(runs.iterdir()).name}", "/system", f"{COMPETITION}/node/3"):
            tab.open(f"http://127.0.0.1:{port}{path}")
            assert tab.run("document.documentElement.scrollWidth") <= 390, f"{path} is wider than a phone"
            assert tab.run("document.documentElement.scrollHeight") <= 3 * 844, f"{path} is longer than three screens"
            if path == COMPETITION:
                bottom = "document.querySelector('#standing .buttons').getBoundingClientRect().bottom"
                assert tab.run(bottom) <= 844, "pause and stop are not on the first screen"
            ground, ink = (tab.run(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
            brightness = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ground, ink)]
            assert (brightness[0] < brightness[1]) == dark and abs(brightness[0] - brightness[1]) > 450
        assert tab.complaints() == []


def test_nothing_that_strangers_write_is_run_or_asked_for(tmp_path: Path) -> None:
    store, _ = hostile_day(tmp_path)
    with served(tmp_path) as (port, token), browser(tmp_path / "profile") as tab:
        here = f"http://127.0.0.1:{port}"
        tab.open(f"{here}/?token={token}")
        tab.open(here + COMPETITION)
        for number in range(0, len(ATTEMPTS), TOGETHER):
            write_everywhere(store, f"number-{number}- {' '.join(ATTEMPTS[number : number + TOGETHER])}")
            # The stream brings it into the page: markup that is put into one is parsed otherwise than a document.
            tab.until(lambda number=number: f"number-{number}-" in words(tab, "tree") + words(tab, "labs"))
            assert tab.run("document.title") == f"{SPOOKY} · bot"
        for path in ("/", COMPETITION, f"{COMPETITION}/node/3", f"{COMPETITION}/lab/4", "/system"):
            write_everywhere(store, " ".join(ATTEMPTS))
            tab.open(here + path)
            assert not str(tab.run("document.title")).startswith("taken")
        assert tab.complaints() == []
        assert all(address.startswith(here) for address in tab.asked() if not address.startswith("data:"))
        # The same would be seen if it were run.
        tab.run("document.body.insertAdjacentHTML('beforeend', '<img src=/static/none.svg>'), console.error('heard')")
        tab.until(lambda: any("heard" in text for text in tab.complaints()))
        tab.until(lambda: f"{here}/static/none.svg" in tab.asked())
    store.close()
