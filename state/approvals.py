"""Approvals and submission requests: what the owner is asked and asks for, each change with its event in one transaction."""

from collections.abc import Iterable, Sequence
from typing import Literal

from sqlmodel import Session, col, select

from state.errors import UsageError
from state.store import Transaction
from state.tables import Approval, Submission, SubmissionRequest

Verdict = Literal["approved", "refused", "withdrawn"]
"""withdrawn: no decision is needed any more, as another file goes instead or the site has this one already."""
RequestState = Literal["open", "intended", "refused"]


def ask_approval(tx: Transaction, run_id: str, submission: str, *, reason: str) -> Approval:
    """Hold a submission until its owner decides; a question that was asked already stays as it is.

    One that takes the place of another, undecided one is announced when that one would have been.
    """
    approval = approval_of(tx.session, run_id, submission)
    if approval is not None:
        return approval
    announced = [row.announce_at for row in undecided(tx.session, run_id) if row.announce_at is not None]
    row = Approval(
        run_id=run_id, submission=submission, asked_at=tx.now(), announce_at=max(announced, default=None), reason=reason
    )
    tx.add(row)
    tx.session.flush()
    tx.record("approval.asked", run_id=run_id, submission=submission, approval=row.id, reason=reason)
    return row


def decide_approval(tx: Transaction, id: int, verdict: Verdict, decider: str) -> Approval:
    """Record a decision. Raises UsageError if another one was made before."""
    row = tx.session.get_one(Approval, id)
    if row.decision is not None:
        if row.decision != verdict:
            raise UsageError(_decided(tx.session, row))
        return row
    row.decision, row.decided_at, row.by = verdict, tx.now(), decider
    tx.add(row)
    tx.record(
        "approval.decided", run_id=row.run_id, submission=row.submission, approval=id, decision=verdict, by=decider
    )
    return row


def _decided(session: Session, row: Approval) -> str:
    """Return what was decided on a question, or what made it needless, as a sentence."""
    if row.decision != "withdrawn":
        return f"submission {row.id} was already {row.decision} by {row.by}"
    submission = session.get(Submission, (row.run_id, row.submission))
    if submission is None or submission.status != "withdrawn":
        return f"submission {row.id} needs no decision: Kaggle has already answered"
    reason = f": {submission.message}" if submission.message else ""
    advice = [f"; `bot approve {approval.id}` submits the current file" for approval in undecided(session, row.run_id)]
    return f"submission {row.id} was withdrawn{reason}{''.join(advice[-1:])}"


def approval_of(session: Session, run_id: str, submission: str) -> Approval | None:
    """Return the question about a submission, None where none was asked."""
    query = select(Approval).where(Approval.run_id == run_id, Approval.submission == submission)
    return session.exec(query).first()


def undecided(session: Session, run_id: str | None = None) -> Sequence[Approval]:
    """Return the questions without a decision, of one run or of all, the earliest first."""
    query = select(Approval).where(col(Approval.decision).is_(None))
    query = query if run_id is None else query.where(Approval.run_id == run_id)
    return session.exec(query.order_by(col(Approval.id))).all()


def refused_submissions(session: Session, rows: Iterable[Submission]) -> list[Submission]:
    """Return the submissions that their owner refused."""
    query = select(Approval.run_id, Approval.submission).where(Approval.decision == "refused")
    pairs = set(session.exec(query))
    return [row for row in rows if (row.run_id, row.id) in pairs]


def find_approval(session: Session, name: str) -> Approval | None:
    """Return the question with a number, or that about the submission with a tag."""
    if name.isascii() and name.isdigit():
        return session.get(Approval, int(name))
    submission = session.exec(select(Submission).where(Submission.tag == name)).first()
    return None if submission is None else approval_of(session, submission.run_id, submission.id)


def request_submission(tx: Transaction, run_id: str, node: int, requester: str) -> SubmissionRequest:
    """Ask for a node to be submitted; an open request for it is returned unchanged."""
    for request in open_requests(tx.session, run_id):
        if request.node == node:
            return request
    row = SubmissionRequest(run_id=run_id, node=node, requested_at=tx.now(), by=requester)
    tx.add(row)
    tx.session.flush()
    tx.record("submission.requested", run_id=run_id, node=node, request=row.id, by=requester)
    return row


def open_requests(session: Session, run_id: str) -> Sequence[SubmissionRequest]:
    """Return a run's requests that are neither fulfilled nor refused, the earliest first."""
    query = select(SubmissionRequest).where(SubmissionRequest.run_id == run_id, SubmissionRequest.state == "open")
    return session.exec(query.order_by(col(SubmissionRequest.id))).all()


def request_of(session: Session, run_id: str, submission: str) -> SubmissionRequest | None:
    """Return the request that became a submission, None where the bot chose it by itself."""
    is_its = (SubmissionRequest.run_id == run_id, SubmissionRequest.submission == submission)
    return session.exec(select(SubmissionRequest).where(*is_its)).first()


def answer_request(tx: Transaction, id: int, state: RequestState, reason: str, submission: str | None = None) -> None:
    """Record a daemon's answer to a request, or what became of it."""
    row = tx.session.get_one(SubmissionRequest, id)
    row.seen_at, row.state, row.reason, row.submission = tx.now(), state, reason, submission
    tx.add(row)
    tx.record("submission.request_answered", run_id=row.run_id, node=row.node, request=id, state=state, reason=reason)
