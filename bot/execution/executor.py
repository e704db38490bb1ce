"""Executions: a script on a view in the sandbox, and the evaluator's score of its files."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.budgets.charging import Meter, metered
from bot.budgets.levels import Level, unbounded
from bot.evaluation.answers import LabelledView, Noise, ScoredFiles, ScoredHint
from bot.evaluation.answers.findings import Finding
from bot.evaluation.answers.self_reported import LINE, printed_score
from bot.evaluation.answers.view_names import ViewName
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.guarding import Guarding, record_findings
from bot.execution.leasing import Leasing
from bot.execution.monitor import Monitor
from bot.execution.output import clean_output
from bot.execution.record import (
    DEBUG,
    GUARDED,
    PREDICTIONS,
    REHEARSAL_FEW,
    Execution,
    Score,
    failure_sentence,
    kept_execution,
    readable_files,
    step_of,
)
from bot.execution.run_views import RunViews
from bot.execution.stopwatch import Stopwatch
from bot.notebooks.weights import WEIGHTS
from sandbox import ExecutionRequest, ExitReason, Lease, Limits, Outcome, Sandbox, Watch
from sandbox.lab import Lab, LabRequest
from sandbox.rules import Rules, RuleSettings, Watches
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission
from state.progress import add_evaluation, end_execution, start_execution
from state.steps import Steps
from state.store import Store

_NEED_NO_SCORE = (DEBUG, "full", REHEARSAL_FEW)
"""Views that show whether a script runs and its files are valid; a score on them means nothing."""
_TRIES = 2
"""Most tries of an execution if the sandbox itself fails."""


@dataclass(frozen=True)
class ExecutorSettings:
    """The settings that all executions of a run share."""

    data: Path
    """The competition's files."""
    seed: int
    cpus: int
    limits: Limits
    rules: RuleSettings = field(default_factory=RuleSettings)
    mounts: Mapping[str, Path] = field(default_factory=dict)
    """Folders mounted read-only beside `data`, by name."""
    grader: Path | None = None
    """The competition's grade.py, for the evaluator alone; None: its metric is the registry's."""
    board: Callable[[], Sequence[float]] = tuple
    """Returns a leaderboard's scores as of now, best first; empty if they may not be known."""


class Executor:
    """Builds views once, runs scripts on them, and scores their files."""

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
        self.folder = folder
        """The run's files."""
        self.settings = settings
        """The settings that all executions share."""
        self._store = store
        self._steps = steps
        self._sandbox = sandbox
        self._worker = worker
        self.stopwatch = stopwatch
        """Measures the run's time by kind of work."""
        self.leasing = leasing
        """Gives executions cores and GPUs of their own."""
        self._monitor = monitor
        self._spending = spending or unbounded()
        self._views = RunViews(card, settings.data, settings.seed, folder, worker, stopwatch, settings.grader)
        self._guarding = Guarding(run_id, settings.seed, store, steps, worker, folder, settings.board)
        self._checking = asyncio.Lock()

    @property
    def contains(self) -> bool:
        """Whether its sandbox contains what it runs; if not, strangers' code must not run."""
        return self._sandbox.describe().isolation != "none"

    @property
    def self_reported(self) -> str | None:
        """Why this run's scores are those that its scripts print; None: the evaluator's. Set with the first view."""
        return self._views.self_reported

    @property
    def unscored(self) -> str | None:
        """Why the task's own grader cannot score its views; None: it can, or there is none. Set with the first view."""
        return self._views.unscored

    @property
    def growth(self) -> float:
        """Training rows of `full` over those of the hold-out view, once that is built; 0 where no rows are withheld."""
        return 0.0 if self.self_reported is not None else self._views.growth

    async def view(self, name: str) -> LabelledView:
        """Return a view, built at its first use; see `RunViews.view` for what it raises."""
        return await self._views.view(name)

    async def check_data(self) -> tuple[Finding, ...]:
        """Return the guards' findings on the hold-out view, which they check once a run; raises what `view` raises."""
        view = await self.view(GUARDED)
        # Executions that start side by side may ask at a time.
        async with self._checking:
            with self.stopwatch.measure("evaluation"):
                return await self._guarding.check_view(view, split=self.self_reported is None)

    @asynccontextmanager
    async def open_lab(self, request: LabRequest) -> AsyncIterator[Lab]:
        """Open a lab's sandbox; to the request's mounts it adds the hold-out view as `data`, and the run's weights.

        Raises:
            UsageError: the back end has no labs.
            InfrastructureFailure: the sandbox could not be started.
        """
        view = await self.view(GUARDED)
        mounts = {"data": view.data, **self.settings.mounts, **request.mounts}
        async with self._sandbox.open_lab(replace(request, mounts=mounts)) as lab:
            yield lab

    async def folds(self) -> Path | None:
        """Return folds.csv of the hold-out view's training rows; None where there are no folds."""
        view = await self._views.folds()
        return None if view is None else view.data / "folds.csv"

    async def score_folds(self, predictions: Path, against: str | None, seconds: float) -> ScoredHint:
        """Score out-of-fold predictions of the hold-out view's training rows: a hint, by which nothing is chosen.

        Args:
            predictions: in the form of the submission, each row with a fold exactly once.
            against: the hint's file that they are compared with; None: none.
            seconds: for the draws of its standard error.

        Raises:
            InvalidSubmission: it cannot be scored; the message is one sentence.
        """
        view = await self._views.folds()
        if view is None:
            raise InvalidSubmission("there are no folds: this data could not be cut into any")
        with self.stopwatch.measure("evaluation"):
            return await self._worker.score_hint(
                view, predictions, self.folder.hints, against, self.settings.seed, seconds
            )

    async def form_fault(self, submission: Path) -> str | None:
        """Return why a file cannot be handed in, in one sentence; None if it can."""
        view = await self.view(GUARDED)
        try:
            await self._worker.check_form(submission, view.data, self._card)
        except InvalidSubmission as error:
            return str(error)
        return None

    def submission_of(self, node: int, view: str) -> Path:
        """Return the path of the submission of a node's execution on a view; the file may be missing."""
        with self._store.read() as session:
            kept = kept_execution(session, self._run_id, node, view)
        return self.folder.executions / (_execution_id(node, view) if kept is None else kept.id) / "submission.csv"

    def final_score(self, node: int) -> float | None:
        """Return a node's final score, that of the rows scored apart; call it only after the search has ended."""
        with self._store.read() as session:
            kept = kept_execution(session, self._run_id, node)
        return None if kept is None or kept.score is None else kept.score.final

    def weights_of(self, execution: str) -> Path:
        """Return the folder with what an execution left in `weights/`; it may be missing."""
        return self.folder.executions / execution / WEIGHTS

    def predictions_of(self, node: int) -> Path:
        """Return the path of a node's predictions for the withheld rows: in the bank if it has a score, else possibly missing."""
        with self._store.read() as session:
            kept = kept_execution(session, self._run_id, node)
        id, score = (_execution_id(node, GUARDED), None) if kept is None else (kept.id, kept.score)
        return readable_files(self.folder, id, score)[0]

    async def guards_of(self, node: int, execution: str, score: Score) -> tuple[Finding, ...]:
        """Return what guards find in a node's kept predictions and its file for the test rows."""
        return await self._guarding.check_execution(node, execution, await self.view(GUARDED), _files_of(score), "")

    async def check_folds(self, node: int) -> None:
        """Let the guard of folds look at a script again that was run on folds."""
        with self._store.read() as session:
            kept = kept_execution(session, self._run_id, node)
        if kept is not None and kept.score is not None:
            await self._guarding.check_folds(node, kept.id, await self.view(GUARDED), _files_of(kept.score))

    async def noise(self, node: int, other: int | None, seconds: float) -> Noise:
        """Estimate the standard error of a node's hold-out score, and of its paired difference to another node's.

        Args:
            node: a node with a score.
            other: a node to compare with; None, or one without predictions: no comparison.
            seconds: for draws; see `bot.evaluation.scoring.noise.score_noise`.
        """
        return await self._noise(GUARDED, self.predictions_of(node), other, seconds)

    async def _noise(self, name: str, predictions: Path, other: int | None, seconds: float) -> Noise:
        theirs = None if other is None else self.predictions_of(other)
        there = theirs if theirs is not None and theirs.is_file() else None
        try:
            view = await self.view(name)
            return await self._worker.score_noise(view, predictions, there, self.settings.seed, seconds)
        except InvalidSubmission as error:
            return Noise(note=str(error))

    async def execute(
        self,
        node: int,
        script: str,
        view: str,
        seconds: float,
        *,
        compared: int | None = None,
        noise_seconds: float = 0.0,
        lease: Lease | None = None,
        attempt: int = 0,
        inputs: Mapping[str, Path] | None = None,
    ) -> Execution:
        """Run a node's script on a view and score it; a step, so that it is done once.

        Args:
            node: the node.
            script: its script.
            view: the view's name.
            seconds: time limit of the script.
            compared: a node whose score this one's is compared with, for its gain.
            noise_seconds: for estimating the score's noise; 0: it is not estimated.
            lease: cores and GPUs that the caller holds, and the script runs on; None: it waits for its own.
            attempt: number of the run on this view, from 0: each is done once.
            inputs: folders that it finds below Kaggle's input folder, by their paths there, and nothing else; None: it finds
                the view as `data`, as scripts do.

        Raises:
            BudgetExceeded: it does not fit into a budget; nothing was started.
            InfrastructureFailure: our own machinery failed, which is not the script's fault.
        """
        data = await self.view(view)
        if view == GUARDED:
            await self.check_data()

        async def run() -> dict[str, Any]:
            request, outcome = await self._run(node, script, view, data.data, seconds, lease, attempt, inputs)
            with self.stopwatch.measure("evaluation"):
                execution = await self._scored(node, view, data, request, outcome, compared, noise_seconds)
            return execution.model_dump(mode="json")

        return Execution.model_validate(await self._steps.once(step_of(view), run, node=node, attempt=attempt))

    async def _run(
        self,
        node: int,
        script: str,
        view: str,
        data: Path,
        seconds: float,
        given: Lease | None,
        attempt: int,
        inputs: Mapping[str, Path] | None,
    ) -> tuple[ExecutionRequest, Outcome]:
        """Run a script; again if the sandbox itself failed."""
        limits, mounts = replace(self.settings.limits, seconds=seconds, cpus=self.settings.cpus), self.settings.mounts
        if inputs is not None:
            # A notebook on Kaggle has neither: what looks for them must fail here.
            data, mounts = self.folder.empty, {}
            data.mkdir(exist_ok=True)
        # Those of folds and of samples are handed in by nobody.
        keeps = (WEIGHTS,) if self._card.kind == "code" and inputs is None and view in (GUARDED, "full") else ()
        for tried in range(1, _TRIES + 1):
            id = _execution_id(node, view, attempt, tried)
            out = self.folder.executions / id
            request = ExecutionRequest(
                id,
                script,
                data,
                out,
                limits,
                keep_folders=keeps,
                mounts=mounts,
                inputs=inputs or {},
                redactor=self._store.redactor,
            )
            given = None if given is None or given.lost else given
            async with self.leasing.hold() if given is None else nullcontext(given) as lease:
                request = self.leasing.leased(request, lease)
                async with metered(self._spending, self._run_id, request, node) as meter:
                    outcome = await self._run_once(request, node, view, meter)
            if outcome.reason is not ExitReason.INFRASTRUCTURE:
                return request, outcome
        reason = outcome.detail or "the sandbox gave no reason"
        raise InfrastructureFailure(f"the sandbox failed {_TRIES} times, which is not the script's fault: {reason}")

    async def _run_once(self, request: ExecutionRequest, node: int, view: str, meter: Meter) -> Outcome:
        """Run a script once, watched, and record its start and end."""
        request.out.mkdir(parents=True, exist_ok=True)
        (request.out / "solution.py").write_text(request.script, encoding="utf-8")
        execution_id = request.execution_id
        with self._store.write() as tx:
            start_execution(tx, self._run_id, execution_id, node=node, view=view)
        try:
            async with self._watched(request, node, view) as watch:
                with self.stopwatch.measure("executions"):
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
        """Watch an execution by the rules, and by the monitor if there is one."""
        rules = Rules(self.settings.rules, request)
        if self._monitor is None:
            yield rules
            return
        async with self._monitor.watching(request, node, view) as watch:
            yield Watches((rules, watch))

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

    async def _scored(
        self,
        node: int,
        view: str,
        data: LabelledView,
        request: ExecutionRequest,
        outcome: Outcome,
        compared: int | None,
        noise_seconds: float,
    ) -> Execution:
        """Score an execution's files, and record the evaluator's verdict."""
        found = await self._files(view, data, request.out, outcome)
        score = None
        if found.valid and found.score is not None:
            noise = await self._noise_of(view, request.execution_id, found, compared, noise_seconds)
            guards: tuple[Finding, ...] = ()
            if view == GUARDED:
                guards = await self._guarding.check_execution(node, request.execution_id, data, found, outcome.output)
            spoiled = any(one.spoils for one in guards)
            score = Score(
                value=found.score,
                noise=noise,
                guards=guards,
                final=found.final,
                spoiled=spoiled,
                predictions=found.predictions,
                submission=found.submission,
            )
        passed = score is not None or (found.fine and view in _NEED_NO_SCORE)
        fault = None if passed else failure_sentence(outcome, request.limits) or found.message or "no score"
        error = fault and f"{self._views.described(view)} (limit {request.limits.seconds:.0f} s): {fault}"
        notes = list(outcome.notes)
        if passed and outcome.reason is ExitReason.TIMED_OUT:
            notes.append(f"{failure_sentence(outcome, request.limits)}; its files were complete, and count")
        execution = Execution(
            id=request.execution_id,
            view=view,
            reason=outcome.reason,
            seconds=outcome.seconds,
            output="\n".join((clean_output(outcome.output), *(f"[sandbox] {note}" for note in notes))),
            fine=found.fine,
            score=score,
            fault=fault,
            error=error,
            limit=request.limits.seconds,
            cpu_seconds=outcome.cpu_seconds,
        )
        with self._store.write() as tx:
            message = error or found.message
            add_evaluation(tx, self._run_id, execution.id, score=execution.value, valid=found.valid, message=message)
            record_findings(tx, self._run_id, score.guards if score else (), node)
        return execution

    async def _noise_of(
        self, view: str, execution: str, found: ScoredFiles, compared: int | None, seconds: float
    ) -> Noise:
        """Estimate a score's noise; if that fails, the score has none, as it is no reason for another run."""
        if seconds <= 0 or self.self_reported is not None:
            return Noise()
        try:
            files = readable_files(self.folder, execution, found)
            return await self._noise(view, files[1 if ViewName.parse(view).swaps else 0], compared, seconds)
        except InfrastructureFailure as error:
            return Noise(note=str(error))

    async def _files(self, view: str, data: LabelledView, out: Path, outcome: Outcome) -> ScoredFiles:
        """Let the worker score an execution's files."""
        submission = out / "submission.csv"
        # The files of a script that failed are not trusted; at the time limit they may have been complete for long.
        if outcome.reason not in (ExitReason.FINISHED, ExitReason.TIMED_OUT):
            return ScoredFiles(None, valid=False, fine=False)
        if self.self_reported is None:
            name = ViewName.parse(view)
            bank = self.folder.bank if name.kind in (GUARDED, "fold") else None
            return await self._worker.score_execution(
                data, submission if name.swaps else out / PREDICTIONS, submission, bank
            )
        # The printed score counts if the submission could be handed in.
        try:
            await self._worker.check_form(submission, data.data, self._card)
        except InvalidSubmission as error:
            return ScoredFiles(None, valid=False, fine=False, message=str(error))
        score = printed_score(outcome.output)
        if score is None:
            return ScoredFiles(None, valid=True, fine=False, message=f"no line `{LINE}: <number>` was printed")
        return ScoredFiles(score, valid=True, fine=True, message=f"self-reported: {self.self_reported}")


def _files_of(score: Score) -> ScoredFiles:
    return ScoredFiles(score.value, True, True, predictions=score.predictions, submission=score.submission)


def _execution_id(node: int, view: str, attempt: int = 0, tried: int = 1) -> str:
    name = f"n{node}-{ViewName.parse(view).folder}-{attempt}"
    return name if tried == 1 else f"{name}-try{tried}"
