"""Polling: how far each part of a site was read, and how many requests were made."""

from datetime import date, datetime
from typing import Any

from sqlmodel import Session, select

from state.store import Store, Transaction
from state.tables import RequestCount, Watermark

_MOST_WORDS = 500
_COUNT = (
    "INSERT INTO requestcount (day, family, count) VALUES (?, ?, 1) "
    "ON CONFLICT (day, family) DO UPDATE SET count = count + 1"
)
_TOTAL = "SELECT coalesce(sum(count), 0) FROM requestcount WHERE day = ?"


def watermark(session: Session, competition: str, part: str) -> Watermark:
    """Return a part's watermark; if none is stored yet, a new one without a time."""
    return session.get(Watermark, (competition, part)) or Watermark(competition=competition, part=part)


def watermarks(session: Session, competition: str) -> dict[str, Watermark]:
    """Return a competition's watermarks by part; those of the competition `""` are the account's."""
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
    """Move a watermark, in the same transaction that stores what was read; the account's competition is empty.

    Unless the part was read to its end (`ended`), only `value` moves, and the part is as due as before.
    """
    row = watermark(tx.session, competition, part)
    row.value = value
    if ended:
        row.at, row.served_at = tx.now(), served_at
        row.tried_at, row.failures, row.refused, row.error = None, 0, False, None
    tx.add(row)


def mark_failed(tx: Transaction, competition: str, part: str, error: Exception, *, refused: bool) -> None:
    """Record that a part could not be read; its `value` stays."""
    row = watermark(tx.session, competition, part)
    row.tried_at = tx.now()
    row.failures += 1
    row.refused = refused
    row.error = str(error)[:_MOST_WORDS]
    tx.add(row)


class RequestMeter:
    """A meter (`scrapers.kaggle.pacing.Meter`) in the database; processes that share the file share the count.

    A request is counted before it is made, so that it counts even if the process ends during it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, day: date, family: str, limit: int) -> bool:
        """Count one more request of a family, unless the day has seen `limit` in all; return whether. Raises StateUnavailable."""
        # A power cut may lose the last few; a flush to the disk for each request would cost more than they are worth.
        with self._store.write(durable=False) as tx:
            total: int = tx.connection.exec_driver_sql(_TOTAL, (day.isoformat(),)).scalar_one()
            if total < limit:
                tx.connection.exec_driver_sql(_COUNT, (day.isoformat(), family))
        return total < limit

    def counts(self, day: date) -> dict[str, int]:
        """Return the counts of a UTC day by family."""
        with self._store.read() as session:
            rows = session.exec(select(RequestCount).where(RequestCount.day == day.isoformat())).all()
        return {row.family: row.count for row in rows}
