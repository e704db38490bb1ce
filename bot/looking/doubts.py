"""Doubts: what the guards found in a run that has not passed."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.evaluation.guarding import FOUND
from state.tables import Event

__all__ = ["Doubt", "doubts"]


@dataclass(frozen=True)
class Doubt:
    """What guards have against one node's validation run, or against the data."""

    at: datetime
    node: int | None
    """None: the data."""
    sentence: str


def doubts(session: Session, run_id: str, most: int = 3) -> tuple[Doubt, ...]:
    """Return the latest doubts of a run, the latest first."""
    query = select(Event).where(Event.run_id == run_id, Event.type == FOUND).order_by(col(Event.seq).desc()).limit(most)
    return tuple(Doubt(row.at, row.node, str(row.data["sentence"])) for row in session.exec(query))
