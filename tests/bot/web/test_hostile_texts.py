"""Strangers' texts are shown as texts: whatever they hold, a page has the elements that it has with harmless words."""

from collections.abc import Callable, Iterator

import pytest
from bs4 import BeautifulSoup

from bot.report.templates import page_environment
from bot.web.rendering import Page, document
from bot.web.stream import event
from bot.web.views import Views
from state.store import Store
from tests.bot.status.parts import SPOOKY
from tests.bot.web.attempts import ATTEMPTS
from tests.bot.web.hostile import hostile_day, write_everywhere

PAGES: dict[str, Callable[[Views], Page]] = {
    "home": lambda views: views.home(),
    "competition": lambda views: views.competition(SPOOKY),
    "node": lambda views: views.node("competition", SPOOKY, 3),
    "lab": lambda views: views.lab("competition", SPOOKY, 4),
    "system": lambda views: views.system(),
}
LEAST = {"home": 2, "competition": 12, "node": 3, "lab": 2, "system": 2}
"""How often a text stands on each page at least."""


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Views]]:
    store, views = hostile_day(tmp_path_factory.mktemp("hostile"))
    yield store, views
    store.close()


@pytest.fixture(scope="module")
def harmless(day: tuple[Store, Views]) -> dict[tuple[str, str], list[tuple[str, tuple[str, ...]]]]:
    """The elements of each page with harmless words, and with a harmless address."""
    store, views = day
    found = {}
    for words in ("harmless words", "https://example.com/harmless"):
        write_everywhere(store, words)
        for name, read in PAGES.items():
            found[words.partition(":")[0], name] = elements(document(read(views), "/stream"))
    return found


def elements(markup: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each element of a document with the names of its attributes, in order."""
    return [(one.name, tuple(sorted(one.attrs))) for one in BeautifulSoup(markup, "html.parser").find_all(True)]


def plain(text: str) -> str:
    """Return a text as it can be compared: without layout, and as a page shows what cannot be seen."""
    return "".join(page_environment().from_string("{{ text }}").render(text=text).split())


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_text_adds_no_element_and_no_attribute(
    day: tuple[Store, Views], harmless: dict[tuple[str, str], list[tuple[str, tuple[str, ...]]]], attempt: str
) -> None:
    store, views = day
    write_everywhere(store, attempt)
    kind = "https" if attempt.startswith("https:") else "harmless words"
    for name, read in PAGES.items():
        shown = document(read(views), "/stream")
        assert elements(shown) == harmless[kind, name], name
        assert "".join(shown.split()).count(plain(attempt)) >= LEAST[name], f"{name} does not show it"
        for link in BeautifulSoup(shown, "html.parser").find_all("a"):
            assert str(link["href"]).startswith(("/", "#", "https://"))


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_text_begins_no_field_of_an_event(day: tuple[Store, Views], attempt: str) -> None:
    store, views = day
    write_everywhere(store, attempt)
    sent = event(views.competition(SPOOKY).parts).decode()
    assert sent.endswith("\n\n") and "\r" not in sent
    assert all(line.startswith("data: ") for line in sent.removesuffix("\n\n").split("\n"))
