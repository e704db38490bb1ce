"""Scores by a metric of the registry, on arrays."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.params import Params
from bot.evaluation.metrics.registry import Metric
from bot.evaluation.scoring.bank import read_answers, read_predicted
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.scoring.truth import PredictionSet, Rows, Truth
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission, UsageError

ScoreDraw = Callable[[Rows], float]
"""Takes the numbers of the drawn rows, and returns their score; NaN where it is undefined."""

BINS = 4096


def draw_scorer(metric: Metric, truth: Values, prediction: Values, params: Params) -> ScoreDraw:
    """Return a function that scores draws of rows of these predictions, which have the metric's form."""
    losses = metric.row_losses(truth, prediction, params)
    if losses is not None:
        return _mean_of(losses, rooted=metric.rooted)
    if metric.name == "roc_auc":
        return _area_of([_binned(truth[:, column], prediction[:, column]) for column in range(truth.shape[1])])
    return lambda rows: metric.score(truth[rows], prediction[rows], params) if len(rows) else math.nan


def _mean_of(losses: Values, *, rooted: bool) -> ScoreDraw:
    columns = np.ascontiguousarray(losses.T)

    def score(rows: Rows) -> float:
        if not len(rows):
            return math.nan
        means = columns[:, rows].mean(axis=1)
        return float((np.sqrt(means) if rooted else means).mean())

    return score


def _binned(truth: Values, prediction: Values) -> NDArray[np.int64]:
    """Return twice each row's bin, plus 1 for the larger class; -1 for all rows unless there are two classes."""
    classes, positive = np.unique(truth, return_inverse=True)
    if len(classes) != 2:
        return np.full(len(truth), -1, dtype=np.int64)
    values, place = np.unique(prediction, return_inverse=True)
    if len(values) > BINS:
        # Bins of about equally many rows, in the order of the predictions.
        rows_up_to = np.cumsum(np.bincount(place)) - 1
        place = (rows_up_to * BINS // len(prediction))[place]
    return np.asarray(2 * place + positive)


def _area_of(columns: list[NDArray[np.int64]]) -> ScoreDraw:
    def area(keys: NDArray[np.int64]) -> float:
        if not len(keys) or keys[0] < 0:
            return math.nan
        counts = np.bincount(keys, minlength=2 * BINS).reshape(-1, 2).astype(float)
        negative, positive = counts.sum(axis=0)
        if negative == 0 or positive == 0:
            return math.nan
        positives_below = np.cumsum(counts[:, 0]) - counts[:, 0] / 2
        return float((counts[:, 1] * positives_below).sum() / (negative * positive))

    return lambda rows: float(np.mean([area(keys[rows]) for keys in columns]))


_MAX_SHOWN = 3
"""Columns that are named, of those that leave a metric undefined."""


@dataclass(frozen=True)
class RegistryScorer:
    """Scores the predictions of one task by a metric; its `close` is for graders alone."""

    card: TaskCard
    metric: Metric
    kind: Literal["registry"] = "registry"

    @property
    def name(self) -> str:
        """Of the metric, for sentences."""
        return f"metric {self.metric.name}"

    def truth(self, path: Path, sample: Path) -> Truth:
        """Open a file of answers or labels; see `GraderScorer.truth`."""
        ids, values = read_answers(path, sample, self.card)
        return _Values(self.card, self.metric, sample, ids, values)

    def close(self) -> None:
        """Do nothing: nothing was started."""


@dataclass(frozen=True)
class _Values:
    """The truth as an array, rows in the order of the sample."""

    card: TaskCard
    metric: Metric
    sample: Path
    ids: Sequence[str]
    values: NDArray[Any]
    repeats: bool = True

    def read(self, path: Path) -> PredictionSet:
        values = read_predicted(path, self.sample, self.card)
        if values.shape != self.values.shape:  # a bank's array of other rows
            raise InvalidSubmission(f"{path.name} has the shape {values.shape}; expected: {self.values.shape}.")
        return PredictionSet(path.name, values)

    def perfect(self, path: Path) -> PredictionSet:
        return PredictionSet(path.name, read_truth(path, self.ids, self.card))

    def constant(self, cells: Sequence[Any]) -> PredictionSet:
        row: NDArray[Any] = np.empty((1, len(cells)), dtype=self.values.dtype)
        row[0] = cells
        return PredictionSet("a constant", np.repeat(row, len(self.values), axis=0))

    def score(self, predictions: PredictionSet, rows: Rows | None = None, donors: Rows | None = None) -> float | None:
        truth, values = self.values, predictions.values
        assert values is not None  # noqa: S101 - read by this class
        if rows is not None:
            truth, values = truth[rows], values[rows if donors is None else donors]
        score = self.metric.score(truth, values, self.card.metric.params) if len(truth) else np.nan
        return float(score) if np.isfinite(score) else None

    def draws(self, predictions: PredictionSet) -> Callable[[Rows], float]:
        assert predictions.values is not None  # noqa: S101 - read by this class
        return draw_scorer(self.metric, self.values, predictions.values, self.card.metric.params)

    def fault(self, rows: Rows | None = None) -> str | None:
        """Return why not even right predictions have a score, with the columns; UsageError: a parameter is wrong."""
        metric, params = self.metric, self.card.metric.params
        truth = self.values if rows is None else self.values[rows]
        if np.isfinite(metric.score(truth, truth, params)):
            return None
        faulty = [column for column in range(truth.shape[1]) if not _scores_alone(metric, truth[:, [column]], params)]
        columns = self.card.prediction_columns
        return _constants("truth", truth, faulty, columns) or "even correct predictions get no score"

    def why_not(self, predictions: PredictionSet, rows: Rows | None = None) -> str:
        assert predictions.values is not None  # noqa: S101 - read by this class
        values = predictions.values if rows is None else predictions.values[rows]
        constants = _constants("prediction", values, range(values.shape[1]), self.card.prediction_columns)
        return constants or "the metric is undefined for these predictions"


def _scores_alone(metric: Metric, truth: Values, params: Params) -> bool:
    try:
        return bool(np.isfinite(metric.score(truth, truth, params)))
    except UsageError:  # the parameters are those of all columns together
        return False


def _constants(kind: str, values: Values, places: Sequence[int], columns: Sequence[str]) -> str | None:
    """Name the columns among some that are constant; None: none is."""
    constant = [place for place in places if len(values) and (values[:, place] == values[0, place]).all()]
    if not constant:
        return None
    column_words = [f"{columns[place]} ({_cell(values[0, place])})" for place in constant[:_MAX_SHOWN]]
    rest_words = f" and {len(constant) - _MAX_SHOWN} more" if len(constant) > _MAX_SHOWN else ""
    noun = "columns" if len(constant) > 1 else "column"
    return f"the {kind} in {noun} {', '.join(column_words)}{rest_words} is the same in all {len(values):,} rows"


def _cell(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(str(value)[:40])
