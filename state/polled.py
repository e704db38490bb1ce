"""What is read from a site again and again: how far it was read, what it said, how often it was asked."""

from datetime import date, datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index
from sqlmodel import Field, Session, SQLModel, select

from state.store import Store, Transaction

__all__ = [
    "Author",
    "PolledKernel",
    "PolledTopic",
    "Reading",
    "RequestCount",
    "RequestMeter",
    "Watermark",
    "mark_failed",
    "mark_read",
    "watermark",
    "watermarks",
]

_MOST_WORDS = 500
_COUNT = (
    "INSERT INTO requestcount (day, family, count) VALUES (?, ?, 1) "
    "ON CONFLICT (day, family) DO UPDATE SET count = count + 1"
)
_TOTAL = "SELECT sum(count) FROM requestcount WHERE day = ?"


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


def watermark(session: Session, competition: str, part: str) -> Watermark:
    """Return a part's watermark; one that is not stored yet is new, and has no time."""
    return session.get(Watermark, (competition, part)) or Watermark(competition=competition, part=part)


def watermarks(session: Session, competition: str) -> dict[str, Watermark]:
    """Return a competition's watermarks by part; the account's own are those of the competition `""`."""
    return {row.part: row for row in session.exec(select(Watermark).where(Watermark.competition == competition))}


def mark_read(
    tx: Transaction,
    competition: str,
    part: str,
    value: dict[str, Any],
    served_at: datetime | None,
    *,
    ended: bool = True,
) -> None:
    """Move a watermark, in the transaction that stores what it promises.

    Args:
        tx: the transaction.
        competition: whose, empty: the account's.
        part: of what.
        value: how far; small JSON.
        served_at: the site's time.
        ended: whether the part was read to its end; else only `value` moves, and it stays as due as it was.
    """
    row = watermark(tx.session, competition, part)
    row.value = value
    if ended:
        row.at, row.served_at = tx.now(), served_at
        row.tried_at, row.failures, row.refused, row.error = None, 0, False, None
    tx.add(row)


def mark_failed(tx: Transaction, competition: str, part: str, error: Exception, *, refused: bool) -> None:
    """Record that a part could not be read; how far it was read before stays."""
    row = watermark(tx.session, competition, part)
    row.tried_at = tx.now()
    row.failures += 1
    row.refused = refused
    row.error = str(error)[:_MOST_WORDS]
    tx.add(row)


class RequestMeter:
    """A meter (`scrapers.kaggle.pacing.Meter`) in the database; processes that share the file share the count.

    A request is counted before it is made, so that one cut short by the end of the process is counted too.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def count(self, day: date, family: str) -> int:
        """Count one more request of a family, and return how many there were that day over all families, this included.

        Raises:
            StateUnavailable: it could not be counted.
        """
        # A power cut may forget the last few; a disk's answer for each request would cost more than they are worth.
        with self._store.write(durable=False) as tx:
            tx.connection.exec_driver_sql(_COUNT, (day.isoformat(), family))
            total: int = tx.connection.exec_driver_sql(_TOTAL, (day.isoformat(),)).scalar_one()
        return total

    def counts(self, day: date) -> dict[str, int]:
        """Return the counts of a UTC day by family."""
        with self._store.read() as session:
            rows = session.exec(select(RequestCount).where(RequestCount.day == day.isoformat())).all()
        return {row.family: row.count for row in rows}
