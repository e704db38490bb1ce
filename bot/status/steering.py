"""Steering: what the owner has said, and whether an agent has read it; what waits for the owner's word."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from state.store import as_stored
from state.tables import Approval, Control, ModelCall, Note

__all__ = ["NoteRead", "controls", "held", "notes_read"]

# Plain statements, as they are many and small.
_LAST = "SELECT max(seq) FROM modelcall WHERE run_id = ?"
_TIME_OF = "SELECT at FROM modelcall WHERE run_id = ? AND seq = ?"


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
    """Return what the owner said of competitions last: `running`, `paused` or `stopped`."""
    return {row.competition: row.state for row in session.exec(select(Control))}


def held(session: Session, run_id: str) -> tuple[int, ...]:
    """Return the numbers under which a run's submissions wait for the owner's word."""
    query = select(Approval.id).where(Approval.run_id == run_id, col(Approval.decision).is_(None))
    return tuple(id for id in session.exec(query.order_by(col(Approval.id))) if id is not None)


def notes_read(session: Session, competition: str, run_id: str | None, most: int = 10) -> tuple[NoteRead, ...]:
    """Return the latest notes on a competition, the oldest first, and whether the run's prompts held them."""
    query = select(Note).where(Note.competition == competition).order_by(col(Note.id).desc()).limit(most)
    kept = session.exec(query).all()[::-1]
    # Where no prompt at all held a note, that is found out once.
    any_note = None
    if kept and run_id is not None:
        any_note = _first_call(session, run_id, '"note/', _number_since(session, run_id, kept[0].at))
    found = []
    for note in kept:
        call = None
        if run_id is not None and any_note is not None:
            since = max(any_note[0], _number_since(session, run_id, note.at))
            call = _first_call(session, run_id, f'"{note.item}"', since)
        found.append(NoteRead(note.id or 0, note.text, note.at, call and call[1], call and call[2]))
    return tuple(found)


def _first_call(session: Session, run_id: str, item: str, since: int) -> tuple[int, datetime, str] | None:
    """Return the number, time and role of the first call, from a number on, whose prompt held an item."""
    query = select(ModelCall.seq, ModelCall.at, ModelCall.role).where(
        ModelCall.run_id == run_id, ModelCall.seq >= since, func.instr(ModelCall.items, item) > 0
    )
    return session.exec(query.order_by(col(ModelCall.seq)).limit(1)).first()


def _number_since(session: Session, run_id: str, since: datetime) -> int:
    """Return a number that no call after a time is below, found by halving: what their prompts held is long to read through."""
    connection, wanted = session.connection(), as_stored(since)
    low, high = 1, (connection.exec_driver_sql(_LAST, (run_id,)).scalar() or 0) + 1
    while low < high:
        middle = (low + high) // 2
        at = connection.exec_driver_sql(_TIME_OF, (run_id, middle)).scalar()
        if at is not None and at < wanted:
            low = middle + 1
        else:
            high = middle
    return low
