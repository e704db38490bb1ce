"""Approvals and wishes: what the owner is asked and answers, each change with its event in one transaction."""

from collections.abc import Iterable, Sequence
from typing import Literal

from sqlmodel import Session, col, select

from state.errors import UsageError
from state.store import Transaction
from state.tables import Approval, Submission, Wish

Verdict = Literal["approved", "refused", "moot"]
"""moot: no decision is needed any more, as another file goes instead or the site has this one already."""
WishState = Literal["open", "intended", "refused"]


def ask_approval(tx: Transaction, run_id: str, submission: str, *, reason: str) -> Approval:
    """Hold a submission until its owner decides; a question that was asked already stays as it is.

    One that takes the place of another, undecided one is announced when that one would have been.
    """
    approval = approval_of(tx.session, run_id, submission)
    if approval is not None:
        return approval
    announced = [row.announce_at for row in undecided(tx.session, run_id) if row.announce_at is not None]
    row = Approval(
        run_id=run_id, submission=submission, asked_at=tx.now(), announce_at=max(announced, default=None), why=reason
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
    if row.decision != "moot":
        return f"submission {row.id} was {row.decision} already, by {row.by}"
    submission = session.get(Submission, (row.run_id, row.submission))
    if submission is None or submission.status != "withdrawn":
        return f"submission {row.id} needs no decision: Kaggle has already answered"
    next_one = "".join(
        f"; `bot approve {approval.id}` submits the current file" for approval in undecided(session, row.run_id)[-1:]
    )
    return f"submission {row.id} was withdrawn{f': {submission.message}' if submission.message else ''}{next_one}"


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


def make_wish(tx: Transaction, run_id: str, node: int, requester: str) -> Wish:
    """Ask for a node to be submitted; where a wish for it is open already, return that one unchanged."""
    query = select(Wish).where(Wish.run_id == run_id, Wish.node == node, Wish.state == "open")
    wish = tx.session.exec(query).first()
    if wish is not None:
        return wish
    row = Wish(run_id=run_id, node=node, wished_at=tx.now(), by=requester)
    tx.add(row)
    tx.session.flush()
    tx.record("submission.wished", run_id=run_id, node=node, wish=row.id, by=requester)
    return row


def open_wishes(session: Session, run_id: str) -> Sequence[Wish]:
    """Return a run's wishes that are neither fulfilled nor refused, the earliest first."""
    query = select(Wish).where(Wish.run_id == run_id, Wish.state == "open")
    return session.exec(query.order_by(col(Wish.id))).all()


def wish_for(session: Session, run_id: str, submission: str) -> Wish | None:
    """Return the wish that became a submission, None where the bot chose it by itself."""
    query = select(Wish).where(Wish.run_id == run_id, Wish.submission == submission)
    return session.exec(query).first()


def answer_wish(tx: Transaction, id: int, state: WishState, reason: str, submission: str | None = None) -> Wish:
    """Record a daemon's answer to a wish, or what became of it."""
    row = tx.session.get_one(Wish, id)
    row.seen_at, row.state, row.why, row.submission = tx.now(), state, reason, submission
    tx.add(row)
    tx.record("submission.wish_seen", run_id=row.run_id, node=row.node, wish=id, state=state, reason=reason)
    return row
