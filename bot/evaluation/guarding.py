"""Has the guards look at a run's views and executions, in the worker, and keeps what they found."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from bot.evaluation.guards.findings import Finding, doubts_of, findings_of, not_run_at_all
from bot.evaluation.guards.registry import EXECUTION_GUARDS, VIEW_GUARDS
from bot.evaluation.worker import Worker
from scrapers.snapshots.card import TaskCard
from state.errors import BotError
from state.steps import Steps
from state.store import Store, Transaction
from state.tables import Evaluation, Step

__all__ = ["FOUND", "GUARDED", "Guarding", "node_findings", "record_findings", "view_findings"]

GUARDED = "holdout"
"""The view whose score the search goes by, on which guards look."""
FOUND = "guards.found"
"""Type of the event that tells what has not passed."""
PREDICTIONS = "validation_predictions.csv"
_LOOKED = "guards:holdout"
_SECONDS = 120.0
_OUTPUT = 50_000
"""Last characters of a script's output that are looked at."""
_UNSPLIT = "no labels could be withheld from the data"
_LATER = "nobody has looked: this was run before there were guards"


class Guarding:
    """The guards of one run."""

    def __init__(
        self,
        run_id: str,
        card: TaskCard,
        seed: int,
        store: Store,
        steps: Steps,
        worker: Worker,
        executions: Path,
        board: Callable[[], Sequence[float]] = tuple,
        grader: Path | None = None,
    ) -> None:
        """Set it up.

        Args:
            run_id: the run.
            card: its task.
            seed: of what is resampled.
            store: where evaluations are.
            steps: keep what was found in the view.
            worker: where the guards run.
            executions: the folder of all that executions left.
            board: returns a leaderboard's scores, best first, as they may be known now; nothing where none may.
            grader: the competition's grade.py; None: its metric is the registry's.
        """
        self._run_id = run_id
        self._card = card
        self._seed = seed
        self._store = store
        self._steps = steps
        self._worker = worker
        self._executions = executions
        self._board = board
        self._grader = None if grader is None else str(grader)

    async def look_at_view(self, view: Path, labels: Path, *, split: bool = True) -> tuple[Finding, ...]:
        """Look for leaks of the competition itself, once a run; without labels that were withheld (`split`) there are none."""

        async def look() -> dict[str, Any]:
            found = tuple(not_run_at_all(VIEW_GUARDS, _UNSPLIT))
            if split:
                found = await self._found(
                    "guard_view", VIEW_GUARDS, view_dir=str(view), labels_dir=str(labels), seconds=_SECONDS
                )
            with self._store.write() as tx:
                record_findings(tx, self._run_id, found)
            return {"guards": [asdict(one) for one in found]}

        return findings_of((await self._steps.once(_LOOKED, look))["guards"])

    async def look_at_execution(
        self, node: int, execution_id: str, view: Path, labels: Path, score: float, output: str
    ) -> Sequence[Finding]:
        """Look at what an execution on the hold-out view has left. Whatever keeps the guards from it is a finding as well."""
        others, folds = self._scored(node)
        out = self._executions / execution_id
        return await self._found(
            "guard_execution",
            EXECUTION_GUARDS,
            view_dir=str(view),
            labels_dir=str(labels),
            predictions_path=str(out / PREDICTIONS),
            submission_path=str(out / "submission.csv"),
            score=score,
            output=output[-_OUTPUT:],
            others=others,
            folds=folds,
            board=list(self._board()),
            seed=self._seed,
            seconds=_SECONDS,
            grader=self._grader,
        )

    async def _found(self, op: str, guards: Iterable[str], **arguments: Any) -> tuple[Finding, ...]:
        card = self._card.model_dump(mode="json")
        try:
            told = await self._worker.call(op, timeout_seconds=2 * _SECONDS, card=card, **arguments)
        except BotError as error:
            return tuple(not_run_at_all(guards, f"the guards could not be run: {str(error)[:300]}"))
        return findings_of(told)

    def _scored(self, node: int) -> tuple[list[dict[str, Any]], list[float]]:
        """Return the other nodes with a score, and the node's own scores on the fold views, by their numbers."""
        query = select(Evaluation).where(Evaluation.run_id == self._run_id, col(Evaluation.score).is_not(None))
        with self._store.read() as session:
            rows = session.exec(query.order_by(col(Evaluation.node))).all()
        others = [
            {
                "node": row.node,
                "score": row.score,
                "predictions": str(self._executions / row.execution_id / PREDICTIONS),
                "submission": str(self._executions / row.execution_id / "submission.csv"),
            }
            for row in rows
            if row.view == GUARDED and row.node != node
        ]
        folds = sorted((row.view, row.score) for row in rows if row.view.startswith("fold") and row.node == node)
        return others, [score for _, score in folds if score is not None]


def record_findings(tx: Transaction, run_id: str, found: Sequence[Finding], node: int | None = None) -> None:
    """Tell in an event what has not passed, if anything has not."""
    told = [{"guard": one.guard, "verdict": one.verdict, "sentence": one.sentence} for one in found if not one.passed]
    if told:
        tx.record(FOUND, run_id=run_id, node=node, findings=told, sentence=doubts_of(found))


def view_findings(store: Store, run_id: str) -> tuple[Finding, ...]:
    """Return what was found in the run's hold-out view."""
    return _kept(store, (run_id, 0, _LOOKED, 0), VIEW_GUARDS)


def node_findings(store: Store, run_id: str, node: int) -> tuple[Finding, ...]:
    """Return what was found in a node's hold-out run; of one that nobody looked at, that no guard was run."""
    return _kept(store, (run_id, node, f"execute:{GUARDED}", 0), EXECUTION_GUARDS)


def _kept(store: Store, key: tuple[str, int, str, int], guards: Iterable[str]) -> tuple[Finding, ...]:
    with store.read() as session:
        step = session.get(Step, key)
    kept = step.result.get("guards") if step is not None and step.result is not None else None
    return tuple(not_run_at_all(guards, _LATER)) if kept is None else findings_of(kept)
