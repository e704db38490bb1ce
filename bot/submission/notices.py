"""Telling the owner of submissions: what is written beside each of their moves, in the same transaction."""

from bot.notify.events import SubmissionFailed, SubmissionRefused, SubmissionScored
from bot.notify.outbox import notify
from bot.submission.exactly_once import Also
from state.approvals import approval_of, decide_approval, wish_for
from state.store import Transaction
from state.tables import Node, Submission

__all__ = ["OVERTAKEN", "UNWANTED", "telling"]

OVERTAKEN = "another node's file is better"
UNWANTED = "its owner refused it"
_EXPECTED = (OVERTAKEN, UNWANTED)
"""Reasons of a withdrawal that are no news to the owner; nor is any of what he has not heard of."""


def telling(competition: str) -> Also:
    """Return what writes down whom to tell of a move, and that nobody need decide about a submission any more."""

    def tell(tx: Transaction, row: Submission) -> None:
        held = approval_of(tx.session, row.run_id, row.id)
        over = row.status in ("confirmed", "refused", "withdrawn")
        if over and held is not None and held.id is not None and held.decision is None:
            decide_approval(tx, held.id, "moot", "bot")
        if row.status == "refused":
            words = row.message or "none"
            notify(tx, SubmissionRefused(competition, row.tag, row.node, words).notice(row.run_id))
        if row.status == "confirmed" and row.score is not None:
            node = tx.session.get(Node, (row.run_id, row.node))
            validation = None if node is None else node.score
            notify(tx, SubmissionScored(competition, row.tag, row.node, row.score, validation).notice(row.run_id))
        known = held is not None or row.sent_at is not None or wish_for(tx.session, row.run_id, row.id) is not None
        if row.status == "withdrawn" and known and row.message not in _EXPECTED:
            notify(tx, SubmissionFailed(competition, row.tag, row.node, row.message or "").notice(row.run_id))

    return tell
