"""Executions: a script on a view in the sandbox, and the evaluator's score of its files."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.budgets.levels import ExecutionMeter, Level, unbounded
from bot.evaluation.answers import LabelledView, NodeScore, ScoredFiles
from bot.evaluation.answers.findings import LINE, GuardFinding, printed_score
from bot.evaluation.client.worker import Worker
from bot.evaluation.view_names import SWAPPED, Withholding, view_kind
from bot.execution.folder import RunFolder
from bot.execution.guarding import GuardRunner, record_findings
from bot.execution.leasing import RunLeases
from bot.execution.output import clean_output
from bot.execution.record import (
    DEBUG,
    EXECUTED,
    GUARDED,
    IDLE_ENDED,
    IDLE_STARTED,
    PREDICTIONS,
    REHEARSAL_FEW,
    ExecutionRecord,
    failure_sentence,
    kept_execution,
    readable_files,
)
from bot.execution.run_views import RunViews
from bot.execution.stopwatch import Stopwatch
from bot.notebooks.weights import WEIGHTS
from sandbox import ExecutionOutcome, ExecutionRequest, ExitReason, Lease, Limits, Sandbox
from sandbox.lab import LabHandle, LabRequest
from sandbox.rules import Rules, RuleSettings
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission, StateUnavailable
from state.progress import add_evaluation, end_execution, start_execution
from state.steps import Key, Steps
from state.store import Store
from state.tables import Evaluation

_NEED_NO_SCORE = (DEBUG, "full", REHEARSAL_FEW)
"""Views that show whether a script runs and its files are valid; a score on them means nothing."""
_IDLE_MEMORY = 0.25
"""Share of a script's memory for what runs in the idle time of labs."""
_TRIES = 2
"""Most tries of an execution if the sandbox itself fails."""
_LOG_KEPT = 20_000
"""Last characters of what a script printed that the database keeps; the page shows them."""


@dataclass(frozen=True)
class ExecutorSettings:
    """The settings that all executions of a run share."""

    data: Path
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
    withholding: Withholding = "script"
    """How many labelled rows are withheld, for all views."""
    keeps_weights: bool = False
    """Whether what scripts store in `weights/` is kept, as other scripts predict with it."""


@dataclass(eq=False)
class Executor:
    """Builds views once, runs scripts on them, and scores their files."""

    run_id: str
    card: TaskCard
    folder: RunFolder
    settings: ExecutorSettings
    store: Store
    steps: Steps
    sandbox: Sandbox
    worker: Worker
    stopwatch: Stopwatch
    leasing: RunLeases
    spending: Level = field(default_factory=unbounded)
    _checking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def __post_init__(self) -> None:
        shared = self.settings
        self.views = RunViews(
            self.card,
            shared.data,
            shared.seed,
            self.folder,
            self.worker,
            self.stopwatch,
            shared.grader,
            shared.withholding,
        )
        self._guarding = GuardRunner(
            self.run_id, shared.seed, self.store, self.steps, self.worker, self.folder, shared.board
        )

    @property
    def self_reported(self) -> str | None:
        """Why this run's scores are those that its scripts print; None: the evaluator's. Set with the first view."""
        return self.views.self_reported

    async def view(self, name: str) -> LabelledView:
        """Return a view, built at its first use; see `RunViews.view` for what it raises."""
        return await self.views.view(name)

    async def check_data(self) -> tuple[GuardFinding, ...]:
        """Return the guards' findings on the hold-out view, which they check once a run; raises what `view` raises."""
        view = await self.view(GUARDED)
        # Executions that start side by side may ask at a time.
        async with self._checking:
            with self.stopwatch.measure("evaluation"):
                return await self._guarding.check_view(view, split=self.self_reported is None)

    @asynccontextmanager
    async def open_lab(self, request: LabRequest) -> AsyncIterator[LabHandle]:
        """Open a lab's sandbox; to the request's mounts it adds the run's weights, and, without another one, the view as `data`.

        Raises UsageError: the back end has no labs; InfrastructureFailure: the sandbox could not be started.
        """
        view = await self.view(GUARDED)
        mounts = {"data": view.data, **self.settings.mounts, **request.mounts}
        async with self.sandbox.open_lab(replace(request, mounts=mounts)) as lab:
            yield lab

    async def fold_view(self) -> LabelledView | None:
        """Return the training rows that are in a fold, as a view with their labels; None where there are no folds."""
        return await self.views.folds()

    async def form_fault(self, submission: Path) -> str | None:
        """Return why a file cannot be handed in, in one sentence; None if it can."""
        view = await self.view(GUARDED)
        try:
            await self.worker.check_form(submission, view.data, self.card)
        except InvalidSubmission as error:
            return str(error)
        return None

    def submission_of(self, node: int, view: str) -> Path:
        """Return the path of the submission of a node's execution on a view; the file may be missing."""
        last = self.kept_execution(node, view)
        return self.folder.executions / (_execution_id(node, view) if last is None else last.id) / "submission.csv"

    def final_score(self, node: int) -> float | None:
        """Return a node's final score, that of the rows scored apart; call it only after the search has ended."""
        execution = self.kept_execution(node)
        return None if execution is None or execution.score is None else execution.score.final

    def weights_of(self, execution: str) -> Path:
        """Return the folder with what an execution left in `weights/`; it may be missing."""
        return self.folder.executions / execution / WEIGHTS

    def predictions_of(self, node: int) -> Path:
        """Return the path of a node's predictions for the withheld rows: in the bank if it has a score, else possibly missing."""
        execution = self.kept_execution(node)
        id, score = (_execution_id(node, GUARDED), None) if execution is None else (execution.id, execution.score)
        return readable_files(self.folder, id, score)[0]

    def oof_of(self, node: int) -> Path | None:
        """Return the path of a node's out-of-fold predictions of the training rows; None: none are stored."""
        execution = self.kept_execution(node)
        score = None if execution is None else execution.score
        return self.folder.bank / score.oof if score is not None and score.oof else None

    def kept_execution(self, node: int, view: str = GUARDED) -> ExecutionRecord | None:
        """Return a node's finished execution on a view; see `bot.execution.record.kept_execution`."""
        with self.store.read() as session:
            return kept_execution(session, self.run_id, node, view)

    async def guards_of(self, node: int, execution: str, score: NodeScore) -> tuple[GuardFinding, ...]:
        """Return what guards find in a node's kept predictions and its file for the test rows."""
        return await self._guarding.check_execution(node, execution, await self.view(GUARDED), score, "")

    async def score(self, node: int, reference: int | None) -> NodeScore | None:
        """Score a node's kept predictions again, with the gain over another node's, if any; None: they cannot be read."""
        other_file = None if reference is None else self._existing_predictions(reference)
        try:
            view = await self.view(GUARDED)
            return await self.worker.score_predictions(view, self.predictions_of(node), other_file, self.settings.seed)
        except InvalidSubmission:
            return None

    def _existing_predictions(self, node: int) -> Path | None:
        path = self.predictions_of(node)
        return path if path.is_file() else None

    async def execute(
        self,
        node: int,
        script: str,
        view: str,
        seconds: float,
        *,
        reference: int | None = None,
        lease: Lease | None = None,
        attempt: int = 0,
        inputs: Mapping[str, Path] | None = None,
        idle: bool = False,
    ) -> ExecutionRecord:
        """Run a node's script on a view and score it; a step, so that it is done once.

        Args:
            seconds: time limit of the script.
            reference: a node whose score this one's is compared with, for its gain.
            lease: cores and GPUs that the caller holds, and the script runs on; None: it waits for its own.
            attempt: number of the run on this view, from 0: each is done once.
            inputs: folders that it finds below Kaggle's input folder, by their paths there, and nothing else; None: it finds
                the view as `data`, as scripts do.
            idle: whether it runs in the idle time of the run's labs, on their cores, with a quarter of the memory; its time
                limit then counts processor seconds.

        Raises:
            BudgetExceeded: it does not fit into a budget; nothing was started.
            InfrastructureFailure: our own machinery failed, which is not the script's fault.
        """
        data = await self.view(view)
        if view == GUARDED:
            await self.check_data()

        shared, folder, mounts = self.settings, data.data, self.settings.mounts
        limits = self.idle_limits(seconds) if idle else replace(shared.limits, seconds=seconds, cpus=shared.cpus)
        if inputs is not None:
            # A notebook on Kaggle has neither: what looks for them must fail here.
            folder, mounts = self.folder.empty, {}
            folder.mkdir(exist_ok=True)
        # Executions on folds and samples are never submitted.
        keeps = (WEIGHTS,) if shared.keeps_weights and inputs is None and view in (GUARDED, "full") else ()
        request = ExecutionRequest(
            "",
            script,
            folder,
            self.folder.executions,
            limits,
            keep_folders=keeps,
            mounts=mounts,
            inputs=inputs or {},
            idle=idle,
            redactor=self.store.redactor,
        )

        async def run() -> ExecutionRecord:
            attempt_request, outcome = await self._run(request, node, view, attempt, lease)
            with self.stopwatch.measure("evaluation"):
                return await self._score(node, view, data, attempt_request, outcome, reference)

        return await self.steps.once(EXECUTED, run, Key(node, view, attempt))

    def quiet(self, lease: Lease, *, from_all: bool = False) -> AbstractContextManager[None]:
        """Keep executions in idle time off the cores of a lease; see `Sandbox.quiet`."""
        return self.sandbox.quiet(lease, from_all=from_all)

    def idle_limits(self, seconds: float) -> Limits:
        """Return the limits of what runs in idle time, with so many processor seconds."""
        limits = self.settings.limits
        memory = int(_IDLE_MEMORY * limits.memory_bytes)
        return replace(limits, seconds=seconds, cpus=self.settings.cpus, memory_bytes=memory)

    async def run_idle(self, request: ExecutionRequest, lease: Lease) -> ExecutionOutcome:
        """Run code of the engine's own in idle time, on a lease that a lab may hold; it makes no node by itself.

        Raises InfrastructureFailure: the sandbox failed.
        """
        request.out.mkdir(parents=True, exist_ok=True)
        with self.reported_work(request.execution_id):
            outcome = await self.sandbox.run(replace(request, lease=lease), Rules(self.settings.rules, request))
        if outcome.reason is ExitReason.INFRASTRUCTURE:
            raise InfrastructureFailure(outcome.detail or "the sandbox failed")
        return outcome

    @contextmanager
    def reported_work(self, name: str) -> Iterator[None]:
        """Report work that belongs to no node or lab yet, such as what runs in idle time."""
        self._record(IDLE_STARTED, name)
        try:
            yield
        finally:
            self._record(IDLE_ENDED, name)

    def _record(self, event: str, name: str) -> None:
        with suppress(StateUnavailable), self.store.write(durable=False) as tx:
            tx.record(event, run_id=self.run_id, name=name)

    async def _run(
        self, request: ExecutionRequest, node: int, view: str, attempt: int, given_lease: Lease | None
    ) -> tuple[ExecutionRequest, ExecutionOutcome]:
        """Run what is requested under an id of its own; again under another if the sandbox itself failed."""
        for try_number in range(1, _TRIES + 1):
            id = _execution_id(node, view, attempt, try_number)
            attempt_request = replace(request, execution_id=id, out=self.folder.executions / id)
            given_lease = None if given_lease is None or given_lease.lost else given_lease
            new_lease = self.leasing.hold_idle() if request.idle else self.leasing.hold()
            async with new_lease if given_lease is None else nullcontext(given_lease) as lease:
                attempt_request = self.leasing.leased(attempt_request, lease)
                gpu_seconds = attempt_request.limits.seconds * len(attempt_request.lease.gpus)
                async with self.spending.reserve(executions=1, gpu_seconds=gpu_seconds) as reservation:
                    meter = ExecutionMeter(reservation, self.run_id, attempt_request, node)
                    outcome = await self._run_once(attempt_request, node, view, meter)
            if outcome.reason is not ExitReason.INFRASTRUCTURE:
                return attempt_request, outcome
        reason = outcome.detail or "the sandbox gave no reason"
        raise InfrastructureFailure(f"the sandbox, not the script, failed {_TRIES} times: {reason}")

    async def _run_once(
        self, request: ExecutionRequest, node: int, view: str, meter: ExecutionMeter
    ) -> ExecutionOutcome:
        request.out.mkdir(parents=True, exist_ok=True)
        (request.out / "solution.py").write_text(request.script, encoding="utf-8")
        execution_id = request.execution_id
        with self.store.write() as tx:
            start_execution(tx, self.run_id, execution_id, node=node, view=view)
        try:
            with self.stopwatch.measure("executions"):
                outcome = await self.sandbox.run(request, Rules(self.settings.rules, request))
        except asyncio.CancelledError:
            with self.store.write() as tx:
                end_execution(tx, self.run_id, execution_id, reason=ExitReason.STOPPED, exit_code=None, seconds=0.0)
                meter.charge(tx)
            raise
        with self.store.write() as tx:
            end_execution(
                tx,
                self.run_id,
                execution_id,
                reason=outcome.reason,
                exit_code=outcome.exit_code,
                seconds=outcome.seconds,
                cpu_seconds=outcome.cpu_seconds,
                peak_memory_bytes=outcome.peak_memory_bytes,
                log=outcome.output[-_LOG_KEPT:] or None,
                detail=outcome.detail,
                notes=outcome.notes,
                peak_gpu_memory_bytes=outcome.peak_gpu_memory_bytes,
            )
            meter.charge(tx, outcome.seconds)
        return outcome

    async def _score(
        self,
        node: int,
        view: str,
        data: LabelledView,
        request: ExecutionRequest,
        outcome: ExecutionOutcome,
        reference: int | None,
    ) -> ExecutionRecord:
        """Score an execution's files, and record the evaluator's verdict."""
        files = await self._files(view, data, request.out, outcome, reference)
        score = files.score if files.valid else None
        if score is not None and view == GUARDED:
            guards = await self._guarding.check_execution(node, request.execution_id, data, score, outcome.output)
            score = replace(score, guards=guards)
        is_valid = score is not None or (files.fine and view in _NEED_NO_SCORE)
        fault = None if is_valid else failure_sentence(outcome, request.limits) or files.message or "no score"
        error = fault and f"{self.views.describe(view)} (limit {request.limits.seconds:.0f} s): {fault}"
        notes = list(outcome.notes)
        if is_valid and outcome.reason is ExitReason.TIMED_OUT:
            notes.append(f"{failure_sentence(outcome, request.limits)}; its files were complete, so they are used")
        execution = ExecutionRecord(
            id=request.execution_id,
            view=view,
            reason=outcome.reason,
            seconds=outcome.seconds,
            output="\n".join((clean_output(outcome.output), *(f"[sandbox] {note}" for note in notes))),
            fine=files.fine,
            score=score,
            fault=fault,
            error=error,
            limit=request.limits.seconds,
            cpu_seconds=outcome.cpu_seconds,
        )
        with self.store.write() as tx:
            evaluation = Evaluation(
                run_id=self.run_id,
                execution_id=execution.id,
                node=node,
                view=view,
                score=execution.value,
                valid=files.valid,
                message=error or files.message,
                at=tx.now(),
            )
            add_evaluation(tx, evaluation)
            record_findings(tx, self.run_id, score.guards if score else (), node)
        return execution

    async def _files(
        self, view: str, data: LabelledView, out: Path, outcome: ExecutionOutcome, reference: int | None
    ) -> ScoredFiles:
        submission = out / "submission.csv"
        # The files of a script that failed are not trusted; at the time limit they may have been complete for long.
        if outcome.reason not in (ExitReason.FINISHED, ExitReason.TIMED_OUT):
            return ScoredFiles(None, valid=False, fine=False)
        if self.self_reported is None:
            predictions = submission if view in SWAPPED else out / PREDICTIONS
            bank = self.folder.bank if view == GUARDED else None
            other_file = None if reference is None or view != GUARDED else self._existing_predictions(reference)
            seed = None if view in _NEED_NO_SCORE else self.settings.seed
            return await self.worker.score_execution(data, predictions, submission, bank, other_file, seed)
        # The printed score counts if the submission could be handed in.
        if fault := await self.form_fault(submission):
            return ScoredFiles(None, valid=False, fine=False, message=fault)
        score = printed_score(outcome.output)
        if score is None:
            return ScoredFiles(None, valid=True, fine=False, message=f"the script printed no line `{LINE}: <number>`")
        return ScoredFiles(NodeScore(score), valid=True, fine=True, message=f"self-reported: {self.self_reported}")


def _execution_id(node: int, view: str, attempt: int = 0, try_number: int = 1) -> str:
    name = f"n{node}-{view_kind(view)}-{attempt}"
    return name if try_number == 1 else f"{name}-try{try_number}"
