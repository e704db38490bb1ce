"""The record of an execution, one run of a script on a view, and its score."""

from pathlib import Path

from pydantic import TypeAdapter
from sqlmodel import Session

from bot.evaluation.answers import NodeScore
from bot.evaluation.answers.experiments import ScoredExperiment
from bot.execution.folder import RunFolder
from sandbox import ExecutionOutcome, ExitReason, Limits
from state.closed_model import ClosedModel
from state.steps import Key, StepKind, read_step, read_steps
from state.tables import ExperimentRow

GUARDED = "holdout"
"""The view whose score guides the search, and which guards check."""
DEBUG = "sample"
"""The view of a debug run."""
REPRODUCED = "swap"
"""The view on which a public kernel is scored by its submission alone, as withheld rows stand in for the test rows."""
REHEARSAL, REHEARSAL_FEW = "rehearsal", "rehearsal-few"
"""The views of a notebook check, where withheld rows stand in for the test rows; the second has few of them."""
PREDICTIONS = "validation_predictions.csv"

IDLE_STARTED, IDLE_ENDED = "idle.started", "idle.ended"
"""Events of the engine's own work in idle time, each with its `name`."""

SCORED_EXPERIMENT = TypeAdapter(ScoredExperiment)
"""Reads and writes `ExperimentRow.result`."""
_LAST_LINE = 300
"""Characters of a failed script's last line, which mostly names its error."""
_SENTENCES = {
    ExitReason.TIMED_OUT: "the script was killed at its time limit of {seconds:.0f} s",
    ExitReason.OUT_OF_MEMORY: "the script ran out of memory ({memory:.1f} GiB allowed)",
    ExitReason.GPU_OUT_OF_MEMORY: "the script ran out of GPU memory: {detail}",
    ExitReason.PROCESS_LIMIT: "the script started more than {processes} processes",
    ExitReason.DISK_LIMIT: "the script exceeded its disk limit ({written:.1f} GB or {files} files)",
    ExitReason.KILLED_BY_RULE: "the script was killed early: {detail}",
    ExitReason.STOPPED: "the run was stopped",
}


class ExecutionRecord(ClosedModel):
    """One run of a node's script on one view, as its step stores it."""

    id: str
    view: str
    reason: ExitReason
    seconds: float
    output: str = ""
    """Cleaned and capped, for a coder."""
    fine: bool
    """Whether both its files are valid at its end or time limit, with or without a score."""
    score: NodeScore | None
    fault: str | None = None
    """Why it has no score, without view and limits; None if it has one, or needs none."""
    error: str | None = None
    """The fault with the view and the time limit."""
    limit: float | None = None
    """Its time limit in seconds, which the script could read; None: it was recorded without."""
    cpu_seconds: float | None = None
    """Processor time of all its processes; None: it was not measured."""

    @property
    def value(self) -> float | None:
        """The score's value; None without a score."""
        return None if self.score is None else self.score.value


EXECUTED = StepKind("execute", ExecutionRecord)
"""Steps that run a node on a view (`Key.part`)."""


def kept_execution(session: Session, run_id: str, node: int, view: str = GUARDED) -> ExecutionRecord | None:
    """Return a node's finished execution on a view, or what an experiment has in its place; None where there is none."""
    if (execution := read_step(session, run_id, EXECUTED, Key(node, view))) is not None:
        return execution
    row = session.get(ExperimentRow, (run_id, node)) if view == GUARDED else None
    if row is None:
        return None
    # It becomes the execution that a script with the same predictions would have had.
    result = SCORED_EXPERIMENT.validate_python(row.result)
    return ExecutionRecord(
        id=experiment_folder(row.node),
        view=GUARDED,
        reason=ExitReason.FINISHED,
        seconds=row.seconds or 0.0,
        fine=result.arrays.test is not None,
        score=NodeScore(
            value=result.score,
            std_error=result.std_error,
            gain=result.gain,
            final=result.internal_test,
            predictions=result.arrays.validation,
            submission=result.arrays.test,
            oof=result.arrays.oof,
        ),
    )


def experiment_folder(node: int) -> str:
    """Return the name of the folder that receives an experiment's submission."""
    return f"n{node}-experiment"


def last_execution(session: Session, run_id: str, node: int) -> ExecutionRecord | None:
    """Return a node's hold-out run, or its last debug run if it got no further."""
    execution = kept_execution(session, run_id, node)
    if execution is not None:
        return execution
    return next(reversed(read_steps(session, run_id, EXECUTED, (DEBUG,), (node,)).values()), None)


def readable_files(folder: RunFolder, execution: str, score: NodeScore | None) -> tuple[Path, Path]:
    """Return where the predictions of the withheld and the test rows are read again: in the bank, or as the script wrote them."""
    out = folder.executions / execution
    predictions, submission = (score.predictions, score.submission) if score else (None, None)
    return (
        folder.bank / predictions if predictions else out / PREDICTIONS,
        folder.bank / submission if submission else out / "submission.csv",
    )


def failure_sentence(outcome: ExecutionOutcome, limits: Limits) -> str | None:
    """Return why an execution did not finish, in one sentence for the coder; None if it did."""
    if outcome.reason is ExitReason.FINISHED:
        return None
    if outcome.reason is ExitReason.ERROR:
        last = outcome.output.strip().rpartition("\n")[2][:_LAST_LINE]
        status = f"the script ended with exit status {outcome.exit_code}"
        return outcome.detail or (f"{status}: {last}" if last else status)
    return _SENTENCES[outcome.reason].format(
        seconds=limits.seconds,
        memory=limits.memory_bytes / 1024**3,
        processes=limits.processes,
        written=limits.written_bytes / 1e9,
        files=limits.files,
        detail=outcome.detail or "no reason given",
    )
