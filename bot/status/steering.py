"""Steering: the owner's orders and notes, whether an agent has read them, and what waits for the owner's approval."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from state.tables import Approval, Control, ModelCall, Note


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


def notes_read(session: Session, competition: str, run_id: str | None, most: int = 10) -> tuple[NoteRead, ...]:
    """Return the latest notes on a competition, oldest first, and whether the run's prompts held them."""
    query = select(Note).where(Note.competition == competition).order_by(col(Note.id).desc()).limit(most)
    kept = session.exec(query).all()[::-1]
    found = []
    for note in kept:
        call = None if run_id is None else _first_call(session, run_id, note)
        found.append(NoteRead(note.id or 0, note.text, note.at, call and call[0], call and call[1]))
    return tuple(found)


def _first_call(session: Session, run_id: str, note: Note) -> tuple[datetime, str] | None:
    """Return the time and role of the first call whose prompt held a note."""
    query = select(ModelCall.at, ModelCall.role).where(
        ModelCall.run_id == run_id, ModelCall.at >= note.at, func.instr(ModelCall.items, f'"{note.item}"') > 0
    )
    return session.exec(query.order_by(col(ModelCall.seq)).limit(1)).first()
