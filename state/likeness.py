"""Tables of what repeats what: a post's text as a sketch, and the earlier post that it repeats.

Who repeats whom is derived from posts alone and obeys the clock as they do: a post is only ever like an *earlier* one, so
that a row holds from `known_at` on, whatever the time that is asked about.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

__all__ = ["KeptSketch", "Likeness", "SketchBand"]


class KeptSketch(SQLModel, table=True):
    """One text's sketch, once for all posts of a competition that have the text."""

    __table_args__: ClassVar[Any] = (Index("ix_keptsketch_text", "competition", "kind", "sha256", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    competition: str
    kind: str
    """`message` or `kernel`."""
    sha256: str
    """Hex, of the text without layout."""
    code: bytes | None = None
    """MinHash signatures, see `scrapers.posts.sketches`; None where there is too little to compare."""
    prose: bytes | None = None


class SketchBand(SQLModel, table=True):
    """A part of a signature by its hash: two sketches that share one are worth comparing."""

    __table_args__: ClassVar[Any] = {"sqlite_with_rowid": False}

    digest: int = Field(primary_key=True)
    sketch: int = Field(primary_key=True)


class Likeness(SQLModel, table=True):
    """Which earlier post a message or a kernel version repeats, if any."""

    __table_args__: ClassVar[Any] = (Index("ix_likeness_sketch", "sketch", "known_at", "post_id"),)

    competition: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    """`message` or `kernel`."""
    post_id: str = Field(primary_key=True)
    sketch: int
    known_at: datetime
    """Since when the post's text is known."""
    original: str | None = None
    """Id of the earliest post of the kind whose text is the same or nearly so."""
    original_at: datetime | None = None
    similarity: float | None = None
    """Of the two texts, 1 where they are the same."""
