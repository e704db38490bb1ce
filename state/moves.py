"""Moves of a run's clock: each is a step that is written before anything later may be known, and read back by a resume."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from state.steps import finish_step, start_step
from state.store import Transaction
from state.tables import Step
from state.words import iso

_NAME = "clock"


@dataclass(frozen=True)
class Move:
    """One move of the clock."""

    decision: int
    """Number of the decision before which it was made, from 0."""
    as_of: datetime
    """The time up to which posts may be known from then on."""
    node: int
    """Number of the first node that could be begun after it."""
    at: datetime
    """When it was made, by the machine."""


def add_move(tx: Transaction, run_id: str, decision: int, as_of: datetime, node: int) -> Move:
    """Write down how far the clock moves before a decision, before the node of this number.

    Raises:
        ValueError: it was moved before this decision already.
    """
    if start_step(tx, run_id, _NAME, attempt=decision) is not None:
        raise ValueError(f"the clock was moved before decision {decision} already")
    finish_step(tx, run_id, _NAME, {"as_of": iso(as_of), "node": node}, attempt=decision)
    tx.record("clock.moved", run_id=run_id, as_of=iso(as_of), decision=decision, before=node)
    return Move(decision, as_of, node, tx.now())


def moves(session: Session, run_id: str) -> list[Move]:
    """Return a run's moves, oldest first."""
    of_run = select(Step).where(Step.run_id == run_id, Step.node == 0, Step.name == _NAME, Step.status == "finished")
    return [
        Move(row.attempt, datetime.fromisoformat(row.result["as_of"]), row.result["node"], row.ended_at)
        for row in session.exec(of_run.order_by(col(Step.attempt)))
        if row.result is not None and row.ended_at is not None
    ]
