"""Tasks: what is to be done once at some time, as rows that a worker leases; nothing is lost when the process dies.

A lease says who works on a task. It is taken back because its owner is gone, which the one daemon of a folder knows
when it starts, and not because a time is over: clocks are put back, and machines sleep.
"""

import json
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, and_, delete
from sqlmodel import Session, col, select

from state.store import Transaction, as_stored
from state.tables import Task

TaskStatus = Literal["queued", "leased", "done", "dead"]
"""queued: waits for its time or for a worker; leased: somebody works on it; done; dead: given up."""

MOST_INTERRUPTIONS = 20
"""A task during which the process died this often is taken to be what kills it."""
_FREE_INTERRUPTIONS = 2
_FIRST_PAUSE = timedelta(seconds=10)
_LONGEST_PAUSE = timedelta(hours=1)
_MOST_WORDS = 500

# Written out, at a fraction of the cost, as these are asked at every turn of a worker.
_PUT = (
    "INSERT INTO task (key, kind, competition, payload, created_at, due_at, status, tries, interruptions) "
    "VALUES (?, ?, ?, ?, ?, ?, 'queued', 0, 0) ON CONFLICT (key) DO NOTHING"
)
# Tried in the future, or put there to be done at once: the clock was put back since, and what was due once does not wait for
# that time again.
_FIRST = """
    SELECT key, CASE
        WHEN tried_at > :now OR (created_at > :now AND due_at <= created_at) THEN min(due_at, :now) ELSE due_at
    END AS due FROM task
    WHERE status = 'queued' AND kind IN (SELECT value FROM json_each(:kinds))
    AND NOT EXISTS (SELECT 1 FROM json_each(:busy) WHERE value = json_array(kind, competition))
    ORDER BY due, key LIMIT 1
"""


def put_task(
    tx: Transaction,
    key: str,
    kind: str,
    *,
    competition: str = "",
    due_at: datetime | None = None,
    payload: dict[str, Any] | None = None,
) -> bool:
    """Put a task into the queue; one whose key is known, whatever became of it, is left as it is.

    Args:
        tx: the transaction.
        key: what is done and for when.
        kind: who can do it.
        competition: whose it is.
        due_at: when to begin at the earliest; None is now.
        payload: small JSON.

    Returns:
        Whether it is new.
    """
    now = as_stored(tx.now())
    due = now if due_at is None else as_stored(due_at)
    values = (key, kind, competition, json.dumps(payload or {}), now, due)
    return tx.connection.exec_driver_sql(_PUT, values).rowcount == 1


def claim_task(
    tx: Transaction,
    owner: str,
    *,
    kinds: Collection[str],
    busy: Iterable[tuple[str, str]] = (),
) -> Task | None:
    """Lease the task that has been due for longest, of those that may be begun now; None where none is due.

    Args:
        tx: the transaction.
        owner: who will work on it.
        kinds: of one of these.
        busy: pairs of kind and competition, of which none may be begun.
    """
    now = tx.now()
    tx.session.flush()
    found = _first(tx.session, now, kinds, busy)
    if found is None or found[1] > now:
        return None
    row = tx.session.get_one(Task, found[0])
    row.status, row.owner, row.tried_at = "leased", owner, now
    tx.add(row)
    return row


def next_due(
    session: Session, now: datetime, kinds: Collection[str], busy: Iterable[tuple[str, str]] = ()
) -> datetime | None:
    """Return when the next task of these kinds is due, a time that is over where one is already; None where none waits."""
    found = _first(session, now, kinds, busy)
    return None if found is None else found[1]


def finish_task(tx: Transaction, key: str, owner: str) -> bool:
    """End a task as done; returns whether the lease was the owner's, else nothing is changed."""
    row = _leased(tx, key, owner)
    if row is not None:
        _let_go(tx, row, "done")
    return row is not None


def retry_task(
    tx: Transaction, key: str, owner: str, *, due_at: datetime, error: str, most: int, counted: bool = True
) -> Task | None:
    """Put a task back after a try that failed, or give it up.

    Args:
        tx: the transaction.
        key: which task.
        owner: who worked on it.
        due_at: when to try again.
        error: how it failed; what is longer than a few lines is cut.
        most: how many tries may fail before it is dead.
        counted: whether this one is among them.

    Returns:
        The task, queued or dead; None where the lease is not the owner's, and nothing was changed.
    """
    row = _leased(tx, key, owner)
    if row is None:
        return None
    row.tries += counted
    row.error = error[:_MOST_WORDS]
    if row.tries >= most:
        _let_go(tx, row, "dead")
    else:
        row.due_at, row.tried_at = due_at, tx.now()
        _let_go(tx, row, "queued")
    return row


def release_tasks(tx: Transaction, owner: str, keys: Collection[str]) -> int:
    """Put tasks back that their owner could not end, as though they had not been begun; returns how many."""
    rows = tx.session.exec(select(Task).where(_held(owner), col(Task.key).in_(keys))).all()
    for row in rows:
        _let_go(tx, row, "queued")
    return len(rows)


def recover_tasks(tx: Transaction, *, running: Collection[str] = ()) -> list[Task]:
    """Put tasks back whose owner is gone, and return them, each queued or dead.

    The first interruptions delay nothing; after more of them a task waits for a growing time, so that one which kills
    the process lets others go on in between, and in the end it is dead.

    Args:
        tx: the transaction.
        running: keys of those that somebody does work on.
    """
    query = select(Task).where(Task.status == "leased", col(Task.key).not_in(running))
    rows = list(tx.session.exec(query).all())
    for row in rows:
        row.interruptions += 1
        if row.interruptions >= MOST_INTERRUPTIONS:
            row.error = f"the process ended {row.interruptions} times while it was worked on"
            _let_go(tx, row, "dead")
            continue
        if row.interruptions > _FREE_INTERRUPTIONS:
            doubled = _FIRST_PAUSE * 2 ** (row.interruptions - _FREE_INTERRUPTIONS - 1)
            row.due_at, row.tried_at = tx.now() + min(doubled, _LONGEST_PAUSE), tx.now()
        _let_go(tx, row, "queued")
    return rows


def has_open_task(session: Session, kind: str, competition: str) -> bool:
    """Return whether a competition has a task of a kind that is queued or worked on."""
    query = select(Task.key).where(Task.kind == kind, Task.competition == competition)
    return session.exec(query.where(col(Task.status).in_(("queued", "leased"))).limit(1)).first() is not None


def prune_tasks(tx: Transaction, before: datetime) -> int:
    """Forget tasks that ended before a time, and return how many; put again under the same key, one is done again."""
    done = delete(Task).where(col(Task.status).in_(("done", "dead")), col(Task.ended_at) < before)
    return len(tx.session.execute(done.returning(col(Task.key))).all())


def coming_tasks(session: Session, *, competition: str | None = None, most: int = 20) -> list[Task]:
    """Return what is worked on and what comes next, by the time at which it is due; None: of all competitions."""
    query = select(Task).where(col(Task.status).in_(("leased", "queued")))
    if competition is not None:
        query = query.where(Task.competition == competition)
    return list(session.exec(query.order_by(col(Task.due_at), col(Task.key)).limit(most)).all())


def _first(
    session: Session, now: datetime, kinds: Collection[str], busy: Iterable[tuple[str, str]]
) -> tuple[str, datetime] | None:
    """Return the key of the task that is to be begun next, of those that may be, and when it is due."""
    given = {"now": as_stored(now), "kinds": json.dumps(list(kinds)), "busy": _as_json(busy)}
    row = session.connection().exec_driver_sql(_FIRST, given).first()
    return None if row is None else (row.key, datetime.fromisoformat(row.due).replace(tzinfo=UTC))


def _as_json(pairs: Iterable[tuple[str, str]]) -> str:
    # As SQLite's json_array() writes them, with which they are compared.
    return json.dumps([list(pair) for pair in pairs], separators=(",", ":"), ensure_ascii=False)


def _held(owner: str) -> ColumnElement[bool]:
    return and_(col(Task.status) == "leased", col(Task.owner) == owner)


def _leased(tx: Transaction, key: str, owner: str) -> Task | None:
    row = tx.session.get(Task, key)
    return row if row is not None and row.status == "leased" and row.owner == owner else None


def _let_go(tx: Transaction, row: Task, status: TaskStatus) -> None:
    row.status, row.owner = status, None
    if status in ("done", "dead"):
        row.ended_at = tx.now()
    tx.add(row)
