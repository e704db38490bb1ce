"""Doubts: what the guards found in a run that did not pass, and scores that nobody has checked."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.execution.guarding import FOUND
from state.tables import Event

_SELF_REPORTED = (
    "no labels could be withheld, so that its scores are self-reported: scripts print them, and nobody checks them"
)


@dataclass(frozen=True)
class Doubt:
    """What guards have against one node's validation run, or against the data."""

    at: datetime
    node: int | None
    """None: the data."""
    sentence: str


def doubts(session: Session, run_id: str, most: int = 3) -> tuple[Doubt, ...]:
    """Return a run's latest doubts, latest first; if its scores are self-reported, that comes before them."""
    found = tuple(Doubt(row.at, row.node, str(row.data["sentence"])) for row in _latest(session, run_id, FOUND, most))
    ended = _latest(session, run_id, "node.ended", 1)
    unchecked = (Doubt(row.at, None, _SELF_REPORTED) for row in ended if row.data.get("self_reported"))
    return (*unchecked, *found)


def _latest(session: Session, run_id: str, kind: str, most: int) -> list[Event]:
    query = select(Event).where(Event.run_id == run_id, Event.type == kind).order_by(col(Event.seq).desc()).limit(most)
    return list(session.exec(query))
