"""Community rows, keyed by competition: posts, readings of their votes and scores, and which texts repeat each other."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, text
from sqlmodel import Field, SQLModel


class Topic(SQLModel, table=True):
    """A forum topic; its text is its messages. Without `posted_at` it is never visible."""

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    title: str = ""
    author: str | None = None
    tier: str | None = None
    posted_at: datetime | None = None
    votes: int | None = None
    url: str | None = None
    sticky: bool = False
    deleted: bool = False
    first_seen_at: datetime | None = None
    """Our time, where it was polled."""


class PostedMessage(SQLModel, table=True):
    """A forum message; `votes` and `tier` are as of its collection. The text before an edit is not known."""

    __tablename__: ClassVar[Any] = "message"
    __table_args__: ClassVar[Any] = (
        Index("ix_message_topic", "competition", "topic_id", "posted_at", "edited_at", "deleted"),
        Index("ix_message_posted", "competition", "posted_at", "id"),
        Index("ix_message_edited", "competition", "edited_at", "id"),
    )

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    topic_id: str
    parent_id: str | None = None
    author: str | None = None
    tier: str | None = None
    posted_at: datetime | None = None
    edited_at: datetime | None = None
    votes: int | None = None
    markdown: str = ""
    deleted: bool = False
    first_seen_at: datetime | None = None
    """Our time, where it was polled."""
    html_sha: str | None = None
    """sha256 of the site's HTML and markdown, by which an edit is noticed."""
    markdown_sha: str | None = None


class KernelVersion(SQLModel, table=True):
    """One version of a kernel; `text` is its cleaned text and code, `raw_sha` the blob of its file."""

    __table_args__: ClassVar[Any] = (
        Index("ix_kernelversion_ref", "competition", "ref", "created_at"),
        Index("ix_kernelversion_created", "competition", "created_at"),
    )

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    ref: str
    version: int | None = None
    title: str = ""
    author: str | None = None
    tier: str | None = None
    created_at: datetime | None = None
    votes: int | None = None
    public_score: float | None = None
    language: str | None = None
    kind: str | None = None
    """`notebook`, `script`, `writeup`, or another kind that the source names."""
    datasets: list[Any] = Field(default_factory=list, sa_type=JSON)
    parent_ref: str | None = None
    path: str | None = None
    url: str | None = None
    text: str = ""
    raw_sha: str | None = None
    first_seen_at: datetime | None = None
    """Our time, where it was polled."""


class Observation(SQLModel, table=True):
    """One reading of the values that change: votes, public score, tier; None means not read."""

    # Scores and tiers are read far less often than votes: an index of their own skips all other readings.
    __table_args__: ClassVar[Any] = (
        Index("ix_observation_target", "competition", "target", "target_id", "at", "votes"),
        Index(
            "ix_observation_score",
            *("competition", "target", "target_id", "at", "public_score"),
            sqlite_where=text("public_score IS NOT NULL"),
        ),
        Index(
            "ix_observation_tier",
            *("competition", "target", "target_id", "at", "tier"),
            sqlite_where=text("tier IS NOT NULL"),
        ),
    )

    pk: int | None = Field(default=None, primary_key=True)
    competition: str
    target: str
    """`topic`, `message` or `kernel` (a kernel version)."""
    target_id: str
    at: datetime
    """Our clock's."""
    served_at: datetime | None = None
    """The site's clock at the same moment, where known."""
    votes: int | None = None
    public_score: float | None = None
    tier: str | None = None


CommunityRow = Topic | PostedMessage | KernelVersion | Observation


class KeptSketch(SQLModel, table=True):
    """The sketch of one text, shared by all posts of a competition with that text."""

    __table_args__: ClassVar[Any] = (Index("ix_keptsketch_text", "competition", "kind", "sha256", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    competition: str
    kind: str
    """`message` or `kernel`."""
    sha256: str
    """Hex, of the text without layout."""
    code: bytes | None = None
    """MinHash signatures, see `scrapers.posts.sketches`; None if there is too little to compare."""
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
    """The time from which the post's text is known."""
    original: str | None = None
    """Id of the earliest post of the kind with the same text or nearly so."""
    original_at: datetime | None = None
    similarity: float | None = None
    """Similarity of the two texts, 1 if they are the same."""
