"""Ledgers of runs, read without writing, even while a run goes on."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from state.errors import InfrastructureFailure

_BUSY_SECONDS = 5.0
_AMOUNTS = ("gpu", "execution", "disk", "submission")
"""Kinds of entries whose `amount` is counted."""
# One row per run, in the order of an index: grouped by kind, all entries would be sorted first.
_SPENT = f"""
    SELECT run_id, count(*) FILTER (WHERE kind = 'tokens'),
        coalesce(sum(prompt_tokens + completion_tokens) FILTER (WHERE kind = 'tokens'), 0),
        coalesce(sum(cost_usd), 0),
        count(*) FILTER (WHERE kind = 'tokens' AND prompt_tokens + completion_tokens > 0 AND cost_usd IS NULL),
        {", ".join(f"coalesce(sum(amount) FILTER (WHERE kind = '{kind}'), 0)" for kind in _AMOUNTS)}
    FROM ledgerentry WHERE at >= ? GROUP BY run_id
"""  # noqa: S608 - of constants
_LAST = "SELECT at FROM event WHERE run_id = ? ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True)
class Ledger:
    """What one run has spent."""

    run_id: str
    competition: str
    calls: int = 0
    tokens: int = 0
    """Sent and received."""
    cost_usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is unknown; their cost is in no sum."""
    wall_seconds: float = 0.0
    """Time in which a process worked on the run, up to its last event."""
    amounts: dict[str, float] = field(default_factory=dict)
    """Sums of `LedgerEntry.amount` by kind."""


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database file to read one consistent state of it; nothing is written, upgraded or locked for others.

    Raises:
        InfrastructureFailure: it cannot be read, or its tables are not ours.
    """
    # Without a log beside it nobody has it open, and SQLite would leave behind an empty log that it may not remove.
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=_BUSY_SECONDS)) as opened:
            opened.row_factory = sqlite3.Row
            opened.execute("BEGIN")
            yield opened
    except sqlite3.Error as error:
        raise InfrastructureFailure(f"{path} cannot be read: {error}") from error


def read_ledger(connection: sqlite3.Connection, since: datetime | None = None) -> list[Ledger]:
    """Return the ledger of each run in a database.

    Args:
        connection: opened by `read_only` or otherwise.
        since: aware; earlier spending is left out.
    """
    start = "" if since is None else since.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    spent = {run_id: sums for run_id, *sums in connection.execute(_SPENT, (start,))}
    found = []
    for id, competition, created_at, gaps in connection.execute("SELECT id, competition, created_at, gaps FROM run"):
        calls, tokens, cost, unpriced, *amounts = spent.get(id, [0] * (4 + len(_AMOUNTS)))
        last = connection.execute(_LAST, (id,)).fetchone()
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
