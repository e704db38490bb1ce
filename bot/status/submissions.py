"""Submissions as they are shown: what was or will be sent, its score and why; and the last decision not to submit."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, func, select

from state.approvals import approval_of
from state.submissions import CONSIDERED, submissions_of
from state.tables import Event, Node, Run, Submission
from state.words import moment


@dataclass(frozen=True)
class SubmissionShown:
    """One submission."""

    at: datetime
    """When it was sent; if it was not, when it was intended."""
    competition: str
    node: int
    how: str
    validation: float | None
    public: float | None
    status: str
    """As in `state.submissions`, or `held` while it waits for the owner."""
    why: str
    tag: str
    approval: int | None
    """The number to approve it by, while it waits."""


@dataclass(frozen=True)
class NotSubmitted:
    """The last decision on a node that was not submitted."""

    at: datetime
    competition: str
    node: int
    decision: str
    why: str
    until: datetime | None


def shown_submissions(session: Session, run: Run) -> list[SubmissionShown]:
    """Return a run's submissions, earliest first."""
    reasons = _reasons(session, run.id)
    return [_shown(session, run, row, reasons.get(row.id, "")) for row in submissions_of(session, run.id)]


def not_submitted(session: Session, run: Run) -> NotSubmitted | None:
    """Return the last decision, if it made no submission."""
    query = select(Event).where(Event.run_id == run.id, Event.type == CONSIDERED)
    row = session.exec(query.order_by(col(Event.seq).desc()).limit(1)).first()
    if row is None or row.node is None or row.data["submission"] is not None:
        return None
    until = row.data["until"]
    return NotSubmitted(
        row.at,
        run.competition,
        row.node,
        row.data["decision"],
        row.data["why"],
        None if until is None else datetime.fromisoformat(until),
    )


def _reasons(session: Session, run_id: str) -> Mapping[str, str]:
    """Return why each submission was made, by its number."""
    of = func.json_extract(col(Event.data), "$.submission")
    rows = session.exec(
        select(Event).where(Event.run_id == run_id, Event.type == CONSIDERED, of.is_not(None)).order_by(col(Event.seq))
    )
    reasons: dict[str, str] = {}
    for row in rows:
        data: dict[str, Any] = row.data
        reasons.setdefault(data["submission"], data["why"])
    return reasons


def _shown(session: Session, run: Run, row: Submission, why: str) -> SubmissionShown:
    node = session.get(Node, (run.id, row.node))
    held = approval_of(session, run.id, row.id)
    waits = held is not None and held.decision is None and row.status == "intended"
    if waits and held is not None:
        why = f"waits for `bot approve {held.id}` until {moment(held.expires_at)}: {held.why}"
    return SubmissionShown(
        at=row.sent_at or row.at,
        competition=run.competition,
        node=row.node,
        how=row.handed_in,
        validation=None if node is None else node.score,
        public=row.score,
        status="held" if waits else row.status,
        why=row.message or why,
        tag=row.tag,
        approval=held.id if waits and held is not None else None,
    )
