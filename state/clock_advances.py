"""Advances of a run's clock: each is a step, stored before anything later may be known, and read back by a resume."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from state.steps import finish_step, start_step
from state.store import Transaction
from state.tables import Step
from state.words import iso

_NAME = "clock"


@dataclass(frozen=True)
class ClockAdvance:
    """One move of the clock."""

    number: int
    """That of the decision before which it was made, from 0, or the next free one where it was made between decisions."""
    as_of: datetime
    """The time up to which posts may be known from then on."""
    node: int
    """Number of the first node that could begin after it."""
    at: datetime
    """The machine's time when it was made."""


def add_clock_advance(tx: Transaction, run_id: str, number: int, as_of: datetime, node: int) -> ClockAdvance:
    """Record how far the clock moves, and the number of the next node.

    Raises:
        ValueError: there is a move of this number already.
    """
    if start_step(tx, run_id, _NAME, attempt=number) is not None:
        raise ValueError(f"the clock's move {number} was made already")
    finish_step(tx, run_id, _NAME, {"as_of": iso(as_of), "node": node}, attempt=number)
    tx.record("clock.moved", run_id=run_id, as_of=iso(as_of), move=number, before=node)
    return ClockAdvance(number, as_of, node, tx.now())


def clock_advances(session: Session, run_id: str) -> list[ClockAdvance]:
    """Return the moves of a run's clock, oldest first."""
    of_run = select(Step).where(Step.run_id == run_id, Step.node == 0, Step.name == _NAME, Step.status == "finished")
    return [
        ClockAdvance(row.attempt, datetime.fromisoformat(row.result["as_of"]), row.result["node"], row.ended_at)
        for row in session.exec(of_run.order_by(col(Step.attempt)))
        if row.result is not None and row.ended_at is not None
    ]
