"""Where the notebooks of a run stand, each in a sentence: for `bot status`, the page and the report."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from state.notebooks import NOTEBOOK_REFUSED, NotebookState, notebook_states
from state.submissions import submissions_of
from state.tables import Event, Submission


@dataclass(frozen=True)
class NotebookLine:
    """Where one notebook stands."""

    node: int
    since: datetime
    sentence: str
    settled: bool
    """Whether nothing more will come of it."""


def notebook_lines(session: Session, run_id: str) -> list[NotebookLine]:
    """Return a line for each notebook that failed its check or that a run has begun to push, the latest change last."""
    refusals = select(Event).where(Event.run_id == run_id, Event.type == NOTEBOOK_REFUSED).order_by(col(Event.seq))
    lines = [
        NotebookLine(event.node or 0, event.at, f"not pushed: {event.data['reason']}", settled=True)
        for event in session.exec(refusals)
    ]
    rows = {row.file_sha: row for row in submissions_of(session, run_id)}
    lines += [_line(state, rows.get(sha)) for sha, state in notebook_states(session, run_id).items()]
    return sorted(lines, key=lambda line: line.since)


def _line(state: NotebookState, row: Submission | None) -> NotebookLine:
    settled = state.stage == "failed"
    if row is None or state.stage != "ran" or row.sent_at is None:
        return NotebookLine(state.node, state.at, state.sentence, settled)
    name = f"{state.ref}, version {state.version}"
    if row.score is not None:
        return NotebookLine(state.node, row.sent_at, f"{name} has the public score {row.score:.6g}", settled=True)
    status = "was submitted and is running on the hidden test data" if row.status == "confirmed" else f"is {row.status}"
    return NotebookLine(state.node, row.sent_at, f"{name} {status}", settled=False)
