"""Polling: how far each part of a site was read, its states over time, and how many requests were made."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index
from sqlmodel import Field, SQLModel


class RequestCount(SQLModel, table=True):
    """The number of calls of a family on a UTC day, such as `2026-11-20`."""

    day: str = Field(primary_key=True)
    family: str = Field(primary_key=True)
    count: int = 0


class Watermark(SQLModel, table=True):
    """How far one part of a competition was read; it moves in the same transaction that stores what was read.

    `competition` is empty for parts of the account.
    """

    competition: str = Field(primary_key=True)
    part: str = Field(primary_key=True)
    at: datetime | None = None
    """Our time at which it was last read to its end."""
    served_at: datetime | None = None
    """The site's time then."""
    value: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    tried_at: datetime | None = None
    """Our time of the last failure since."""
    failures: int = 0
    """Number of failures in a row."""
    refused: bool = False
    """Whether the last failure was a refusal by the site, which a retry soon would not change."""
    error: str | None = None


class PolledTopic(SQLModel, table=True):
    """A topic as last listed, and as it was when its messages were read; if these differ, the messages are due."""

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    last_comment_at: datetime | None = None
    comment_count: int = 0
    read_last_comment_at: datetime | None = None
    read_comment_count: int | None = None
    read_at: datetime | None = None
    """Our time at which the messages were last read; None: never."""
    opening_id: str | None = None
    """The message that opens it."""
    opening_apart: bool = False
    """Whether the site leaves that one out of the list of messages, so that it is requested by itself."""
    tried_at: datetime | None = None
    failures: int = 0


class PolledKernel(SQLModel, table=True):
    """A kernel as last listed, and the version whose source was read; if these differ, sources are due."""

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    ref: str = Field(index=True)
    last_run_at: datetime | None = None
    number: int | None = None
    """Number of its current version, where known."""
    votes: int = 0
    score: float | None = None
    """Its best public score as last seen, in the metric's own sign."""
    read_last_run_at: datetime | None = None
    read_number: int | None = None
    read_at: datetime | None = None
    current_id: str | None = None
    """The row of the version that was current when it was read."""
    first_number: int | None = None
    """Number of the first version that appeared during the watch, or was current when it began."""
    gone_at: datetime | None = None
    """Our time at which it was found missing."""
    tried_at: datetime | None = None
    failures: int = 0


class Author(SQLModel, table=True):
    """An author of posts, with the last known tier; display names are not unique."""

    user_id: str = Field(primary_key=True)
    user_name: str = ""
    display_name: str = Field(default="", index=True)
    tier: str | None = None
    at: datetime
    """Our time from which this is known."""


class Reading(SQLModel, table=True):
    """The state of something of a competition at the site from a time on: one row for each change."""

    __table_args__: ClassVar[Any] = (Index("ix_reading_what", "competition", "kind", "name", "at"),)

    pk: int | None = Field(default=None, primary_key=True)
    competition: str
    kind: str
    """See `state.series.ReadingKind`."""
    name: str = ""
    """Which of its kind: a page's name, a submission's reference."""
    at: datetime
    """Our time at which it was seen."""
    served_at: datetime | None = None
    sha256: str | None = None
    """Of its content, in hex; None: it is no longer at the site."""
    data: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """Small content; large content is the blob with its hash."""
