"""Ingest: raw posts are cleaned by child processes, compared with stored posts, and stored in order.

Everything is bounded: no more than a few megabytes and one post wait to be cleaned, and as much to be stored, whatever
the source yields, and the event loop only passes pieces on.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass

from scrapers.posts.cleaners import Cleaners, CleanText, RawPost
from scrapers.posts.duplicates import Sketched, note_sketches, sketched
from state.community_rows import add_community
from state.store import Store
from state.tables import CommunityRow, KernelVersion, PostedMessage

_CHUNK_POSTS = 40
_CHUNK_CHARACTERS = 200_000
_CHUNK_ROWS = 400
"""Limits of a chunk, which goes to a cleaner in one exchange and into the store in one transaction: small posts are many,
and an exchange costs as much as cleaning one of them."""


@dataclass(frozen=True)
class Raw:
    """A row from a source, without its text: that is made by cleaning `source`, and empty if there is none."""

    row: CommunityRow
    source: RawPost | None = None


@dataclass(frozen=True)
class StorableRow:
    """A row that can be stored."""

    row: CommunityRow
    sketched: Sketched | None
    """Of a message or kernel version."""
    problem: str | None = None
    """Why its text is only shortened."""


async def ingest(store: Store, competition: str, raws: Iterable[Raw], cleaners: Cleaners) -> dict[str, str]:
    """Clean and store rows, and record what they repeat; the rows of one chunk appear together.

    Rows that are stored already are updated (see `state.community_rows`), so that an interrupted ingest may simply be
    repeated. Return by item, such as `kernel/3`, why its text was only shortened.

    Raises:
        StateUnavailable: the store cannot be used now; chunks before it are stored.
        StateCorrupted: it is damaged.
    """
    problems: dict[str, str] = {}
    writing: asyncio.Task[None] | None = None
    try:
        async with aclosing(cleaned(raws, cleaners)) as chunks:
            async for chunk in chunks:
                if writing is not None:
                    await writing
                writing = asyncio.create_task(asyncio.to_thread(_keep, store, competition, chunk, problems))
    finally:
        # The thread runs on even if this is cancelled: wait, so that nobody sees the store half-way.
        if writing is not None:
            await asyncio.shield(writing)
    return problems


async def cleaned_rows(raws: Iterable[Raw]) -> list[CommunityRow]:
    """Return all rows, cleaned."""
    async with Cleaners() as cleaners, aclosing(cleaned(raws, cleaners)) as chunks:
        return [ready.row async for chunk in chunks for ready in chunk]


async def cleaned(raws: Iterable[Raw], cleaners: Cleaners) -> AsyncGenerator[list[StorableRow]]:
    """Yield rows with their texts in their order, cleaned in parallel, a few chunks ahead."""
    running: deque[tuple[list[Raw], asyncio.Task[list[CleanText]]]] = deque()
    try:
        chunks = _chunks(raws)
        # Making rows takes time, and may wait for a disk or a site: other tasks run meanwhile.
        while chunk := await asyncio.to_thread(next, chunks, None):
            sources = [raw.source for raw in chunk if raw.source is not None]
            running.append((chunk, asyncio.create_task(cleaners.clean(sources))))
            if len(running) > cleaners.count:
                yield await _first(running)
        while running:
            yield await _first(running)
    finally:
        for _, task in running:
            task.cancel()
        await asyncio.gather(*(task for _, task in running), return_exceptions=True)


async def _first(running: deque[tuple[list[Raw], asyncio.Task[list[CleanText]]]]) -> list[StorableRow]:
    chunk, task = running[0]
    texts = iter(await task)
    running.popleft()
    return [_ready(raw, next(texts) if raw.source is not None else None) for raw in chunk]


def _ready(raw: Raw, text: CleanText | None) -> StorableRow:
    row, sketch = raw.row, text.sketch if text else None
    if isinstance(row, PostedMessage):
        row.markdown = text.text if text else ""
    elif isinstance(row, KernelVersion):
        row.text = text.text if text else ""
    else:
        return StorableRow(row, None)
    return StorableRow(row, sketched(row, sketch), text.problem if text else None)


def _chunks(raws: Iterable[Raw]) -> Iterator[list[Raw]]:
    chunk: list[Raw] = []
    characters = posts = 0
    for raw in raws:
        chunk.append(raw)
        if raw.source is not None:
            characters, posts = characters + len(raw.source.text), posts + 1
        if characters >= _CHUNK_CHARACTERS or posts >= _CHUNK_POSTS or len(chunk) >= _CHUNK_ROWS:
            yield chunk
            chunk, characters, posts = [], 0, 0
    if chunk:
        yield chunk


def _keep(store: Store, competition: str, chunk: list[StorableRow], problems: dict[str, str]) -> None:
    # Rows lost in a power cut are collected again: the mark of how far a source was read is durable, and written after this.
    with store.write(durable=False) as tx:
        add_community(tx, competition, (ready.row for ready in chunk))
        note_sketches(tx, competition, [ready.sketched for ready in chunk if ready.sketched is not None])
    for ready in chunk:
        if ready.problem is not None and ready.sketched is not None:
            problems[f"{ready.sketched.kind}/{ready.sketched.id}"] = ready.problem
