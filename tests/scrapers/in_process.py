"""Cleaners without their processes, for tests of what comes after: the same reading, here and at once."""

from collections.abc import Sequence
from contextlib import aclosing

from scrapers import CommunitySource
from scrapers.posts.cleaner import Cleaned, Cleaners, Source
from scrapers.posts.cleaner_process import text_as
from scrapers.posts.ingest import cleaned
from scrapers.posts.sketches import sketch_of
from state.tables import CommunityRow

__all__ = ["Here", "read", "rows_of"]


class Here(Cleaners):
    """Reads in the test's own process."""

    async def clean(self, sources: Sequence[Source]) -> list[Cleaned]:
        return [read(source) for source in sources]


def read(source: Source) -> Cleaned:
    """Return what a text is cleaned to."""
    asked = {"form": source.form, "language": source.language, "kernel_type": source.kernel_type}
    text = text_as(asked, source.text)
    return Cleaned(text, sketch_of(text, "kernel" if source.form == "kernel" else "message", source.kernel_type))


async def rows_of(source: CommunitySource, since: str | None = None) -> list[CommunityRow]:
    """Return what a source has that is newer than a watermark, cleaned."""
    async with aclosing(cleaned(source.changes(since), Here())) as found:
        return [ready.row async for ready in found]
