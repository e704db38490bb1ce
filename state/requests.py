"""How often a site was asked: counts of a UTC day by family of calls, which outlive the process that made them."""

from datetime import date

from sqlmodel import select

from state.polled import RequestCount
from state.store import Store

__all__ = ["RequestMeter"]

_COUNT = (
    "INSERT INTO requestcount (day, family, count) VALUES (?, ?, 1) "
    "ON CONFLICT (day, family) DO UPDATE SET count = count + 1"
)
_TOTAL = "SELECT sum(count) FROM requestcount WHERE day = ?"


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
