"""Ingest: raw posts, cleaned by child processes and compared with what is there, into the store in order.

Everything is bounded: of what waits to be cleaned and of what waits to be stored there is never more than a few
megabytes and one post, whatever the source yields, and the event loop only hands pieces on.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from dataclasses import dataclass

from scrapers import CommunitySource
from scrapers.posts.cleaner import Cleaned, Cleaners, Source
from scrapers.posts.duplicates import Sketched, note_sketches, sketched
from state.collect import add_community
from state.store import Store
from state.tables import CommunityRow, KernelVersion, Message

_CHUNK_POSTS = 40
_CHUNK_CHARACTERS = 200_000
"""A chunk goes to a cleaner at once: small posts are many, and each exchange costs as much as cleaning one of them."""
_BATCH_ROWS = 400
_BATCH_CHARACTERS = 2_000_000
"""Of what one transaction stores."""


@dataclass(frozen=True)
class Raw:
    """A row as a source gives it, still without its text: that is what `source` cleans to; empty where there is none."""

    row: CommunityRow
    source: Source | None = None


@dataclass(frozen=True)
class Ready:
    """A row that can be stored."""

    row: CommunityRow
    sketched: Sketched | None
    """Of a message or kernel version."""
    problem: str | None = None
    """Why its text is only cut down."""


async def ingest(
    store: Store, competition: str, raws: AsyncIterable[Raw] | Iterable[Raw], cleaners: Cleaners
) -> dict[str, str]:
    """Clean and store rows, and find out what they repeat; the rows of one batch appear together.

    What is stored already is brought up to date (see `state.collect`), so that an ingest which was broken off may simply
    be done again.

    Returns:
        By item, such as `kernel/3`, why its text was only cut down; empty where all were read as they should.

    Raises:
        StateUnavailable: the store cannot be used now; batches before it are stored.
        StateCorrupted: it is damaged.
    """
    problems: dict[str, str] = {}
    batches = aclosing(_batches(cleaned(raws, cleaners)))
    writing: asyncio.Task[None] | None = None
    try:
        async with batches as found:
            async for batch in found:
                if writing is not None:
                    await writing
                writing = asyncio.create_task(asyncio.to_thread(_keep, store, competition, batch, problems))
    finally:
        # The thread goes on whatever comes; nobody else may find the store half way.
        if writing is not None:
            await asyncio.shield(writing)
    return problems


async def cleaned_rows(source: CommunitySource) -> list[CommunityRow]:
    """Return all that a source has, cleaned."""
    async with Cleaners() as cleaners, aclosing(cleaned(source.changes(None), cleaners)) as found:
        return [ready.row async for ready in found]


async def cleaned(raws: AsyncIterable[Raw] | Iterable[Raw], cleaners: Cleaners) -> AsyncGenerator[Ready]:
    """Yield rows with their texts in the order in which they come, cleaned side by side, a few chunks ahead."""
    running: deque[tuple[list[Raw], asyncio.Task[list[Cleaned]]]] = deque()
    try:
        async with aclosing(_chunks(raws)) as chunks:
            async for chunk in chunks:
                sources = [raw.source for raw in chunk if raw.source is not None]
                running.append((chunk, asyncio.create_task(cleaners.clean(sources))))
                if len(running) > cleaners.count:
                    for ready in await _first(running):
                        yield ready
        while running:
            for ready in await _first(running):
                yield ready
    finally:
        for _, task in running:
            task.cancel()
        await asyncio.gather(*(task for _, task in running), return_exceptions=True)


async def _first(running: deque[tuple[list[Raw], asyncio.Task[list[Cleaned]]]]) -> list[Ready]:
    chunk, task = running[0]
    texts = iter(await task)
    running.popleft()
    return [_ready(raw, next(texts) if raw.source is not None else None) for raw in chunk]


def _ready(raw: Raw, text: Cleaned | None) -> Ready:
    row, sketch = raw.row, text.sketch if text else None
    if isinstance(row, Message):
        row.markdown = text.text if text else ""
    elif isinstance(row, KernelVersion):
        row.text = text.text if text else ""
    else:
        return Ready(row, None)
    return Ready(row, sketched(row, sketch), text.problem if text else None)


async def _chunks(raws: AsyncIterable[Raw] | Iterable[Raw]) -> AsyncGenerator[list[Raw]]:
    chunk: list[Raw] = []
    characters = posts = 0
    async for raw in _each(raws):
        chunk.append(raw)
        if raw.source is not None:
            characters, posts = characters + len(raw.source.text), posts + 1
        if characters >= _CHUNK_CHARACTERS or posts >= _CHUNK_POSTS or len(chunk) >= _BATCH_ROWS:
            yield chunk
            chunk, characters, posts = [], 0, 0
    if chunk:
        yield chunk


async def _each(raws: AsyncIterable[Raw] | Iterable[Raw]) -> AsyncGenerator[Raw]:
    if isinstance(raws, AsyncIterable):
        async for raw in raws:
            yield raw
    else:
        for place, raw in enumerate(raws):
            if place % 8 == 0:
                # Making rows takes its time, in which others on the loop have their turn.
                await asyncio.sleep(0)
            yield raw


async def _batches(found: AsyncGenerator[Ready]) -> AsyncGenerator[list[Ready]]:
    batch: list[Ready] = []
    characters = 0
    async with aclosing(found):
        async for ready in found:
            batch.append(ready)
            characters += len(_text(ready.row))
            if len(batch) >= _BATCH_ROWS or characters >= _BATCH_CHARACTERS:
                yield batch
                batch, characters = [], 0
    if batch:
        yield batch


def _text(row: CommunityRow) -> str:
    if isinstance(row, Message):
        return row.markdown
    return row.text if isinstance(row, KernelVersion) else ""


def _keep(store: Store, competition: str, batch: list[Ready], problems: dict[str, str]) -> None:
    # What a power cut takes is collected again: whoever notes how far a source was read does so durably, and after this.
    with store.write(durable=False) as tx:
        add_community(tx, competition, (ready.row for ready in batch))
        note_sketches(tx, competition, [ready.sketched for ready in batch if ready.sketched is not None])
    for ready in batch:
        if ready.problem is not None and ready.sketched is not None:
            problems[f"{ready.sketched.kind}/{ready.sketched.id}"] = ready.problem
