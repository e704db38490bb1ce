"""An experiment of a run, as its row holds it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlmodel import Session

from bot.engine.tree import BASELINE, BASELINE_NAME
from bot.evaluation.answers.experiments import ScoredExperiment
from bot.execution.record import SCORED_EXPERIMENT
from scrapers.snapshots.card import TaskCard
from state.experiments import experiments
from state.store import Store
from state.tables import ExperimentRow

Kind = Literal["model", "stack", "portfolio", "ensemble"]
PLAIN_NOTE = "plain features from the engine"
"""Note of portfolio models on features that the engine makes itself."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of a run."""

    node: int
    name: str
    kind: Kind
    lab: int | None
    turn: int
    note: str
    uses: tuple[str, ...]
    sources: Mapping[str, str]
    """Hashes of the files that made it, by name."""
    retrain: str
    seconds: float | None
    result: ScoredExperiment
    withdrawn: bool = False
    """Whether a coder took it out of the choice."""

    @property
    def complete(self) -> bool:
        """Whether it may be chosen: it predicts all folds, the validation rows and the test rows, and is not withdrawn."""
        return self.result.folds is None and self.result.arrays.test is not None and not self.withdrawn

    @property
    def has_score(self) -> bool:
        """Whether it has a score that coders may see: one of validation rows alone would tell their labels."""
        return self.result.arrays.oof is not None

    @property
    def shown_score(self) -> str:
        """Its score as coders may see it."""
        return f"{self.result.score:.6g}" if self.has_score else "not scored"

    @property
    def shown_error(self) -> str:
        """The standard error of that; empty where it is not known."""
        std_error = self.result.std_error
        return f"{std_error:.2g}" if self.has_score and std_error is not None else ""

    @property
    def fitted_on_others(self) -> bool:
        """Whether it was fitted on other experiments' out-of-fold predictions, so that its own are too good."""
        return self.kind in ("stack", "ensemble")


def rank_experiments(experiments: Iterable[Experiment], card: TaskCard) -> list[Experiment]:
    """Return experiments as coders may know them: the best first, and those without a score last, as they were logged."""

    def rank_key(experiment: Experiment) -> tuple[float, int]:
        return -card.oriented(experiment.result.score) if experiment.has_score else math.inf, experiment.node

    return sorted(experiments, key=rank_key)


def all_experiments(store: Store, run_id: str) -> list[Experiment]:
    """Return a run's experiments in the order in which they were logged."""
    with store.read() as session:
        return experiments_in(session, run_id)


def experiments_in(session: Session, run_id: str) -> list[Experiment]:
    """Return what `all_experiments` does, read in a session."""
    return [
        Experiment(
            row.node,
            row.name,
            row.kind,  # type: ignore[arg-type] # written by this package alone
            row.lab,
            row.turn,
            row.note,
            tuple(row.uses),
            row.sources,
            row.retrain,
            row.seconds,
            SCORED_EXPERIMENT.validate_python(row.result),
            withdrawn,
        )
        for row, withdrawn in experiments(session, run_id)
    ]


def experiment_name(store: Store, run_id: str, node: int) -> str:
    """Return an experiment's name; of another node `baseline` or `node N`."""
    with store.read() as session:
        row = session.get(ExperimentRow, (run_id, node))
    if row is not None:
        return row.name
    return BASELINE_NAME if node == BASELINE else f"node {node}"
