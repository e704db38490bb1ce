"""Steering: what the owner has said, and whether an agent has read it; what waits for the owner's word."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from bot.looking.other_tables import APPROVALS, CONTROLS, NOTES, rows
from state.store import as_stored
from state.tables import ModelCall

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
    found = rows(session, CONTROLS, CONTROLS.select())
    return {row["competition"]: row["state"] for row in found}


def held(session: Session, run_id: str) -> tuple[int, ...]:
    """Return the numbers under which a run's submissions wait for the owner's word."""
    open_ones = (APPROVALS.c.run_id == run_id) & APPROVALS.c.decision.is_(None)
    return tuple(row["id"] for row in rows(session, APPROVALS, APPROVALS.select().where(open_ones)))


def notes_read(session: Session, competition: str, run_id: str | None, most: int = 10) -> tuple[NoteRead, ...]:
    """Return the latest notes on a competition, the oldest first, and whether the run's prompts held them."""
    query = NOTES.select().where(NOTES.c.competition == competition).order_by(NOTES.c.id.desc()).limit(most)
    kept = list(reversed(rows(session, NOTES, query)))
    if not kept or run_id is None:
        return tuple(NoteRead(row["id"], row["text"], row["at"], None, None) for row in kept)
    # Where no prompt at all held a note, that is found out once.
    any_note = _first_call(session, run_id, '"note/', _number_since(session, run_id, kept[0]["at"]))
    found = []
    for row in kept:
        since = max(any_note[0], _number_since(session, run_id, row["at"])) if any_note else None
        call = None if since is None else _first_call(session, run_id, f'"note/{row["id"]}"', since)
        found.append(NoteRead(row["id"], row["text"], row["at"], call and call[1], call and call[2]))
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
