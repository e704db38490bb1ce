"""Submissions: the way of each from intent to confirmation, every change with its event in one transaction."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Integer, cast, func
from sqlmodel import Session, col, select

from state.errors import UsageError
from state.latest_events import latest
from state.store import Transaction
from state.tables import Submission

SubmissionStatus = Literal["intended", "sending", "doubtful", "confirmed", "refused", "withdrawn"]
"""intended: nothing was sent; sending: a process sends it, or was killed while doing so; doubtful: it may have been
sent; confirmed: the site has it; refused: the site will not take it; withdrawn: the site does not have it, and it will
not be sent."""

CONSIDERED = "submission.considered"
"""Event: the decision about a node's file, and the reason; it names the submission, if there is one."""

FINAL_CHOSEN = "selection.chosen"
"""Event: which submissions the owner wants to count in the end, by their tags; the latest one holds."""
MOST_FINAL = 2

OPEN = ("intended", "sending", "doubtful")
"""Statuses that are not final."""

_NEXT: Mapping[str, tuple[SubmissionStatus, ...]] = {
    "intended": ("sending", "confirmed", "withdrawn"),
    "sending": ("confirmed", "refused", "doubtful", "intended"),
    "doubtful": ("sending", "confirmed", "withdrawn"),
    # The site took it, and found it invalid at scoring.
    "confirmed": ("refused",),
}
_TAG_CHARACTERS = 8


def intend_submission(tx: Transaction, run_id: str, *, node: int, prediction_source: str, file_sha: str) -> Submission:
    """Record that a file (its sha256 in hex) is to be submitted, under the run's next number and a tag of its own.

    The tag identifies the file: should a database be restored from a backup, so that a number is given twice, the
    site's entry of the first is not taken for the second.
    """
    last = tx.session.exec(select(func.max(cast(col(Submission.id), Integer))).where(Submission.run_id == run_id)).one()
    id = str((last or 0) + 1)
    tag = f"{run_id}-{id}-{file_sha[:_TAG_CHARACTERS]}"
    facts: dict[str, Any] = {"tag": tag, "status": "intended", "prediction_source": prediction_source}
    facts |= {"score": None, "file_sha": file_sha}
    row = Submission(run_id=run_id, id=id, node=node, at=tx.now(), **facts)
    tx.add(row)
    tx.record("submission.added", run_id=run_id, node=node, submission=id, **facts)
    return row


def advance_submission(
    tx: Transaction,
    run_id: str,
    id: str,
    status: SubmissionStatus,
    *,
    ref: str | None = None,
    message: str | None = None,
) -> Submission:
    """Give a submission its next status; of several processes that want to send it, only one gets it to `sending`.

    Without `ref` the known one is kept; `message` is the reason, and None removes an earlier one. Raises ValueError if the
    status cannot follow the present one.
    """
    row = tx.session.get_one(Submission, (run_id, id))
    if status not in _NEXT.get(row.status, ()):
        raise ValueError(f"submission {row.tag} is {row.status}, so it cannot become {status}")
    row.status, row.ref, row.message = status, ref or row.ref, message
    if status == "sending" or (status == "confirmed" and row.sent_at is None):
        row.sent_at = tx.now()
    tx.add(row)
    fields = {"submission": id, "status": status, "ref": row.ref, "message": message}
    tx.record(f"submission.{status}", run_id=run_id, node=row.node, **fields)
    return row


def update_submission(tx: Transaction, run_id: str, id: str, *, score: float) -> Submission:
    """Set a submission's public score, once the site shows it."""
    check_score(score)
    row = tx.session.get_one(Submission, (run_id, id))
    row.score = score
    tx.add(row)
    tx.record("submission.updated", run_id=run_id, node=row.node, submission=id, status=row.status, score=score)
    return row


def choose_final(tx: Transaction, run_id: str, tags: Sequence[str], chooser: str) -> None:
    """Record which of a run's submissions are to count in the end; none: the bot proposes. Raises UsageError for others."""
    confirmed_tags = [row.tag for row in submissions_of(tx.session, run_id) if row.status == "confirmed"]
    if unknown := next((tag for tag in tags if tag not in confirmed_tags), None):
        raise UsageError(f"this run has no submission {unknown} that Kaggle accepted")
    if len(set(tags)) > MOST_FINAL:
        raise UsageError(f"at most {MOST_FINAL} submissions count, but you selected {len(set(tags))}")
    tx.record(FINAL_CHOSEN, run_id=run_id, tags=list(dict.fromkeys(tags)), by=chooser)


def chosen_final(session: Session, run_id: str) -> tuple[str, ...]:
    """Return the tags of the submissions that the owner wants to count in the end."""
    row = latest(session, run_id, (FINAL_CHOSEN,))
    return () if row is None else tuple(row.data["tags"])


def may_be_there(row: Submission) -> bool:
    """Return whether the site may have it, so that it counts as sent, even if the site found it invalid."""
    return row.status in ("sending", "doubtful", "confirmed") or (row.status == "refused" and row.ref is not None)


def submissions_of(session: Session, run_id: str) -> list[Submission]:
    """Return a run's submissions in the order of their numbers."""
    order = cast(col(Submission.id), Integer)
    return list(session.exec(select(Submission).where(Submission.run_id == run_id).order_by(order)).all())


def check_score(score: float | None) -> None:
    """Raise ValueError for a number that is no score: NaN or infinite."""
    if score is not None and not math.isfinite(score):
        raise ValueError(f"{score} is not a score: a score must be finite or None")
