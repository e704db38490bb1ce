"""Tasks: work to be done once at some time, as rows that a worker leases; nothing is lost when the process dies.

A lease names who works on a task. It is taken back because its owner is gone, which the one daemon of a folder knows
when it starts, and not because a time is over: clocks are set back, and machines sleep.
"""

import json
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import delete
from sqlmodel import Session, col, select

from state.clock import back_off
from state.store import Transaction, as_stored
from state.tables import Task

TaskStatus = Literal["queued", "leased", "done", "dead"]
"""queued: waits for its time or for a worker; leased: somebody works on it; done; dead: given up."""

MOST_INTERRUPTIONS = 20
"""A task during which the process died this often is taken to be the cause."""
_FREE_INTERRUPTIONS = 2
_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 3600.0
_MOST_WORDS = 500

# Plain SQL, at a fraction of the cost: a worker runs these in every cycle.
_INSERT_TASK = (
    "INSERT INTO task (key, kind, competition, created_at, due_at, status, tries, interruptions) "
    "VALUES (?, ?, ?, ?, ?, 'queued', 0, 0) ON CONFLICT (key) DO NOTHING"
)
# A task tried or created in the future means that the clock was set back since: a task that was due once does not wait for
# that time again.
_FIRST = """
    SELECT key, CASE
        WHEN tried_at > :now OR (created_at > :now AND due_at <= created_at) THEN min(due_at, :now) ELSE due_at
    END AS due FROM task
    WHERE status = 'queued' AND kind IN (SELECT value FROM json_each(:kinds))
    AND NOT EXISTS (SELECT 1 FROM json_each(:busy) WHERE value = json_array(kind, competition))
    ORDER BY due, key LIMIT 1
"""


def put_task(tx: Transaction, key: str, kind: str, *, competition: str = "", due_at: datetime | None = None) -> bool:
    """Put a task into the queue, due now without `due_at`, and return whether it is new.

    A task with a known key is left as it is, even if it has ended.
    """
    now = as_stored(tx.now())
    due = now if due_at is None else as_stored(due_at)
    values = (key, kind, competition, now, due)
    return tx.connection.exec_driver_sql(_INSERT_TASK, values).rowcount == 1


def claim_task(
    tx: Transaction, owner: str, *, kinds: Collection[str], busy: Iterable[tuple[str, str]] = ()
) -> Task | None:
    """Lease the task that has been due for longest among those of some kinds; None if none is due.

    Left out are those whose kind and competition are `busy`.
    """
    now = tx.now()
    tx.session.flush()
    task_and_time = _first(tx.session, now, kinds, busy)
    if task_and_time is None or task_and_time[1] > now:
        return None
    row = tx.session.get_one(Task, task_and_time[0])
    row.status, row.owner, row.tried_at = "leased", owner, now
    tx.add(row)
    return row


def next_due(
    session: Session, now: datetime, kinds: Collection[str], busy: Iterable[tuple[str, str]] = ()
) -> datetime | None:
    """Return when the next task of these kinds is due, a past time if one is due already; None if none waits."""
    task_and_time = _first(session, now, kinds, busy)
    return None if task_and_time is None else task_and_time[1]


def finish_task(tx: Transaction, key: str, owner: str) -> bool:
    """End a task as done; return whether the lease was the owner's (otherwise nothing is changed)."""
    row = _leased(tx, key, owner)
    if row is not None:
        _let_go(tx, row, "done")
    return row is not None


def retry_task(
    tx: Transaction, key: str, owner: str, *, due_at: datetime, error: str, limit: int, counted: bool = True
) -> Task | None:
    """Put a task back after a try that failed, or give it up after `limit` tries that counted.

    Return it, queued or dead; None if the lease is not the owner's, and nothing was changed.
    """
    row = _leased(tx, key, owner)
    if row is None:
        return None
    row.tries += counted
    row.error = error[:_MOST_WORDS]
    if row.tries >= limit:
        _let_go(tx, row, "dead")
    else:
        row.due_at, row.tried_at = due_at, tx.now()
        _let_go(tx, row, "queued")
    return row


def release_tasks(tx: Transaction, owner: str, keys: Collection[str]) -> int:
    """Put back tasks that their owner could not finish, as though they had not begun; return how many."""
    query = select(Task).where(Task.status == "leased", Task.owner == owner, col(Task.key).in_(keys))
    rows = tx.session.exec(query).all()
    for row in rows:
        _let_go(tx, row, "queued")
    return len(rows)


def recover_tasks(tx: Transaction, *, running: Collection[str] = ()) -> list[Task]:
    """Put back tasks whose owner is gone, but those in `running`, and return them, each queued or dead.

    The first interruptions cause no delay; after further ones a task waits for a growing time, so that one which kills
    the process leaves time for others, and in the end it is dead.
    """
    rows = list(tx.session.exec(select(Task).where(Task.status == "leased", col(Task.key).not_in(running))))
    for row in rows:
        row.interruptions += 1
        if row.interruptions >= MOST_INTERRUPTIONS:
            row.error = f"the process ended {row.interruptions} times during this task"
            _let_go(tx, row, "dead")
            continue
        if row.interruptions > _FREE_INTERRUPTIONS:
            pause = back_off(row.interruptions - _FREE_INTERRUPTIONS, _FIRST_PAUSE, _LONGEST_PAUSE)
            row.due_at, row.tried_at = tx.now() + timedelta(seconds=pause), tx.now()
        _let_go(tx, row, "queued")
    return rows


def has_open_task(session: Session, kind: str, competition: str) -> bool:
    """Return whether a competition has a task of a kind that is queued or worked on."""
    query = select(Task.key).where(Task.kind == kind, Task.competition == competition)
    return session.exec(query.where(col(Task.status).in_(("queued", "leased"))).limit(1)).first() is not None


def prune_tasks(tx: Transaction, before: datetime) -> int:
    """Delete tasks that ended before a time, and return how many; a task put again under such a key is done again."""
    query = delete(Task).where(col(Task.status).in_(("done", "dead")), col(Task.ended_at) < before)
    return len(tx.session.execute(query.returning(col(Task.key))).all())


def coming_tasks(session: Session, *, competition: str | None = None, limit: int = 20) -> list[Task]:
    """Return the tasks in progress and in the queue by due time; `competition` None means all."""
    query = select(Task).where(col(Task.status).in_(("leased", "queued")))
    if competition is not None:
        query = query.where(Task.competition == competition)
    return list(session.exec(query.order_by(col(Task.due_at), col(Task.key)).limit(limit)).all())


def _first(
    session: Session, now: datetime, kinds: Collection[str], busy: Iterable[tuple[str, str]]
) -> tuple[str, datetime] | None:
    """Return the key and the due time of the next task that may begin."""
    # In the form of SQLite's json_array(), with which they are compared.
    busy_pairs = json.dumps([list(pair) for pair in busy], separators=(",", ":"), ensure_ascii=False)
    parameters = {"now": as_stored(now), "kinds": json.dumps(list(kinds)), "busy": busy_pairs}
    row = session.connection().exec_driver_sql(_FIRST, parameters).first()
    return None if row is None else (row.key, datetime.fromisoformat(row.due).replace(tzinfo=UTC))


def _leased(tx: Transaction, key: str, owner: str) -> Task | None:
    row = tx.session.get(Task, key)
    return row if row is not None and row.status == "leased" and row.owner == owner else None


def _let_go(tx: Transaction, row: Task, status: TaskStatus) -> None:
    row.status, row.owner = status, None
    if status in ("done", "dead"):
        row.ended_at = tx.now()
    tx.add(row)
