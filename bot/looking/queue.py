"""The queue: tasks that are due, wait or were given up, and letters to the owner that are not yet sent."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.looking.other_tables import TASKS, rows
from state.tables import Letter, Notification

__all__ = ["Letters", "Queued", "dead", "letters", "queued", "tasks_by_kind"]

DEAD = "dead"
_OVER = ("done", DEAD)


@dataclass(frozen=True)
class Queued:
    """One task."""

    key: str
    kind: str
    competition: str
    """Empty: of none."""
    due_at: datetime
    status: str
    tries: int
    error: str | None


@dataclass(frozen=True)
class Letters:
    """Messages to one service that it has not taken yet."""

    waiting: int = 0
    failing: int = 0
    """Of these, tried in vain."""
    error: str | None = None
    """Of the last attempt in vain."""


def queued(session: Session, competition: str, most: int = 5) -> tuple[Queued, ...]:
    """Return a competition's tasks that are not over, the one that is due first first."""
    query = select(TASKS).where(TASKS.c.competition == competition, TASKS.c.status.not_in(_OVER))
    found = rows(session, TASKS, query.order_by(TASKS.c.due_at, TASKS.c.key).limit(most))
    return tuple(Queued(**row) for row in found)


def dead(session: Session, most: int = 20) -> tuple[Queued, ...]:
    """Return the tasks that were given up, the latest first."""
    query = select(TASKS).where(TASKS.c.status == DEAD).order_by(TASKS.c.due_at.desc()).limit(most)
    return tuple(Queued(**row) for row in rows(session, TASKS, query))


def tasks_by_kind(session: Session) -> dict[tuple[str, str], int]:
    """Return how many tasks there are by kind and status."""
    query = select(TASKS.c.kind, TASKS.c.status, func.count().label("count")).group_by(TASKS.c.kind, TASKS.c.status)
    return {(row["kind"], row["status"]): row["count"] for row in rows(session, TASKS, query)}


def letters(session: Session) -> dict[str, Letters]:
    """Return the letters that are not yet taken, by service; what is in no letter yet stands under the empty name."""
    found: dict[str, Letters] = {}
    unsent = select(col(Letter.service), col(Letter.last_error), col(Letter.id)).where(col(Letter.sent_at).is_(None))
    for service, error, _ in session.execute(unsent.order_by(col(Letter.id))):
        so_far = found.get(service, Letters())
        failing = so_far.failing + (error is not None)
        found[service] = Letters(so_far.waiting + 1, failing, error if error is not None else so_far.error)
    total = session.execute(select(func.count()).select_from(Notification).where(col(Notification.sent_at).is_(None)))
    unread = total.scalar_one()
    return found if not unread or found else {"": Letters(waiting=unread)}
