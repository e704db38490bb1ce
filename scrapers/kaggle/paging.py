"""Kaggle's two ways of paging: by token if one is given, else by number."""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from typing import TypeVar

from scrapers.kaggle.wire import Answer

_MOST_PAGES = 10_000

ItemT = TypeVar("ItemT")


async def all_pages(
    page: Callable[[int, str], Awaitable[tuple[Sequence[ItemT], str, Answer]]],
    key: Callable[[ItemT], Hashable],
    *,
    numbered: bool = True,
) -> AsyncIterator[ItemT]:
    """Yield the items of all pages, each once, until a page is empty or brings nothing new.

    Args:
        page: takes a number (from 1) and a token (empty: none); returns the items, the next token, and the answer.
        key: identifies an item.
        numbered: whether pages go on by number if there is no next token.
    """
    seen: set[Hashable] = set()
    token = ""
    for number in range(1, _MOST_PAGES):
        items, token, _ = await page(number, token)
        fresh = [item for item in items if key(item) not in seen]
        for item in fresh:
            if key(item) not in seen:
                seen.add(key(item))
                yield item
        if not fresh or not (token or numbered):
            return
