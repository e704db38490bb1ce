"""Running the guards on a run's views and executions, in the worker, and storing their findings."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlmodel import col, select

from bot.evaluation.answers import LabelledView, OtherNode, ScoredFiles
from bot.evaluation.answers.findings import Finding, doubts_of, findings_of, not_run_at_all
from bot.evaluation.answers.guards import EXECUTION_GUARDS, VIEW_GUARDS
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.record import GUARDED, kept_execution, readable_files
from state.errors import BotError
from state.steps import Steps
from state.store import Store, Transaction
from state.tables import Evaluation, Step

FOUND = "guards.found"
"""Type of the event with the findings that did not pass."""
_STEP = "guards:holdout"
_FOLDS_STEP = "guards:folds"
_OF_FOLDS = "folds"
"""The guard that compares folds, of which a node has none before the race."""
_SECONDS = 120.0
_OUTPUT = 50_000
"""Last characters of a script's output that are checked."""
_UNSPLIT = "no labels could be withheld from the data"
_NOT_CHECKED = "it was not checked"


@dataclass(frozen=True)
class Guarding:
    """The guards of one run."""

    run_id: str
    seed: int
    """For resampling."""
    store: Store
    steps: Steps
    """Store the findings on the view."""
    worker: Worker
    folder: RunFolder
    """The run's folder, with the files of executions and the bank."""
    board: Callable[[], Sequence[float]] = tuple
    """Returns a leaderboard's scores as of now, best first; empty if they may not be known."""

    async def check_view(self, view: LabelledView, *, split: bool = True) -> tuple[Finding, ...]:
        """Check the competition's data for leaks, once a run; without withheld labels (`split`) no guard can run."""

        async def check() -> dict[str, Any]:
            found = not_run_at_all(VIEW_GUARDS, _UNSPLIT)
            if split:
                found = await _found(VIEW_GUARDS, self.worker.guard_view(view, _SECONDS))
            with self.store.write() as tx:
                record_findings(tx, self.run_id, found)
            return {"guards": [asdict(one) for one in found]}

        return findings_of((await self.steps.once(_STEP, check))["guards"])

    async def check_execution(
        self, node: int, execution_id: str, view: LabelledView, scored: ScoredFiles, output: str
    ) -> tuple[Finding, ...]:
        """Check the files and output of an execution on the hold-out view; a failure of the guards is a finding too."""
        others, folds = self._scored(node)
        predictions, submission = readable_files(self.folder, execution_id, scored)
        findings = self.worker.guard_execution(
            view=view,
            predictions=predictions,
            submission=submission,
            score=scored.score or 0.0,
            output=output[-_OUTPUT:],
            others=others,
            folds=folds,
            board=self.board(),
            seed=self.seed,
            seconds=_SECONDS,
        )
        return await _found(EXECUTION_GUARDS, findings)

    async def check_folds(self, node: int, execution_id: str, view: LabelledView, scored: ScoredFiles) -> None:
        """Let the guard of folds look at a node again, once it was run on folds; a step."""

        async def check() -> dict[str, Any]:
            found = await self.check_execution(node, execution_id, view, scored, "")
            found = tuple(one for one in found if one.guard == _OF_FOLDS)
            with self.store.write() as tx:
                record_findings(tx, self.run_id, found, node)
            return {"guards": [asdict(one) for one in found]}

        await self.steps.once(_FOLDS_STEP, check, node=node)

    def _scored(self, node: int) -> tuple[list[OtherNode], list[float]]:
        """Return the other nodes with a score, and the node's own scores on the fold views, by their numbers."""
        query = select(Evaluation).where(Evaluation.run_id == self.run_id, col(Evaluation.score).is_not(None))
        with self.store.read() as session:
            rows = session.exec(query.order_by(col(Evaluation.node))).all()
            others, folds = [], []
            for row in rows:
                if row.view == GUARDED and row.node != node:
                    kept = kept_execution(session, self.run_id, row.node)
                    if kept is not None and kept.score is not None:
                        files = readable_files(self.folder, kept.id, kept.score)
                        others.append(OtherNode(row.node, kept.score.value, *files))
                elif row.view.startswith("fold") and row.node == node and row.score is not None:
                    folds.append((row.view, row.score))
        return others, [score for _, score in sorted(folds)]


async def _found(guards: Iterable[str], findings: Awaitable[tuple[Finding, ...]]) -> tuple[Finding, ...]:
    try:
        return await findings
    except BotError as error:
        return not_run_at_all(guards, f"the guards could not be run: {str(error)[:300]}")


def record_findings(tx: Transaction, run_id: str, found: Sequence[Finding], node: int | None = None) -> None:
    """Record an event with the findings that are doubts, if there are any."""
    failed = [{"guard": one.guard, "verdict": one.verdict, "sentence": one.sentence} for one in found if one.is_doubt]
    if failed:
        tx.record(FOUND, run_id=run_id, node=node, findings=failed, sentence=doubts_of(found))


def view_findings(store: Store, run_id: str) -> tuple[Finding, ...]:
    """Return the findings on the run's hold-out view; if it was not checked, that no guard was run."""
    with store.read() as session:
        step = session.get(Step, (run_id, 0, _STEP, 0))
    if step is None or step.result is None:
        return not_run_at_all(VIEW_GUARDS, _NOT_CHECKED)
    return findings_of(step.result["guards"])


def node_findings(store: Store, run_id: str, node: int) -> tuple[Finding, ...]:
    """Return the findings on a node's hold-out run; if it has no score, that no guard was run."""
    with store.read() as session:
        execution = kept_execution(session, run_id, node)
        step = session.get(Step, (run_id, node, _FOLDS_STEP, 0))
    if execution is None or execution.score is None:
        return not_run_at_all(EXECUTION_GUARDS, _NOT_CHECKED)
    later = (
        {} if step is None or step.result is None else {one.guard: one for one in findings_of(step.result["guards"])}
    )
    return tuple(later.get(one.guard, one) for one in execution.score.guards)
