"""Submissions as they are shown: what was or will be sent, its score and why; and the last decision not to submit."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.engine.run_record import RunRecord
from state.approvals import approval_of
from state.submissions import CONSIDERED


@dataclass(frozen=True)
class SubmissionShown:
    """One submission."""

    time: datetime
    """When it was sent; if it was not, when it was intended."""
    competition: str
    node: int
    source: str
    validation: float | None
    public: float | None
    status: str
    """As in `state.submissions`, or `held` while it waits for the owner."""
    reason: str
    tag: str
    approval: int | None
    """The number to approve it by, while it waits."""


@dataclass(frozen=True)
class NotSubmitted:
    """The last decision on a node that was not submitted."""

    time: datetime
    competition: str
    node: int
    decision: str
    reason: str
    until: datetime | None


def shown_submissions(session: Session, run: RunRecord) -> Iterator[SubmissionShown]:
    """Yield a run's submissions, earliest first."""
    for row in run.submissions:
        node, approval = run.nodes.get(row.node), approval_of(session, run.id, row.id)
        if approval is not None and (approval.decision is not None or row.status != "intended"):
            approval = None
        yield SubmissionShown(
            time=row.sent_at or row.at,
            competition=run.row.competition,
            node=row.node,
            source=row.prediction_source,
            validation=None if node is None else node.score,
            public=row.score,
            status=row.status if approval is None else "held",
            reason=row.message or (run.considered.get(row.id, "") if approval is None else approval.reason),
            tag=row.tag,
            approval=None if approval is None else approval.id,
        )


def not_submitted(run: RunRecord) -> NotSubmitted | None:
    """Return the last decision, if it made no submission."""
    row = run.last_event(CONSIDERED)
    if row is None or row.node is None or row.data["submission"] is not None:
        return None
    until = None if row.data["until"] is None else datetime.fromisoformat(row.data["until"])
    return NotSubmitted(row.at, run.row.competition, row.node, row.data["decision"], row.data["reason"], until)
