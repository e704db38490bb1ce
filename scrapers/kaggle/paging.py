"""Kaggle's two ways of paging: by token if one is given, else by number."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar

from scrapers.kaggle.wire import PageOfItems

_MOST_PAGES = 10_000

ItemT = TypeVar("ItemT")
PageT = TypeVar("PageT", bound=PageOfItems)


async def all_pages(
    ask: Callable[[dict[str, Any]], Awaitable[PageT]],
    items: Callable[[PageT], Sequence[ItemT]],
    key: Callable[[ItemT], Hashable],
    *,
    numbered: bool = True,
) -> AsyncIterator[ItemT]:
    """Yield the items of all pages, each once, until a page is empty or brings nothing new.

    `ask` takes the fields of a request that say which page: a token or, if pages are numbered, a number from 1.
    """
    keys: set[Hashable] = set()
    place: dict[str, Any] = {"page": 1} if numbered else {}
    for number in range(2, _MOST_PAGES):
        page = await ask(place)
        fresh = {key(item): item for item in items(page) if key(item) not in keys}
        keys |= fresh.keys()
        for item in fresh.values():
            yield item
        token = page.next_page_token
        if not fresh or not (token or numbered):
            return
        place = {"pageToken": token} if token else {"page": number}
