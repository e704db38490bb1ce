"""The queue: tasks that are due, waiting or given up, letters to the owner, and the owner's orders, notes and approvals."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from state.tables import Approval, Control, Letter, ModelCall, Note, Notification, Task
from state.tasks import coming_tasks


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
class GivenUp:
    """The tasks that were given up for one cause."""

    error: str | None
    """The cause; None: no reason is known."""
    tasks: int
    of: tuple[str, ...]
    """What they were to do, such as `poll of titanic`."""
    at: datetime
    """When the latest was given up."""


@dataclass(frozen=True)
class Letters:
    """Messages to one service that it has not taken yet."""

    waiting: int = 0
    failing: int = 0
    """Those of them that were tried in vain."""
    error: str | None = None
    """The last failed attempt's."""


def queued(session: Session, competition: str, limit: int = 5) -> tuple[Queued, ...]:
    """Return a competition's tasks that are not over, by due time."""
    return tuple(map(_queued, coming_tasks(session, competition=competition, limit=limit)))


def dead(session: Session, limit: int = 20) -> tuple[GivenUp, ...]:
    """Return the tasks that were given up by cause, latest first, without those after which one of the kind succeeded."""
    later = aliased(Task)
    succeeded = (
        select(later.key)
        .where(later.status == "done", later.kind == Task.kind, later.competition == Task.competition)
        .where(col(later.ended_at) > col(Task.ended_at))
    )
    query = select(Task).where(Task.status == "dead", ~succeeded.exists())
    queues: dict[str | None, GivenUp] = {}
    for row in session.exec(query.order_by(Task.kind, Task.competition)):
        ended_at, task_name = (
            row.ended_at or row.due_at,
            f"{row.kind} of {row.competition}" if row.competition else row.kind,
        )
        group = queues.get(row.error, GivenUp(row.error, 0, (), ended_at))
        task_names = group.of if task_name in group.of else (*group.of, task_name)
        queues[row.error] = GivenUp(row.error, group.tasks + 1, task_names, max(group.at, ended_at))
    return tuple(sorted(queues.values(), key=lambda group: group.at, reverse=True)[:limit])


def _queued(row: Task) -> Queued:
    return Queued(row.key, row.kind, row.competition, row.due_at, row.status, row.tries, row.error)


def letters(session: Session) -> dict[str, Letters]:
    """Return the letters not yet taken, by service; notices that are in no letter yet count under the empty name."""
    queues: dict[str, Letters] = {}
    unsent = select(Letter.service, Letter.last_error).where(col(Letter.sent_at).is_(None)).order_by(col(Letter.id))
    for service, error in session.exec(unsent):
        queue = queues.get(service, Letters())
        failing = queue.failing + (error is not None)
        queues[service] = Letters(queue.waiting + 1, failing, error if error is not None else queue.error)
    unread = select(func.count()).select_from(Notification).where(col(Notification.sent_at).is_(None))
    if not queues and (undelivered_count := session.exec(unread).one()):
        queues[""] = Letters(undelivered_count)
    return queues


@dataclass(frozen=True)
class NoteRead:
    """One note of the owner's, and which prompt held it first."""

    id: int
    text: str
    at: datetime
    read_at: datetime | None
    """None: no prompt has held it yet."""
    read_by: str | None
    """The role that was asked, such as `planner`."""


def controls(session: Session) -> dict[str, str]:
    """Return the owner's last order for each competition: `running`, `paused` or `stopped`."""
    return {row.competition: row.state for row in session.exec(select(Control))}


def held(session: Session, run_id: str) -> tuple[int, ...]:
    """Return the numbers of a run's open approvals, by which its held submissions are approved."""
    query = select(Approval.id).where(Approval.run_id == run_id, col(Approval.decision).is_(None))
    return tuple(id for id in session.exec(query.order_by(col(Approval.id))) if id is not None)


def notes_read(session: Session, competition: str, run_id: str | None, limit: int = 10) -> tuple[NoteRead, ...]:
    """Return the latest notes on a competition, oldest first, and whether the run's prompts held them."""
    query = select(Note).where(Note.competition == competition).order_by(col(Note.id).desc()).limit(limit)
    recent_notes = session.exec(query).all()[::-1]
    queues = []
    for note in recent_notes:
        call = None if run_id is None else _first_call(session, run_id, note)
        queues.append(NoteRead(note.id or 0, note.text, note.at, call and call[0], call and call[1]))
    return tuple(queues)


def _first_call(session: Session, run_id: str, note: Note) -> tuple[datetime, str] | None:
    """Return the time and role of the first call whose prompt held a note."""
    query = select(ModelCall.at, ModelCall.role).where(
        ModelCall.run_id == run_id, ModelCall.at >= note.at, func.instr(ModelCall.items, f'"{note.item}"') > 0
    )
    return session.exec(query.order_by(col(ModelCall.seq)).limit(1)).first()
