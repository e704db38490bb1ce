"""Strangers' texts are shown as texts: whatever they hold, a page has the elements that it has with harmless words."""

from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import pytest

from bot.report.templates import page_environment
from bot.web.app import event
from bot.web.rendering import Page, Part, document, page
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
            found[words.partition(":")[0], name] = Elements(document(read(views), "/stream")).found
    return found


class Elements(HTMLParser):
    """Each element of a document with the names of its attributes, in order, and where its links lead."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(sorted(name for name, _ in attrs))))
        self.links += [value or "" for name, value in attrs if name == "href"]


def plain(text: str) -> str:
    """Return a text as it can be compared: without layout, and as a page shows what cannot be seen."""
    return "".join(page_environment().from_string("{{ text }}").render(text=text).split())


@pytest.mark.integration
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_text_adds_no_element_and_no_attribute(
    day: tuple[Store, Views], harmless: dict[tuple[str, str], list[tuple[str, tuple[str, ...]]]], attempt: str
) -> None:
    store, views = day
    write_everywhere(store, attempt)
    kind = "https" if attempt.startswith("https:") else "harmless words"
    # Pages with few texts of strangers are tried with some of them: in a browser all are.
    few = () if ATTEMPTS.index(attempt) % 6 else ("home", "system")
    for name in ("competition", "node", "lab", *few):
        read = PAGES[name]
        shown = document(read(views), "/stream")
        there = Elements(shown)
        assert there.found == harmless[kind, name], name
        assert "".join(shown.split()).count(plain(attempt)) >= LEAST[name], f"{name} does not show it"
        assert all(link.startswith(("/", "#", "https://")) for link in there.links)


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_text_begins_no_field_of_an_event(attempt: str) -> None:
    sent = event([page("x", ("message",), {"text": attempt, "back": None}).parts[0], Part("raw", attempt)]).decode()
    assert sent.endswith("\n\n") and "\r" not in sent
    assert all(line.startswith("data: ") for line in sent.removesuffix("\n\n").split("\n"))
