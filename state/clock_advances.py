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

    decision: int
    """Number of the decision before which it was made, from 0."""
    as_of: datetime
    """The time up to which posts may be known from then on."""
    node: int
    """Number of the first node that could begin after it."""
    at: datetime
    """The machine's time when it was made."""


def add_clock_advance(tx: Transaction, run_id: str, decision: int, as_of: datetime, node: int) -> ClockAdvance:
    """Record how far the clock moves before a decision and before the node of this number.

    Raises:
        ValueError: it was moved before this decision already.
    """
    if start_step(tx, run_id, _NAME, attempt=decision) is not None:
        raise ValueError(f"the clock was moved before decision {decision} already")
    finish_step(tx, run_id, _NAME, {"as_of": iso(as_of), "node": node}, attempt=decision)
    tx.record("clock.moved", run_id=run_id, as_of=iso(as_of), decision=decision, before=node)
    return ClockAdvance(decision, as_of, node, tx.now())


def clock_advances(session: Session, run_id: str) -> list[ClockAdvance]:
    """Return the moves of a run's clock, oldest first."""
    of_run = select(Step).where(Step.run_id == run_id, Step.node == 0, Step.name == _NAME, Step.status == "finished")
    return [
        ClockAdvance(row.attempt, datetime.fromisoformat(row.result["as_of"]), row.result["node"], row.ended_at)
        for row in session.exec(of_run.order_by(col(Step.attempt)))
        if row.result is not None and row.ended_at is not None
    ]
