"""The queue: due and abandoned tasks, letters to the owner, and the owner's orders, notes and approvals."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from state.tables import Control, Letter, ModelCall, Note, Notification, Task
from state.tasks import coming_tasks

_TITLES = {
    "poll": "read Kaggle",
    "learn": "write lessons",
    "submit": "choose and prepare a file to submit",
    "outputs": "look for copies of notebooks",
    "final": "propose the final files",
    "day": "daily summary",
    "health": "health check",
    "disk": "free disk space",
    "expiry": "delete expired data",
    "backup": "back up the database",
}
"""Of the kinds of tasks."""


@dataclass(frozen=True)
class QueuedTask:
    """One task."""

    key: str
    kind: str
    competition: str
    """Empty: of none."""
    due_at: datetime
    status: str
    tries: int
    error: str | None

    @property
    def title(self) -> str:
        """What it does, such as `read Kaggle`."""
        return _TITLES.get(self.kind, self.kind)


@dataclass(frozen=True)
class AbandonedTasks:
    """The tasks that were given up for one cause."""

    error: str | None
    """The cause; None: unknown."""
    tasks: int
    names: tuple[str, ...]
    """Such as `poll of titanic`."""
    last_at: datetime
    """When the latest was given up."""


@dataclass(frozen=True)
class Letters:
    """Messages to one service that it has not taken yet."""

    unsent: int = 0
    failing: int = 0
    """How many of them have failed attempts."""
    error: str | None = None
    """The last failed attempt's."""


def queued(session: Session, competition: str, limit: int = 5) -> tuple[QueuedTask, ...]:
    """Return a competition's tasks that are not over, one of each kind: the one in progress, or the next."""
    rows = sorted(
        coming_tasks(session, competition=competition, limit=4 * limit), key=lambda row: row.status != "leased"
    )
    firsts = {row.kind: row for row in reversed(rows)}.values()
    return tuple(
        QueuedTask(row.key, row.kind, row.competition, row.due_at, row.status, row.tries, row.error)
        for row in sorted(firsts, key=lambda row: row.due_at)[:limit]
    )


def dead(session: Session, limit: int = 20) -> tuple[AbandonedTasks, ...]:
    """Return the abandoned tasks by cause, latest first, without those after which one of the kind succeeded."""
    later = aliased(Task)
    succeeded = (
        select(later.key)
        .where(later.status == "done", later.kind == Task.kind, later.competition == Task.competition)
        .where(col(later.ended_at) > col(Task.ended_at))
    )
    query = select(Task).where(Task.status == "dead", ~succeeded.exists())
    groups: dict[str | None, AbandonedTasks] = {}
    for row in session.exec(query.order_by(Task.kind, Task.competition)):
        ended_at = row.ended_at or row.due_at
        name = f"{row.kind} of {row.competition}" if row.competition else row.kind
        group = groups.get(row.error, AbandonedTasks(row.error, 0, (), ended_at))
        names = tuple(dict.fromkeys((*group.names, name)))
        groups[row.error] = AbandonedTasks(row.error, group.tasks + 1, names, max(group.last_at, ended_at))
    return tuple(sorted(groups.values(), key=lambda group: group.last_at, reverse=True)[:limit])


def letters(session: Session) -> dict[str, Letters]:
    """Return the letters not yet taken, by service; notices that are in no letter yet count under the empty name."""
    queues: dict[str, Letters] = {}
    unsent = select(Letter.service, Letter.last_error).where(col(Letter.sent_at).is_(None)).order_by(col(Letter.id))
    for service, error in session.exec(unsent):
        queue = queues.get(service, Letters())
        failing = queue.failing + (error is not None)
        queues[service] = Letters(queue.unsent + 1, failing, error if error is not None else queue.error)
    unread = select(func.count()).select_from(Notification).where(col(Notification.sent_at).is_(None))
    if not queues and (undelivered_count := session.exec(unread).one()):
        queues[""] = Letters(undelivered_count)
    return queues


@dataclass(frozen=True)
class NoteRead:
    """One note of the owner's, and which prompt held it first."""

    id: int
    text: str
    created_at: datetime
    read_at: datetime | None
    """None: no prompt has held it yet."""
    read_by: str | None
    """The role that was asked, such as `planner`."""


def controls(session: Session) -> dict[str, str]:
    """Return the owner's last order for each competition: `running`, `paused` or `stopped`."""
    return {row.competition: row.state for row in session.exec(select(Control))}


def notes_read(session: Session, competition: str, run_id: str | None, limit: int = 10) -> tuple[NoteRead, ...]:
    """Return the latest notes on a competition, oldest first, and whether the run's prompts held them."""
    query = select(Note).where(Note.competition == competition).order_by(col(Note.id).desc()).limit(limit)
    notes = []
    for note in session.exec(query).all()[::-1]:
        first_call = (
            select(ModelCall.at, ModelCall.role)
            .where(ModelCall.run_id == run_id, ModelCall.at >= note.at)
            .where(func.instr(ModelCall.items, f'"{note.item}"') > 0)
            .order_by(col(ModelCall.seq))
            .limit(1)
        )
        read_at, role = session.exec(first_call).first() or (None, None)
        notes.append(NoteRead(note.id or 0, note.text, note.at, read_at, role))
    return tuple(notes)
