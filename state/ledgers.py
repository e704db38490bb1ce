"""Ledgers of runs, read without writing: also of one that goes on, or that an older version has written."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from state.errors import InfrastructureFailure

__all__ = ["Ledger", "read_ledger", "read_only"]

_BUSY_SECONDS = 5.0


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
    """In which the run went on: from each start to the last event before the next."""
    amounts: dict[str, float] = field(default_factory=dict)
    """Sums of `LedgerEntry.amount` by kind."""


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database file to read one consistent state of it; nothing is written, upgraded or locked for others.

    Raises:
        InfrastructureFailure: it cannot be read, or holds other tables than ours.
    """
    # Without a log beside it nobody has it open, and SQLite would leave an empty log behind that it may not remove.
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
        connection: as `read_only` opens it.
        since: aware; leave out what was spent before.
    """
    start = "" if since is None else since.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    runs = connection.execute("SELECT id, competition FROM run ORDER BY id").fetchall()
    return [_ledger(connection, Ledger(run["id"], run["competition"]), start) for run in runs]


def _ledger(connection: sqlite3.Connection, empty: Ledger, start: str) -> Ledger:
    columns = {row["name"] for row in connection.execute("PRAGMA table_info(ledgerentry)")}
    amount = "sum(amount)" if "amount" in columns else "NULL"
    found = connection.execute(
        f"SELECT kind, count(*) AS entries, sum(prompt_tokens + completion_tokens) AS tokens, sum(cost_usd) AS cost, "  # noqa: S608
        f"sum(prompt_tokens + completion_tokens > 0 AND cost_usd IS NULL) AS unpriced, {amount} AS amount "
        "FROM ledgerentry WHERE run_id = ? AND at >= ? GROUP BY kind",
        (empty.run_id, start),
    ).fetchall()
    calls = [row for row in found if row["kind"] == "tokens"]
    return replace(
        empty,
        calls=sum(row["entries"] for row in calls),
        tokens=sum(row["tokens"] for row in calls),
        cost_usd=sum(row["cost"] or 0.0 for row in found),
        unpriced=sum(row["unpriced"] for row in calls),
        wall_seconds=_wall_seconds(connection, empty.run_id, start),
        amounts={row["kind"]: row["amount"] or 0.0 for row in found},
    )


def _wall_seconds(connection: sqlite3.Connection, run_id: str, start: str) -> float:
    """Add up the spans from each start of the run to the last event before the next start."""
    starts = [
        row["seq"]
        for row in connection.execute(
            "SELECT seq FROM event WHERE run_id = ? AND type IN ('run.created', 'run.resumed') ORDER BY seq", (run_id,)
        )
    ]
    last = connection.execute("SELECT max(seq) FROM event WHERE run_id = ?", (run_id,)).fetchone()[0]
    ends = [*(seq - 1 for seq in starts[1:]), last]
    spans = [(_at(connection, run_id, a), _at(connection, run_id, b)) for a, b in zip(starts, ends, strict=False)]
    if start:
        spans = [(max(begin, datetime.fromisoformat(start)), end) for begin, end in spans]
    # A clock that was put back in between makes no time negative.
    return sum(max(0.0, (end - begin).total_seconds()) for begin, end in spans)


def _at(connection: sqlite3.Connection, run_id: str, seq: int) -> datetime:
    """Return the time of an event, in UTC without saying so, as the column holds it."""
    row = connection.execute("SELECT at FROM event WHERE run_id = ? AND seq = ?", (run_id, seq)).fetchone()
    return datetime.fromisoformat(row["at"])
