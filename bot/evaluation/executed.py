"""What came of an execution: how it ended, its score, and what is to be said of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bot.evaluation.guards.findings import Finding, findings_of
from sandbox import ExitReason, Limits, Outcome

__all__ = ["Executed", "why"]

_LAST_LINE = 300
"""Characters of a failed script's last line, which mostly names its error."""
_SENTENCES = {
    ExitReason.TIMED_OUT: "the script was killed at its time limit of {seconds:.0f} s",
    ExitReason.OUT_OF_MEMORY: "the script ran out of memory ({memory:.1f} GiB are allowed)",
    ExitReason.GPU_OUT_OF_MEMORY: "the script ran out of GPU memory: {detail}",
    ExitReason.PROCESS_LIMIT: "the script started more than {processes} processes",
    ExitReason.DISK_LIMIT: "the script wrote more than it may ({written:.1f} GB, {files} files)",
    ExitReason.KILLED_BY_RULE: "the script was killed early: {detail}",
    ExitReason.KILLED_BY_MONITOR: "the script was killed early by the monitor, a model that looks on: {detail}",
    ExitReason.STOPPED: "the run was stopped",
}


@dataclass(frozen=True)
class Executed:
    """One execution and its score: `score` is None where there is none, and `error` then says why."""

    execution_id: str
    view: str
    reason: ExitReason
    seconds: float
    score: float | None
    error: str | None
    output: str
    """Cleaned and capped, as a coder reads it."""
    fine: bool
    """Whether it ended in time and both its files are valid, be there a score or not: all that a debug run asks."""
    fault: str | None
    """The error without where it happened: the same whatever the view and the limits were."""
    folder: Path
    guards: tuple[Finding, ...] = ()
    """What the guards found in it; nothing on other views than the hold-out one, and without a score."""

    @property
    def submission(self) -> Path | None:
        """The file for the test rows, where the execution wrote one."""
        file = self.folder / "submission.csv"
        return file if file.is_file() else None

    @classmethod
    def kept(cls, result: dict[str, Any], executions: Path) -> Self:
        """Read it back from the step that keeps it.

        Args:
            result: the step's.
            executions: the folder of all that executions left.
        """
        return cls(
            execution_id=result["execution_id"],
            view=result["view"],
            reason=ExitReason(result["reason"]),
            seconds=result["seconds"],
            score=result["score"],
            error=result["error"],
            output=result["output"],
            fine=result["fine"],
            fault=result["fault"],
            folder=executions / result["execution_id"],
            guards=findings_of(result.get("guards", ())),
        )


def why(outcome: Outcome, limits: Limits) -> str | None:
    """Say in a sentence for the coder why an execution has no score; none where it finished."""
    if outcome.reason is ExitReason.FINISHED:
        return None
    if outcome.reason is ExitReason.ERROR:
        said = outcome.output.strip().rpartition("\n")[2][:_LAST_LINE]
        return outcome.detail or f"the script ended with exit status {outcome.exit_code}" + (
            f": {said}" if said else ""
        )
    return _SENTENCES[outcome.reason].format(
        seconds=limits.seconds,
        memory=limits.memory_bytes / 1024**3,
        processes=limits.processes,
        written=limits.written_bytes / 1e9,
        files=limits.files,
        detail=outcome.detail or "no reason was given",
    )
