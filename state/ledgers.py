"""Ledgers of runs, read without writing, even while a run goes on."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import NullPool
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session, create_engine

from state.errors import InfrastructureFailure
from state.store import as_stored

_BUSY_SECONDS = 5.0
_NO_END = "9999-12-31"
# One row per run, in the order of an index: grouped by kind, all entries would be sorted first.
_SELECT_SPENDING = """
    SELECT run_id,
        count(*) FILTER (WHERE kind = 'tokens' AND prompt_tokens + completion_tokens > 0 AND cost_usd IS NULL) AS unpriced,
        coalesce(sum(cost_usd), 0.0) AS money,
        coalesce(sum(prompt_tokens - cached_tokens + completion_tokens) FILTER (WHERE kind = 'tokens'), 0) AS tokens,
        count(*) FILTER (WHERE kind = 'tokens') AS calls,
        coalesce(sum(amount) FILTER (WHERE kind = 'gpu'), 0) AS gpu_seconds,
        coalesce(sum(amount) FILTER (WHERE kind = 'execution'), 0) AS executions,
        coalesce(sum(amount) FILTER (WHERE kind = 'disk'), 0) AS disk_bytes,
        coalesce(sum(amount) FILTER (WHERE kind = 'submission'), 0) AS submissions
    FROM ledgerentry WHERE at >= ? AND at < ? GROUP BY run_id
"""
_LAST = "SELECT at FROM event WHERE run_id = ? AND at < ? ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True)
class Ledger:
    """What one run has spent."""

    run_id: str
    competition: str
    unpriced: int
    """Calls whose price is unknown; their cost is in no sum."""
    amounts: dict[str, float]
    """By kind, named and measured as in `bot.budgets.kinds`; wall time goes up to the run's last event."""


@contextmanager
def read_only(path: Path) -> Iterator[Session]:
    """Open a database file to read one consistent state of it; nothing is written, upgraded or locked for others.

    Raises InfrastructureFailure: it cannot be read, or its tables are not ours.
    """
    # Without a log beside it nobody has it open, and SQLite would leave behind an empty log that it may not remove.
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    address = f"{path.absolute().as_uri()}?{mode}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)

    try:
        with Session(create_engine("sqlite://", creator=connect, poolclass=NullPool)) as session:
            session.connection().exec_driver_sql("BEGIN")
            yield session
    except (DBAPIError, sqlite3.Error) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise InfrastructureFailure(f"{path} cannot be read: {reason}") from error


def read_ledger(session: Session, since: datetime | None = None, until: datetime | None = None) -> list[Ledger]:
    """Return the ledger of each run in a database: of what was spent from `since` on, and before `until`."""
    connection = session.connection()
    start, end = as_stored(since) if since else "", as_stored(until) if until else _NO_END
    rows = map(dict, connection.exec_driver_sql(_SELECT_SPENDING, (start, end)).mappings())
    spending = {row.pop("run_id"): row for row in rows}
    ledgers = []
    runs = connection.exec_driver_sql("SELECT id, competition, created_at, gaps FROM run")
    for id, competition, created_at, gaps in runs.all():
        amounts = spending.get(id, {})
        last = connection.exec_driver_sql(_LAST, (id, end)).first()
        begin = _time(max(start, created_at))
        wall = worked_seconds(json.loads(gaps), begin, _time(last[0]) if last else begin)
        ledgers.append(Ledger(id, competition, amounts.pop("unpriced", 0), {**amounts, "wall_seconds": wall}))
    return ledgers


def worked_seconds(gaps: Iterable[tuple[str, float]], begin: datetime, end: datetime) -> float:
    """Return the seconds between two times in which a process worked on a run, from `Run.gaps`; never negative."""
    away = 0.0
    for resumed, seconds in gaps:
        back = datetime.fromisoformat(resumed)
        pause_start = max(begin, back - timedelta(seconds=seconds))
        away += max(0.0, (min(back, end) - pause_start).total_seconds())
    return max(0.0, (end - begin).total_seconds() - away)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
