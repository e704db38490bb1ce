"""Executions: a script on a view in the sandbox, and the evaluator's score of what it wrote."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.budgets.charging import Meter, metered
from bot.budgets.levels import Level, unbounded
from bot.evaluation.executed import Executed, why
from bot.evaluation.guarding import GUARDED, PREDICTIONS, Guarding, record_findings
from bot.evaluation.guards.findings import Finding
from bot.evaluation.run_views import RunViews
from bot.evaluation.views.names import ViewName
from bot.evaluation.views.self_reported import LINE, printed_score
from bot.evaluation.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.leasing import Leasing
from bot.execution.monitor import Monitor
from bot.execution.output import clean_output
from bot.execution.stopwatch import Stopwatch
from sandbox import ExecutionRequest, ExitReason, Limits, Outcome, Sandbox, Watch
from sandbox.rules import Rules, RuleSettings, Watches
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission
from state.progress import add_evaluation, end_execution, start_execution
from state.steps import Steps
from state.store import Store
from state.tables import Step

DEBUG = "sample"
"""The view of a debug run."""
_NEED_NO_SCORE = (DEBUG, "full")
"""Views that ask whether a script runs and its files are valid; what the metric says there says nothing."""
_TRIES = 2
"""Executions that are started where the engine itself fails."""


@dataclass(frozen=True)
class ExecutorSettings:
    """What every execution of a run has in common."""

    data: Path
    """The competition's files."""
    seed: int
    cpus: int
    limits: Limits
    rules: RuleSettings = field(default_factory=RuleSettings)
    mounts: Mapping[str, Path] = field(default_factory=dict)
    """Folders that every script finds read-only beside `data`, by name."""
    grader: Path | None = None
    """The competition's grade.py, for the evaluator alone; None: its metric is the registry's."""
    board: Callable[[], Sequence[float]] = tuple
    """Returns a leaderboard's scores, best first, as they may be known now; nothing where none may."""


class Executor:
    """Builds views once, runs scripts on them, and scores what they leave."""

    def __init__(
        self,
        run_id: str,
        card: TaskCard,
        folder: RunFolder,
        settings: ExecutorSettings,
        store: Store,
        steps: Steps,
        sandbox: Sandbox,
        worker: Worker,
        stopwatch: Stopwatch,
        leasing: Leasing,
        monitor: Monitor | None = None,
        spending: Level | None = None,
    ) -> None:
        self._run_id = run_id
        self._card = card
        self._folder = folder
        self.settings = settings
        """What all its executions have in common."""
        self._store = store
        self._steps = steps
        self._sandbox = sandbox
        self._worker = worker
        self._stopwatch = stopwatch
        self.leasing = leasing
        """How executions come to cores and GPUs of their own."""
        self._monitor = monitor
        self._spending = spending or unbounded()
        self._views = RunViews(card, settings.data, settings.seed, folder, worker, stopwatch, settings.grader)
        self._guarding = Guarding(
            run_id, card, settings.seed, store, steps, worker, folder.executions, settings.board, settings.grader
        )

    @property
    def self_reported(self) -> str | None:
        """Why the scores of this run are what its scripts print; None: they are the evaluator's. Known after the first view."""
        return self._views.self_reported

    @property
    def unscored(self) -> str | None:
        """Why the task's own grader scores none of its views; None: it does, or there are none. Known after the first view."""
        return self._views.unscored

    async def view(self, name: str) -> Path:
        """Return a view's folder, built at its first use; see `RunViews.view` for what it raises."""
        return await self._views.view(name)

    async def look_at_data(self) -> tuple[Finding, ...]:
        """Return what guards find in the hold-out view, at which they look once a run; raises as of `view`."""
        data = await self.view(GUARDED)
        with self._stopwatch.measure("evaluation"):
            return await self._guarding.look_at_view(data, self.labels(GUARDED), split=self.self_reported is None)

    def labels(self, view: str) -> Path:
        """Return the folder with a view's withheld labels, which is for the worker alone."""
        return self._views.labels(view)

    def submission_of(self, node: int, view: str, attempt: int = 0) -> Path:
        """Return where a node's file for the test rows lies, if its execution on that view wrote one."""
        with self._store.read() as session:
            step = session.get(Step, (self._run_id, node, f"execute:{view}", attempt))
        done = step.result if step is not None and step.result is not None else {}
        execution_id = str(done.get("execution_id", _execution_id(node, view, attempt)))
        return self._folder.executions / execution_id / "submission.csv"

    async def noise(self, node: int, other: int | None, seconds: float) -> dict[str, Any]:
        """Estimate the standard error of a node's hold-out score, and of its paired difference to another node's.

        Args:
            node: a node with a score.
            other: a node to compare with; None, or one that left no predictions: none.
            seconds: for draws; see `bot.evaluation.noise.score_noise`.

        Returns:
            What `score_noise` returns; empty where the predictions cannot be read.
        """
        theirs = None if other is None else self.submission_of(other, GUARDED).with_name(PREDICTIONS)
        try:
            return dict(
                await self._worker.call(
                    "score_noise",
                    labels_dir=str(self.labels(GUARDED)),
                    view_dir=str(await self.view(GUARDED)),
                    predictions=str(self.submission_of(node, GUARDED).with_name(PREDICTIONS)),
                    other=str(theirs) if theirs is not None and theirs.is_file() else None,
                    card=self._card.model_dump(mode="json"),
                    seed=self.settings.seed,
                    seconds=seconds,
                    grader=None if self.settings.grader is None else str(self.settings.grader),
                )
            )
        except InvalidSubmission:
            return {}

    async def execute(self, node: int, script: str, view: str, seconds: float, attempt: int = 0) -> Executed:
        """Run a node's script on a view and score it; a step, so that it is done once.

        Raises:
            BudgetExceeded: it does not fit into a budget; nothing was started.
            InfrastructureFailure: our own machinery failed; says nothing of the script.
        """
        data = await self.view(view)
        if view == GUARDED:
            await self.look_at_data()

        async def run() -> dict[str, Any]:
            return await self._run_and_score(node, script, view, data, seconds, attempt)

        result = await self._steps.once(f"execute:{view}", run, node=node, attempt=attempt)
        return Executed.kept(result, self._folder.executions)

    async def _run_and_score(
        self, node: int, script: str, view: str, data: Path, seconds: float, attempt: int
    ) -> dict[str, Any]:
        limits = replace(self.settings.limits, seconds=seconds, cpus=self.settings.cpus)
        for tried in range(1, _TRIES + 1):
            execution_id = _execution_id(node, view, attempt, tried)
            out = self._folder.executions / execution_id
            request = ExecutionRequest(
                execution_id, script, data, out, limits, mounts=self.settings.mounts, redactor=self._store.redactor
            )
            async with self.leasing.hold() as lease:
                request = self.leasing.leased(request, lease)
                async with metered(self._spending, self._run_id, request, node) as meter:
                    outcome = await self._run(request, node, view, attempt, meter)
            if outcome.reason is not ExitReason.INFRASTRUCTURE:
                break
        else:
            said = outcome.detail or "the sandbox gave no reason"
            raise InfrastructureFailure(f"the sandbox failed {_TRIES} times, which says nothing of the script: {said}")
        with self._stopwatch.measure("evaluation"):
            score, valid, fine, message = await self._score(view, data, outcome, out)
            found: Sequence[Finding] = ()
            if score is not None and view == GUARDED:
                found = await self._guarding.look_at_execution(
                    node, execution_id, data, self.labels(view), score, outcome.output
                )
        passed = score is not None or (fine and view in _NEED_NO_SCORE)
        fault = None if passed else why(outcome, request.limits) or message or "no score"
        error = fault and f"{self._views.described(view)} (limit {request.limits.seconds:.0f} s): {fault}"
        with self._store.write() as tx:
            add_evaluation(tx, self._run_id, execution_id, score=score, valid=valid, message=error or message)
            record_findings(tx, self._run_id, found, node)
        return {
            "execution_id": execution_id,
            "view": view,
            "reason": str(outcome.reason),
            "seconds": outcome.seconds,
            "score": score,
            "error": error,
            "fault": fault,
            "fine": fine,
            "output": "\n".join((clean_output(outcome.output), *(f"[sandbox] {note}" for note in outcome.notes))),
            "guards": [asdict(one) for one in found],
            "spoiled": any(one.spoils for one in found),
        }

    async def _run(self, request: ExecutionRequest, node: int, view: str, attempt: int, meter: Meter) -> Outcome:
        """Run a script once, looked on, and record its start and end."""
        request.out.mkdir(parents=True, exist_ok=True)
        (request.out / "solution.py").write_text(request.script, encoding="utf-8")
        execution_id = request.execution_id
        with self._store.write() as tx:
            start_execution(tx, self._run_id, execution_id, node=node, view=view, attempt=attempt)
        try:
            async with self._watched(request, node, view) as watch:
                with self._stopwatch.measure("executions"):
                    outcome = await self._sandbox.run(request, watch)
        except asyncio.CancelledError:
            with self._store.write() as tx:
                end_execution(tx, self._run_id, execution_id, reason=ExitReason.STOPPED, exit_code=None, seconds=0.0)
                meter.charge(tx)
            raise
        self._ended(execution_id, outcome, meter)
        return outcome

    @asynccontextmanager
    async def _watched(self, request: ExecutionRequest, node: int, view: str) -> AsyncIterator[Watch]:
        """Have the rules look on, and the model where there is one that can."""
        rules = Rules(self.settings.rules, request)
        if self._monitor is None:
            yield rules
            return
        async with self._monitor.attending(request, node, view) as onlooker:
            yield Watches((rules, onlooker))

    def _ended(self, execution_id: str, outcome: Outcome, meter: Meter) -> None:
        with self._store.write() as tx:
            end_execution(
                tx,
                self._run_id,
                execution_id,
                reason=outcome.reason,
                exit_code=outcome.exit_code,
                seconds=outcome.seconds,
                cpu_seconds=outcome.cpu_seconds,
                peak_memory_bytes=outcome.peak_memory_bytes,
                detail=outcome.detail,
                notes=outcome.notes,
                peak_gpu_memory_bytes=outcome.peak_gpu_memory_bytes,
            )
            meter.charge(tx, outcome.seconds)

    async def _score(
        self, view: str, data: Path, outcome: Outcome, out: Path
    ) -> tuple[float | None, bool, bool, str | None]:
        """Return the score, whether the submission is valid, whether both files are, and what is to be said of that."""
        # A score comes from a clean run only: files of a script that then failed are not trusted to be whole.
        if outcome.reason is not ExitReason.FINISHED:
            return None, False, False, None
        if self.self_reported is not None:
            return await self._printed(data, outcome, out)
        swapped = ViewName.parse(view).kind == "swap"
        found = await self._worker.call(
            "score_execution",
            labels_dir=str(self.labels(view)),
            view_dir=str(data),
            predictions_path=str(out / ("submission.csv" if swapped else PREDICTIONS)),
            submission_path=str(out / "submission.csv"),
            card=self._card.model_dump(mode="json"),
            grader=None if self.settings.grader is None else str(self.settings.grader),
        )
        score = found["score"] if found["valid"] else None
        return score, bool(found["valid"]), bool(found["fine"]), found["message"]

    async def _printed(self, data: Path, outcome: Outcome, out: Path) -> tuple[float | None, bool, bool, str | None]:
        """Take the score that a script prints, if the file that it belongs to could be handed in."""
        card = self._card.model_dump(mode="json")
        try:
            await self._worker.call(
                "check_form", submission_path=str(out / "submission.csv"), view_dir=str(data), card=card
            )
        except InvalidSubmission as error:
            return None, False, False, str(error)
        score = printed_score(outcome.output)
        told = (
            f"self-reported: {self.self_reported}" if score is not None else f"no line `{LINE}: <number>` was printed"
        )
        return score, True, score is not None, told


def _execution_id(node: int, view: str, attempt: int, tried: int = 1) -> str:
    name = f"n{node}-{ViewName.parse(view).folder}-{attempt}"
    return name if tried == 1 else f"{name}-try{tried}"
