"""Labs of a run: each function writes a row and the event that reports it, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import col, select

from state.store import Store, Transaction
from state.tables import Lab


def open_lab(
    tx: Transaction, run_id: str, lab: int, *, draft_id: str | None, parents: Sequence[int], title: str
) -> Lab:
    """Open a lab; one that is there already is given back as it is."""
    if (lab_row := tx.session.get(Lab, (run_id, lab))) is not None:
        return lab_row
    row = Lab(run_id=run_id, id=lab, draft_id=draft_id, parents=list(parents), title=title, started_at=tx.now())
    tx.add(row)
    tx.record("lab.opened", run_id=run_id, lab=lab, draft=draft_id, parents=row.parents, title=title)
    return row


def close_lab(tx: Transaction, run_id: str, lab: int, reason: str, report: Mapping[str, Any] | None = None) -> None:
    """Close a lab for a reason, in one sentence; one that is closed, or never opened, stays as it is."""
    row = tx.session.get(Lab, (run_id, lab))
    if row is None or row.ended_at is not None:
        return
    row.ended_at, row.reason, row.report = tx.now(), reason, dict(report or row.report)
    tx.add(row)
    tx.record("lab.closed", run_id=run_id, lab=lab, reason=reason, turns=row.turns)


def end_turn(tx: Transaction, run_id: str, lab: int, turn: int, **facts: Any) -> None:
    """Count a turn that has ended; `facts` (command, exit status, seconds) go with its event."""
    row = tx.session.get_one(Lab, (run_id, lab))
    row.turns = max(row.turns, turn)
    tx.add(row)
    tx.record("lab.turn", run_id=run_id, lab=lab, turn=turn, **facts)


def add_note(tx: Transaction, run_id: str, lab: int, text: str) -> None:
    """Keep a line that other labs are shown, once: a coder whose command was interrupted may send it again."""
    row = tx.session.get_one(Lab, (run_id, lab))
    if text in row.notes:
        return
    row.notes = [*row.notes, text]
    tx.add(row)
    tx.record("lab.note", run_id=run_id, lab=lab, text=text)


def keep_report(tx: Transaction, run_id: str, lab: int, report: Mapping[str, Any]) -> None:
    """Keep what the coder reported of its lab."""
    row = tx.session.get_one(Lab, (run_id, lab))
    row.report = dict(report)
    tx.add(row)
    tx.record("lab.report", run_id=run_id, lab=lab, report=row.report)


def labs(store: Store, run_id: str) -> list[Lab]:
    """Return a run's labs, in the order of their numbers."""
    with store.read() as session:
        return list(session.exec(select(Lab).where(Lab.run_id == run_id).order_by(col(Lab.id))).all())


def lab(store: Store, run_id: str, number: int) -> Lab | None:
    """Return one lab, or None where it was never opened."""
    with store.read() as session:
        return session.get(Lab, (run_id, number))
