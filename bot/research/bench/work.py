"""The work of a bench: one competition and seed after another, for as long as the budget covers all of its runs."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

from bot.cli.live_view import Say
from bot.execution.folder import RunFolder
from bot.replay.run_queue import Job, RunOutcome, run_each, unfinished_jobs
from bot.research.bench.bench import Bench
from bot.research.bench.progress import BenchProgress
from bot.research.bench.spending import BenchSpending, left_to_do, max_needed, refusal, spent_by
from sandbox.leases import Leases


class BenchWork:
    """Does the unfinished runs of a bench, one at a time."""

    def __init__(self, bench: Bench, leases: Leases, progress: BenchProgress) -> None:
        self._bench, self._leases, self._progress = bench, leases, progress
        self._by_folder = {run.folder.path: run for run in bench.runs if run.folder is not None}
        self.ended_by: str | None = None
        """Why the bench ended before all of its runs were started; None: it did not."""

    def outcomes(self) -> Iterator[RunOutcome]:
        """Do the runs, and yield the outcome of each; after a request to stop, the last one is that run's."""

        def show(job: Job) -> AbstractContextManager[Say]:
            return self._progress.started(self._by_folder[job.run.folder.path], job.run.folder)

        for outcome in run_each(self._jobs(), self._leases, show):
            self._progress.record_outcome(self._by_folder[outcome.run], outcome)
            yield outcome

    def _jobs(self) -> Iterator[Job | RunOutcome]:
        """Yield the runs in order; each group's need is known only when those before it have ended."""
        for group in self._bench.groups:
            if left_to_do(group):
                spending = sum(map(spent_by, self._bench.runs), BenchSpending())
                self.ended_by = refusal(self._bench.plan.budget, spending, max_needed(group))
                if self.ended_by is not None:
                    return
            folders: list[RunFolder] = [run.folder for run in group if run.folder is not None]
            yield from unfinished_jobs(folders, self._bench.snapshots)
