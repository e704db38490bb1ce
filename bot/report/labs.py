"""The labs of a run as its report tells them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from bot.logs.lab_turns import TurnText, lab_turns
from bot.report.words import shortened
from state.tables import Lab

_LONGEST = 6_000
"""Characters of one observation that a page shows."""
_NEWS = "[news] "
"""What a line of news begins with, under what a coder sees of a command."""


@dataclass(frozen=True)
class LabStory:
    """One lab."""

    id: int
    title: str
    draft_id: str | None
    parents: tuple[int, ...]
    seconds: float | None
    reason: str | None
    report: tuple[tuple[str, str], ...]
    """What its coder reported, by heading."""
    hints: tuple[dict[str, Any], ...]
    """Each logged experiment, see `Lab.hints`."""
    notes: tuple[str, ...]
    news: tuple[str, ...]
    """What became known while it was open, as its coder saw it."""
    turns: tuple[TurnText, ...]


def lab_stories(session: Session, run_id: str) -> tuple[LabStory, ...]:
    """Return a run's labs, in the order of their numbers."""
    rows = session.exec(select(Lab).where(Lab.run_id == run_id).order_by(col(Lab.id))).all()
    return tuple(_story(session, row) for row in rows)


def _story(session: Session, row: Lab) -> LabStory:
    whole = list(lab_turns(session, row.run_id, row.id))
    turns = (TurnText(one.turn, one.at, shortened(one.reply, _LONGEST), shortened(one.seen, _LONGEST)) for one in whole)
    news = (line for one in whole for line in one.seen.splitlines() if line.startswith(_NEWS))
    return LabStory(
        id=row.id,
        title=row.title,
        draft_id=row.draft_id,
        parents=tuple(row.parents),
        seconds=_seconds(row.started_at, row.ended_at),
        reason=row.reason,
        report=tuple((key, str(value)) for key, value in row.report.items() if value),
        hints=tuple(row.hints),
        notes=tuple(row.notes),
        news=tuple(line.removeprefix(_NEWS) for line in news),
        turns=tuple(turns),
    )


def _seconds(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else max(0.0, (end - start).total_seconds())
