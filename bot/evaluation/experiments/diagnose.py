"""Computes how predictions err: out of fold where such predictions are stored, else on the hold-out rows."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.diagnostics import Diagnostics, Grouping
from bot.evaluation.experiments.scoring_data import ScoringData, open_rows
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import Metric
from bot.evaluation.scoring.bank import read_predicted
from bot.evaluation.scoring.scored_rows import ScoredRows
from bot.evaluation.scoring.truth import PredictionSet
from bot.evaluation.views.opened_view import OpenedView
from state.errors import UnsupportedLayout

_BINS, _MIN_CELLS = 10, 10
"""Of the probabilities, and the fewest of them in a bin that is shown."""
_POINTS = 400
"""Most residuals shown."""
_MAX_COLUMNS, _MAX_LEVELS, _MAX_CLASSES, _QUARTERS, _MIN_ROWS = 50, 12, 20, 4, 15
_CHANCE = 0.01
"""Error probability of a column's differences, over all columns (Bonferroni)."""


def diagnose(folds: LabelledView | None, view: LabelledView, predictions: Path, oof: Path | None) -> Diagnostics | None:
    """Return how predictions err; None where only the competition's own grader can score them.

    Args:
        folds: the training rows with a fold; None: no folds could be cut.
        view: the hold-out view.
        predictions: of its validation rows.
        oof: stored out-of-fold predictions of the training rows, if there are any.

    Raises:
        InvalidSubmission: the predictions cannot be read.
        InfrastructureFailure: the labels cannot be read.
    """
    with ExitStack() as stack:
        data = open_rows(folds, view, stack)
        out_of_fold = data.training is not None and oof is not None
        rows, file = (
            (data.training, oof) if data.training is not None and oof is not None else (data.holdout, predictions)
        )
        labels, metric = rows.labels, rows.metric
        if labels is None or metric is None:
            return None
        all_values = read_predicted(file, rows.sample, view.card)
        predictions_of_rows, values = rows.predictions(all_values), all_values[rows.places]
        classes = _classes(labels, metric, view.card.prediction_columns)
        groupings = [] if classes is None else [_grouping(rows, predictions_of_rows, "", classes)]
        cell_errors = np.abs(labels - values) if values.dtype.kind == "f" else labels.astype(str) != values.astype(str)
        errors = np.asarray(cell_errors.mean(axis=1), dtype=float)
        columns = list(_columns(view, data, out_of_fold=out_of_fold))
        chances = [_chance(levels, errors) for _, levels in columns]
        if columns and min(chances) * len(columns) < _CHANCE:
            name, levels = columns[int(np.argmin(chances))]
            groupings.append(_grouping(rows, predictions_of_rows, name, levels))
        return Diagnostics(
            rows=len(values),
            out_of_fold=out_of_fold,
            groupings=tuple(grouping for grouping in groupings if len(grouping.groups) > 1),
            columns_compared=len(columns),
            calibration=_calibration(labels, metric, values),
            residuals=_residuals(labels, metric, values),
        )


def _classes(labels: Values, metric: Metric, columns: Sequence[str]) -> NDArray[np.object_] | None:
    """Return the class of each row; None where it has none of a few."""
    if not metric.of_classes or metric.of_order:
        return None
    if labels.shape[1] == 1:
        classes = pd.Series(labels[:, 0]).map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
        return classes.to_numpy(object) if classes.nunique() <= _MAX_CLASSES else None
    is_one_hot = labels.dtype.kind == "f" and (labels.sum(axis=1) == 1).all() and labels.shape[1] <= _MAX_CLASSES
    return np.array(columns, dtype=object)[labels.argmax(axis=1)] if is_one_hot else None


def _columns(view: LabelledView, data: ScoringData, *, out_of_fold: bool) -> Iterator[tuple[str, NDArray[np.object_]]]:
    """Yield the columns of the rows' table, each with its level or quarter by row; an empty level stands for an unknown row."""
    opened_view = OpenedView(view.data, view.labels, view.card)
    try:
        table = opened_view.train if out_of_fold else opened_view.validation
        if out_of_fold:
            place = np.empty(0, dtype=int) if data.lines is None else data.lines.line
        else:
            place = np.full(len(data.holdout.places), -1)
            for row, row_places in enumerate(opened_view.prediction_places):
                place[list(row_places)] = row
    except UnsupportedLayout:
        return
    place = np.where(place < len(table), place, -1)
    for name in table.columns[:_MAX_COLUMNS]:
        levels = _levels(table[name])
        if levels is not None:
            yield name, np.where(place >= 0, levels[place], "")


def _levels(column: pd.Series) -> NDArray[np.object_] | None:
    """Return the level of each row, or the quarter that its number lies in; None: there is one level, or too many."""
    cells = column.fillna("").astype(str)
    levels: NDArray[np.object_] = cells.replace("", "missing").to_numpy(object)
    if (level_count := cells.nunique()) <= _MAX_LEVELS:
        return levels if level_count > 1 else None
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float)
    if np.isnan(numbers).sum() > (cells == "").sum():
        return None
    edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, _QUARTERS + 1)))
    if len(edges) < 3:
        return None
    names = np.array([f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)], dtype=object)
    quarters = np.clip(np.searchsorted(edges, numbers) - 1, 0, len(names) - 1)
    return np.where(np.isnan(numbers), "missing", names[quarters])


def _chance(levels: NDArray[np.object_], errors: NDArray[np.float64]) -> float:
    """Return how likely the errors of groups differ so much by accident (Kruskal-Wallis)."""
    groups = [errors[levels == level] for level in np.unique(levels.astype(str)) if level]
    groups = [group for group in groups if len(group) >= _MIN_ROWS]
    if len(groups) < 2 or np.ptp(np.concatenate(groups)) == 0:
        return 1.0
    return float(stats.kruskal(*groups).pvalue)


def _grouping(rows: ScoredRows, predictions: PredictionSet, column: str, levels: NDArray[np.object_]) -> Grouping:
    groups = []
    for level in np.unique(levels.astype(str)):
        members = np.flatnonzero(levels == level)
        if level and len(members) >= _MIN_ROWS and np.isfinite(score := rows.score(predictions, members)):
            groups.append((str(level), len(members), score))
    return Grouping(column, tuple(sorted(groups, key=lambda group: rows.card.oriented(group[2]))))


def _calibration(labels: Values, metric: Metric, values: Values) -> tuple[tuple[float, float, int], ...]:
    if not metric.of_classes or metric.of_order or values.dtype.kind != "f":
        return ()
    if not np.isin(labels, (0.0, 1.0)).all() or values.min() < 0 or values.max() > 1:
        return ()
    chances, is_positive = values.ravel(), labels.ravel()
    bins = np.minimum((chances * _BINS).astype(int), _BINS - 1)
    members = [np.flatnonzero(bins == number) for number in range(_BINS)]
    return tuple(
        (float(chances[cells].mean()), float(is_positive[cells].mean()), len(cells))
        for cells in members
        if len(cells) >= _MIN_CELLS
    )


def _residuals(labels: Values, metric: Metric, values: Values) -> tuple[tuple[float, float], ...]:
    if metric.of_classes or values.dtype.kind != "f" or labels.dtype.kind != "f":
        return ()
    order = np.argsort(values[:, 0], kind="stable")
    sample = order[np.linspace(0, len(order) - 1, min(_POINTS, len(order))).astype(int)]
    return tuple((float(values[row, 0]), float(labels[row, 0] - values[row, 0])) for row in sample)
