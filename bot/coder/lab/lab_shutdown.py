"""The remains of a lab when it closes: its files, and the submission of a coder that works alone."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from bot.coder.lab.lab_setup import SOLUTION
from bot.coder.lab.steps import LeftFile
from bot.engine.context import RunContext
from bot.execution.record import GUARDED
from sandbox.collect import collect
from sandbox.lab.lab_archive import tidy_work
from state.labs import labs
from state.progress import end_node

_SUBMISSION = "submission.csv"
_KEPT_WHOLE = 2
"""Newest labs whose work/ stays whole until the run ends, for their children."""


@dataclass(frozen=True)
class LabShutdown:
    """Takes what counts out of a lab's folder, by the careful reader."""

    context: RunContext
    number: int
    folder: Path

    async def keep_submission(self, reason: str) -> LeftFile:
        """Store the submission of a coder that works alone as that of its node.

        Args:
            reason: why its lab ended.
        """
        context = self.context
        place = context.executor.submission_of(self.number, GUARDED).parent
        place.mkdir(parents=True, exist_ok=True)
        collected = await asyncio.to_thread(collect, self.folder / "work", [_SUBMISSION, SOLUTION], place)
        if submission := collected.files.get(_SUBMISSION):
            error = await context.executor.form_fault(submission)
        else:
            error = "; ".join(collected.notes) or f"it left no {_SUBMISSION}: {reason}"
        with context.store.write() as tx:
            end_node(tx, context.run_id, self.number, "buggy" if error else "valid", error=error)
        return LeftFile(error)

    def tidy(self) -> None:
        """Keep of closed labs their logs and their work, bounded, but whole of the newest: folds and posts lie with the run."""
        for name in ("community", "knowledge"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for name in ("folds.csv", "folds.json", "classes.json"):
            (self.folder / name).unlink(missing_ok=True)
        tidy_work(self.folder / "logs")
        closed = [row.id for row in labs(self.context.store, self.context.run_id) if row.ended_at is not None]
        for number in closed[: max(0, len(closed) + 1 - _KEPT_WHOLE)]:
            work = self.folder.parent / f"lab{number}" / "work"
            if work.is_dir():
                tidy_work(work)
