"""The stream of a page: all parts at first, then those that changed, soon after the commit; trouble is said, not fatal."""

import asyncio

from bot.web.app import PageCache, changes
from bot.web.rendering import Page, Part
from state.errors import StateUnavailable


class Written:
    """A page whose parts a test writes."""

    def __init__(self) -> None:
        self.parts = {"one": "first", "two": "second"}
        self.number, self.reads, self.broken = 0, 0, False

    def write(self, part: str, markup: str) -> None:
        self.parts[part] = markup
        self.number += 1

    def read(self) -> Page:
        self.reads += 1
        if self.broken:
            raise StateUnavailable("the <disk> is full")
        return Page("a page", [Part(*one) for one in self.parts.items()])

    def version(self) -> tuple[tuple[int, int], ...]:
        return ((self.number, 0),)


async def test_an_open_page_is_sent_what_changed_and_nothing_else() -> None:
    page = Written()
    stream = changes(page.read, page.version)
    first = (await anext(stream)).decode()
    assert "first" in first and "second" in first and 'hx-target="#two"' in first
    page.write("two", "third")
    second = (await anext(stream)).decode()
    assert "third" in second and "first" not in second and second.count("hx-partial hx-target") == 1
    await stream.aclose()


async def test_what_cannot_be_read_is_said_on_the_page_which_goes_on_later() -> None:
    page = Written()
    stream = changes(page.read, page.version)
    await anext(stream)
    page.broken = True
    page.write("one", "x")
    said = (await anext(stream)).decode()
    assert 'hx-target="#state"' in said and "the &lt;disk&gt; is full" in said
    page.broken = False
    page.write("one", "back")
    again = (await anext(stream)).decode()
    assert "back" in again and ">connected<" in again
    await stream.aclose()


async def test_many_pages_that_are_open_have_it_read_once() -> None:
    page, cache = Written(), PageCache()
    streams = [changes(lambda: cache.now("/", page.read, page.version), page.version) for _ in range(20)]
    await asyncio.gather(*(anext(stream) for stream in streams))
    assert page.reads == 1
    page.write("one", "x")
    await asyncio.gather(*(anext(stream) for stream in streams))
    assert page.reads == 2
    for stream in streams:
        await stream.aclose()


def test_a_page_is_shown_at_once_as_it_was_and_forgotten_after_an_act() -> None:
    page, cache = Written(), PageCache()
    shown = cache.last("/", page.read, page.version)
    page.write("one", "x")
    assert cache.last("/", page.read, page.version) is shown
    cache.clear()
    assert cache.last("/", page.read, page.version) is not shown
