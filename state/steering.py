"""Steering: the owner's instructions while the bot runs, as rows that the running process reads.

A note addresses the agents of one competition. A control decides whether that competition is worked on: while `paused`
nothing new begins until it is `running` again; `stopped` ends the work on it for good, in an orderly way.
"""

import unicodedata
from datetime import datetime
from typing import Literal, cast

from sqlmodel import Session, col, select

from state.errors import UsageError
from state.store import NO_RUN, Transaction
from state.tables import Control, Note

ControlState = Literal["running", "paused", "stopped"]

LONGEST_NOTE = 4_000
"""Characters; a note goes into prompts."""
_JOINERS = "\u200c\u200d"
"""Invisible, but some scripts need them."""


def add_note(tx: Transaction, competition: str, text: str, author: str = "owner") -> Note:
    """Store a note, without invisible characters. Raises UsageError if it is empty, too long, or has control characters."""
    row = Note(competition=competition, text=_cleaned(text), at=tx.now(), by=author)
    tx.add(row)
    tx.session.flush()
    tx.record("note.added", run_id=NO_RUN, competition=competition, note=row.id, by=author)
    return row


def notes(session: Session, competition: str, as_of: datetime) -> list[Note]:
    """Return the notes on a competition up to a time, the oldest first."""
    query = select(Note).where(Note.competition == competition, Note.at <= as_of).order_by(col(Note.at), col(Note.id))
    return list(session.exec(query))


def control(session: Session, competition: str) -> ControlState:
    """Return the state of the work on a competition."""
    row = session.get(Control, competition)
    return "running" if row is None else cast(ControlState, row.state)


def set_control(tx: Transaction, competition: str, state: ControlState, author: str = "owner") -> bool:
    """Set whether a competition is to be worked on; return whether that is a change."""
    before = control(tx.session, competition)
    if before == state:
        return False
    tx.session.merge(Control(competition=competition, state=state, at=tx.now(), by=author))
    tx.record("control.changed", run_id=NO_RUN, competition=competition, state=state, before=before, by=author)
    return True


def _cleaned(text: str) -> str:
    """Return the text as it is stored; errors as of `add_note`."""
    text = text.replace("\r\n", "\n")
    cleaned = "".join(char for char in text if unicodedata.category(char) != "Cf" or char in _JOINERS).strip()
    controls = (char for char in cleaned if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs"))
    if (control := next(controls, None)) is not None:
        raise UsageError(f"the note contains the control character U+{ord(control):04X}: remove it")
    if not cleaned.strip(_JOINERS):
        raise UsageError("the note is empty: pass a text, or - to read it from stdin")
    if len(cleaned) > LONGEST_NOTE:
        raise UsageError(f"the note has {len(cleaned)} characters; the limit is {LONGEST_NOTE}: shorten it")
    return cleaned
