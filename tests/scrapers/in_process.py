"""Cleaners without their processes, for tests of what comes after: the same reading, here and at once."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict

from scrapers.posts.cleaner_process import text_as
from scrapers.posts.cleaners import Cleaners, CleanText, RawPost
from scrapers.posts.ingest import cleaned
from scrapers.posts.sketches import sketch_of
from scrapers.snapshots.snapshot import Snapshot
from state.tables import CommunityRow

__all__ = ["Here", "read", "rows_of"]


class Here(Cleaners):
    """Reads in the test's own process."""

    async def clean(self, sources: Sequence[RawPost]) -> list[CleanText]:
        return [read(source) for source in sources]


def read(source: RawPost) -> CleanText:
    """Return what a text is cleaned to."""
    text = text_as(asdict(source))
    return CleanText(text, sketch_of(text, "kernel" if source.form == "kernel" else "message", source.kernel_type))


async def rows_of(snapshot: Snapshot) -> list[CommunityRow]:
    """Return the rows of a snapshot's community, cleaned."""
    async with aclosing(cleaned(snapshot.community.posts(snapshot.path, snapshot.card.slug), Here())) as chunks:
        return [ready.row async for chunk in chunks for ready in chunk]
