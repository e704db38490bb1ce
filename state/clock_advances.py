"""Advances of a run's clock: each is a step, stored before anything later may be known, and read back by a resume."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from state.steps import Key, StepKind, finish_step, read_steps, start_step
from state.store import Transaction
from state.words import iso


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


_ADVANCED = StepKind("clock", ClockAdvance)


def add_clock_advance(tx: Transaction, run_id: str, number: int, as_of: datetime, node: int) -> ClockAdvance:
    """Record how far the clock moves, and the number of the next node.

    Raises ValueError: there is a move of this number already.
    """
    advance, key = ClockAdvance(number, as_of, node, tx.now()), Key(attempt=number)
    if start_step(tx, run_id, _ADVANCED, key) is not None:
        raise ValueError(f"clock advance {number} already exists")
    finish_step(tx, run_id, _ADVANCED, advance, key)
    tx.record("clock.moved", run_id=run_id, as_of=iso(as_of), move=number, before=node)
    return advance


def clock_advances(session: Session, run_id: str) -> list[ClockAdvance]:
    """Return the moves of a run's clock, oldest first."""
    return list(read_steps(session, run_id, _ADVANCED).values())
