"""Running the guards on a run's views and executions, in the worker, and storing their findings."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlmodel import col, select

from bot.evaluation.answers import LabelledView, NodeScore, OtherNode
from bot.evaluation.answers.findings import EXECUTION_GUARDS, VIEW_GUARDS, GuardFinding, doubts_of, not_run_at_all
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.record import GUARDED, kept_execution, readable_files
from state.errors import BotError
from state.steps import Key, StepKind, Steps, read_step
from state.store import Store, Transaction
from state.tables import Evaluation

FINDINGS = "guards.found"
"""Type of the event with the findings that did not pass."""
_GUARDS = StepKind("guards", tuple[GuardFinding, ...])
_VIEW = Key(part=GUARDED)
"""Its step on the view."""
_SECONDS = 120.0
_OUTPUT = 50_000
"""Last characters of a script's output that are checked."""
_UNSPLIT = "no labels could be withheld from the data"
_NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class GuardRunner:
    """The guards of one run."""

    run_id: str
    seed: int
    store: Store
    steps: Steps
    worker: Worker
    folder: RunFolder
    board: Callable[[], Sequence[float]] = tuple

    async def check_view(self, view: LabelledView, *, split: bool = True) -> tuple[GuardFinding, ...]:
        """Check the competition's data for leaks, once a run; without withheld labels (`split`) no guard can run."""

        async def check() -> tuple[GuardFinding, ...]:
            if not split:
                return not_run_at_all(VIEW_GUARDS, _UNSPLIT)
            return await _collect(VIEW_GUARDS, self.worker.guard_view(view, _SECONDS))

        return await self.steps.once(
            _GUARDS, check, _VIEW, save=lambda tx, findings: record_findings(tx, self.run_id, findings)
        )

    async def check_execution(
        self, node: int, execution_id: str, view: LabelledView, score: NodeScore, output: str
    ) -> tuple[GuardFinding, ...]:
        """Check the files and output of an execution on the hold-out view; a failure of the guards is a finding too."""
        predictions, submission = readable_files(self.folder, execution_id, score)
        findings = self.worker.guard_execution(
            view=view,
            predictions=predictions,
            submission=submission,
            score=score.value,
            output=output[-_OUTPUT:],
            earlier_nodes=self._earlier_nodes(node),
            board=self.board(),
            seed=self.seed,
            seconds=_SECONDS,
        )
        return await _collect(EXECUTION_GUARDS, findings)

    def _earlier_nodes(self, node: int) -> list[OtherNode]:
        query = select(Evaluation.node).where(
            Evaluation.run_id == self.run_id,
            Evaluation.view == GUARDED,
            Evaluation.node != node,
            col(Evaluation.score).is_not(None),
        )
        nodes = []
        with self.store.read() as session:
            for node_id in session.exec(query.order_by(col(Evaluation.node))).all():
                execution = kept_execution(session, self.run_id, node_id)
                if execution is not None and execution.score is not None:
                    files = readable_files(self.folder, execution.id, execution.score)
                    nodes.append(OtherNode(node_id, execution.score.value, *files))
        return nodes


async def _collect(guards: Iterable[str], findings: Awaitable[tuple[GuardFinding, ...]]) -> tuple[GuardFinding, ...]:
    try:
        return await findings
    except BotError as error:
        return not_run_at_all(guards, f"the guards could not run: {str(error)[:300]}")


def record_findings(tx: Transaction, run_id: str, findings: Sequence[GuardFinding], node: int | None = None) -> None:
    """Record an event with the findings that are doubts, if there are any."""
    failed = [{"guard": f.guard, "verdict": f.verdict, "sentence": f.sentence} for f in findings if f.is_doubt]
    if failed:
        tx.record(FINDINGS, run_id=run_id, node=node, findings=failed, sentence=doubts_of(findings))


def view_findings(store: Store, run_id: str) -> tuple[GuardFinding, ...]:
    """Return the findings on the run's hold-out view; if not checked, that no guard was run."""
    with store.read() as session:
        findings = read_step(session, run_id, _GUARDS, _VIEW)
    return not_run_at_all(VIEW_GUARDS, _NOT_CHECKED) if findings is None else findings


def node_findings(store: Store, run_id: str, node: int) -> tuple[GuardFinding, ...]:
    """Return the findings on a node's hold-out run; if it has no score, that no guard was run."""
    with store.read() as session:
        execution = kept_execution(session, run_id, node)
    if execution is None or execution.score is None:
        return not_run_at_all(EXECUTION_GUARDS, _NOT_CHECKED)
    return execution.score.guards
