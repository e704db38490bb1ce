"""What is read from a site again and again: how far it was read, what it said, how often it was asked."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index
from sqlmodel import Field, SQLModel


class RequestCount(SQLModel, table=True):
    """How often a family of calls was made on a UTC day, such as `2026-11-20`."""

    day: str = Field(primary_key=True)
    family: str = Field(primary_key=True)
    count: int = 0


class Watermark(SQLModel, table=True):
    """How far one part of a competition was read; what it promises is stored in the same transaction that moves it.

    `competition` is empty for what is the account's.
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
    """In a row."""
    refused: bool = False
    """Whether the last one was the site's own no, which asking again soon does not change."""
    error: str | None = None


class PolledTopic(SQLModel, table=True):
    """A topic as lists showed it last, and as it was when its messages were read; where these differ, they are due."""

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
    """Whether the site leaves that one out of the messages, so that it is asked for by itself."""
    tried_at: datetime | None = None
    failures: int = 0


class PolledKernel(SQLModel, table=True):
    """A kernel as lists showed it last, and the version whose source was read; where these differ, sources are due."""

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    ref: str = Field(index=True)
    last_run_at: datetime | None = None
    number: int | None = None
    """Of its current version, where the site tells."""
    read_last_run_at: datetime | None = None
    read_number: int | None = None
    read_at: datetime | None = None
    current_id: str | None = None
    """The row of the version that was the current one when it was read."""
    first_number: int | None = None
    """Of the first version that came while the competition was watched, or was the current one when that began."""
    gone_at: datetime | None = None
    """Our time at which it was seen to be there no more."""
    tried_at: datetime | None = None
    failures: int = 0


class Author(SQLModel, table=True):
    """Whose posts are known, and the tier that was last seen; names that are shown are not unique."""

    user_id: str = Field(primary_key=True)
    user_name: str = ""
    display_name: str = Field(default="", index=True)
    tier: str | None = None
    at: datetime
    """Our time since when it is known so."""


class Reading(SQLModel, table=True):
    """How something of a competition stood at the site from a time on: one row each time that it changed."""

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
    """Of its content, in hex; None: it is there no more."""
    data: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """What is small; a large content is the blob of its hash."""
