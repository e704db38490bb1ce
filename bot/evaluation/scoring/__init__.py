"""The one way to score predictions: by a metric of the registry, or by the competition's own grade.py."""

from pathlib import Path
from typing import Protocol

import numpy as np

from bot.evaluation.answers import LabelledView
from bot.evaluation.graders import GraderKind
from bot.evaluation.graders.process import GraderLimits
from bot.evaluation.metrics.registry import METRICS, metric_named
from bot.evaluation.scoring.grader_scorer import GraderScorer
from bot.evaluation.scoring.registry_scorer import RegistryScorer
from bot.evaluation.scoring.truth import PartOfTruth, Truth
from bot.evaluation.views.parts import final_places
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission

__all__ = ["Scorer", "labels_of", "open_scorer", "parts_of", "readable_parts", "sample_of"]


class Scorer(Protocol):
    """Scores the predictions of one task; to be closed."""

    @property
    def kind(self) -> GraderKind:
        """The source of a score."""

    @property
    def name(self) -> str:
        """Name of the metric, for sentences."""

    def truth(self, path: Path, sample: Path) -> Truth:
        """Open a file of answers or labels; `sample` has the ids of the rows to predict.

        Raises:
            InvalidSubmission: the file cannot serve as the truth.
            SnapshotError: the grade.py cannot be used at all.
            InfrastructureFailure: its process does not start.
        """

    def close(self) -> None:
        """End processes that were started; a later score starts them again."""


def open_scorer(card: TaskCard, grader: Path | None, limits: GraderLimits | None = None) -> Scorer:
    """Return the scorer of a task's predictions: the registry's for its metrics, else the competition's grade.py.

    Raises:
        UsageError: the metric is not in the registry, and there is no grader.
    """
    if card.metric.name in METRICS or grader is None:
        return RegistryScorer(card, metric_named(card.metric.name))
    return GraderScorer(card, grader, limits)


def sample_of(view: LabelledView) -> Path:
    """Return the sample of the rows whose labels a view withholds; if these replace the test rows, there is only one."""
    validation_sample = view.data / "sample_validation.csv"
    return validation_sample if validation_sample.is_file() else view.data / "sample_submission.csv"


def labels_of(view: LabelledView, scorer: Scorer) -> Truth:
    """Open a view's labels without those of `final`; raises as `readable_parts`."""
    return readable_parts(view, scorer)[0]


def readable_parts(view: LabelledView, scorer: Scorer) -> tuple[Truth, Truth | None]:
    """Open a view's labels as `parts_of` does, where they must be readable.

    Raises:
        InfrastructureFailure: they cannot be read.
    """
    try:
        return parts_of(view, scorer)
    except InvalidSubmission as error:
        raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error


def parts_of(view: LabelledView, scorer: Scorer) -> tuple[Truth, Truth | None]:
    """Open a view's labels: those for the search's score, and those of `final`, None if no rows are scored apart.

    Both parts score predictions that either has read.

    Raises:
        InvalidSubmission: they cannot be read.
    """
    truth, final_rows = scorer.truth(view.truth, sample_of(view)), sorted(final_places(view.labels))
    if not final_rows:
        return truth, None
    if truth.ids is None:
        raise InvalidSubmission("they are not of the rows that are asked for, so that no part of them can be scored.")
    final = np.array(final_rows, dtype=np.int64)
    holdout_rows = np.setdiff1d(np.arange(len(truth.ids)), final)
    return PartOfTruth(truth, holdout_rows), PartOfTruth(truth, final)
