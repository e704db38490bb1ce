"""Submissions as they are shown: what was or will be sent, its score and why; and the last decision not to submit."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.engine.run_record import RunRecord
from state.approvals import approval_of
from state.submissions import CONSIDERED
from state.tables import Submission


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


def shown_submissions(session: Session, run: RunRecord) -> list[SubmissionShown]:
    """Return a run's submissions, earliest first."""
    reasons = run.considered
    return [_submission_shown(session, run, row, reasons.get(row.id, "")) for row in run.submissions]


def not_submitted(run: RunRecord) -> NotSubmitted | None:
    """Return the last decision, if it made no submission."""
    row = run.last_event(CONSIDERED)
    if row is None or row.node is None or row.data["submission"] is not None:
        return None
    until = None if row.data["until"] is None else datetime.fromisoformat(row.data["until"])
    return NotSubmitted(row.at, run.row.competition, row.node, row.data["decision"], row.data["reason"], until)


def _submission_shown(session: Session, run: RunRecord, row: Submission, reason: str) -> SubmissionShown:
    node, approval = run.nodes.get(row.node), approval_of(session, run.id, row.id)
    waits = approval is not None and approval.decision is None and row.status == "intended"
    if waits and approval is not None:
        reason = approval.reason
    return SubmissionShown(
        at=row.sent_at or row.at,
        competition=run.row.competition,
        node=row.node,
        how=row.prediction_source,
        validation=None if node is None else node.score,
        public=row.score,
        status="held" if waits else row.status,
        why=row.message or reason,
        tag=row.tag,
        approval=approval.id if waits and approval is not None else None,
    )
