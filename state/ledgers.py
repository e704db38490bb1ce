"""Ledgers of runs, read without writing, even while a run goes on."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import NullPool
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session, create_engine

from state.errors import InfrastructureFailure
from state.store import as_stored

_BUSY_SECONDS = 5.0
_NO_END = "9999-12-31"
_AMOUNTS = ("gpu", "execution", "disk", "submission")
"""Kinds of entries whose `amount` is counted."""
# One row per run, in the order of an index: grouped by kind, all entries would be sorted first.
_SPENT = f"""
    SELECT run_id, count(*) FILTER (WHERE kind = 'tokens'),
        coalesce(sum(prompt_tokens - cached_tokens + completion_tokens) FILTER (WHERE kind = 'tokens'), 0),
        coalesce(sum(cost_usd), 0),
        count(*) FILTER (WHERE kind = 'tokens' AND prompt_tokens + completion_tokens > 0 AND cost_usd IS NULL),
        {", ".join(f"coalesce(sum(amount) FILTER (WHERE kind = '{kind}'), 0)" for kind in _AMOUNTS)}
    FROM ledgerentry WHERE at >= ? AND at < ? GROUP BY run_id
"""  # noqa: S608 - of constants
_LAST = "SELECT at FROM event WHERE run_id = ? AND at < ? ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True)
class Ledger:
    """What one run has spent."""

    run_id: str
    competition: str
    calls: int = 0
    tokens: int = 0
    """New ones: sent and not cached, or received."""
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is unknown; their cost is in no sum."""
    wall_seconds: float = 0.0
    """Time in which a process worked on the run, up to its last event."""
    amounts: dict[str, float] = field(default_factory=dict)
    """Sums of `LedgerEntry.amount` by kind."""


@contextmanager
def read_only(path: Path) -> Iterator[Session]:
    """Open a database file to read one consistent state of it; nothing is written, upgraded or locked for others.

    Raises:
        InfrastructureFailure: it cannot be read, or its tables are not ours.
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
        why = error.orig if isinstance(error, DBAPIError) else error
        raise InfrastructureFailure(f"{path} cannot be read: {why}") from error


def read_ledger(session: Session, since: datetime | None = None, until: datetime | None = None) -> list[Ledger]:
    """Return the ledger of each run in a database.

    Args:
        session: on one state of the database.
        since: aware; leave out what was spent before.
        until: aware; leave out what was spent then or later.
    """
    connection = session.connection()
    start, end = as_stored(since) if since else "", as_stored(until) if until else _NO_END
    spent = {run_id: sums for run_id, *sums in connection.exec_driver_sql(_SPENT, (start, end))}
    found = []
    runs = connection.exec_driver_sql("SELECT id, competition, created_at, gaps FROM run")
    for id, competition, created_at, gaps in runs.all():
        calls, tokens, cost, unpriced, *amounts = spent.get(id, [0] * (4 + len(_AMOUNTS)))
        last = connection.exec_driver_sql(_LAST, (id, end)).first()
        begin = _time(max(start, created_at))
        wall = worked_seconds(json.loads(gaps), begin, _time(last[0]) if last else begin)
        by_kind = dict(zip(_AMOUNTS, amounts, strict=True))
        found.append(Ledger(id, competition, calls, tokens, float(cost), unpriced, wall, by_kind))
    return found


def worked_seconds(gaps: Iterable[tuple[str, float]], begin: datetime, end: datetime) -> float:
    """Return the seconds between two times in which a process worked on a run; never negative, whatever its clock did.

    Args:
        gaps: as `Run.gaps` holds them.
        begin: aware.
        end: aware.
    """
    away = 0.0
    for resumed, seconds in gaps:
        back = datetime.fromisoformat(resumed)
        left = max(begin, back - timedelta(seconds=seconds))
        away += max(0.0, (min(back, end) - left).total_seconds())
    return max(0.0, (end - begin).total_seconds() - away)


def _time(stored: str) -> datetime:
    return datetime.fromisoformat(stored).replace(tzinfo=UTC)
