"""Backtests: how much worse a model gets with time, seen from several earlier cut-offs.

At each cut-off a plain model of trees (HistGradientBoosting of scikit-learn) learns from what is earlier. Its score on rows as
far ahead as the hidden test is compared with its score on rows as near as the validation rows. Labelled rows are fewer
than both together, so windows are half as long. Where test rows follow each of several stretches of training rows, a cut-off is a
place in all of these.
"""

import math
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.metrics.registry import METRICS, Metric
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.views.build import view_info
from bot.evaluation.views.opened_view import OpenedView
from bot.evaluation.views.timeline import train_stretches
from scrapers.snapshots.times import parse_times
from state.errors import InvalidSubmission, UnsupportedLayout

CUTOFFS = 6
_USUAL, _WEIGHT = 0.4, 2
"""How far the logarithm of the change strays as a rule, and of how many cut-offs that has the weight: a few tell little."""
_SHORTER = 0.5
"""Length of windows as a share of what they stand for."""
_MIN_TRAINING_SHARE = 0.25
"""Share of the rows that the earliest cut-off leaves to learn from."""
_MOST_ROWS, _ROUNDS = 10_000, 60
_LEVELS = 250
_MOST_HALF = math.log(5)
"""The interval's half width at most, around what the cut-offs show on average: of few of them it would be wider."""

Array = NDArray[np.float64]


def distance_factors(
    view: OpenedView, labelled: LabelledView, column: str, seconds: float, *, refitted: bool
) -> tuple[float, float] | None:
    """Return how the distance to a perfect score may change from validation to the hidden test: two factors, for 95%.

    None where the task is of another kind than a number or probabilities, where rows are too few, or time is.

    Args:
        column: of the times, which part validation rows from training rows.
        seconds: after which no further model is fitted.
        refitted: whether what predicts the hidden test learns from all labelled rows, not from the training rows alone.
    """
    from scipy.stats import t

    metric = METRICS.get(view.card.metric.name)
    table = None if metric is None or metric.input_kind != "number" else _labelled_rows(view, labelled, column)
    if metric is None or table is None:
        return None
    x, y, age = table
    info = view_info(view.labels)
    validated = round(_SHORTER * len(view.asked_ids))
    withheld = validated if info is None else round(_SHORTER * info.validation_rows)
    forecast = round(_SHORTER * max(1, len(view.test) or len(view.asked_ids)))
    last_cutoff = len(y) - withheld - forecast
    if min(validated, forecast) < 5 or last_cutoff <= _MIN_TRAINING_SHARE * len(y) or last_cutoff < 20:
        return None
    changes, start = list[float](), time.monotonic()
    first_cutoff = max(15, _MIN_TRAINING_SHARE * len(y))
    for cutoff in np.linspace(last_cutoff, first_cutoff, CUTOFFS).astype(int):  # the latest say most
        begin = cutoff + withheld
        windows = ((cutoff, cutoff, validated), (begin if refitted else cutoff, begin, forecast))
        distances = []
        for end, first, length in windows:
            train_rows, test_rows = age < end, (age >= first) & (age < first + length)
            distances.append(_distance(metric, view, x[train_rows], y[train_rows], x[test_rows], y[test_rows]))
        if all(distance is not None and distance > 0 for distance in distances):
            changes.append(math.log((distances[1] or 1) / (distances[0] or 1)))
        if time.monotonic() - start > seconds:
            break
    if not changes:
        return None
    middle, freedom = float(np.mean(changes)), _WEIGHT + len(changes) - 1
    spread = math.sqrt((_WEIGHT * _USUAL**2 + sum((change - middle) ** 2 for change in changes)) / freedom)
    half = min(_MOST_HALF, float(t.ppf(0.975, freedom)) * spread * math.sqrt(1 + 1 / len(changes)))
    return math.exp(min(middle, 0) - half), math.exp(max(middle, 0) + half)


def _labelled_rows(view: OpenedView, labelled: LabelledView, column: str) -> tuple[Array, Array, Array] | None:
    """Return features and labels (rows, prediction columns) of training and hold-out rows, in the order of time.

    With them their ages: how many rows would be earlier if all stretches of training rows, between test rows, were one.
    """
    layout = view.layout
    labelled_rows = [row for row in range(len(view.train)) if layout.has_label(row)]
    try:
        truth = np.array([layout.truth(row) for row in labelled_rows]).astype(float)
        holdout_truth = read_truth(labelled.truth, view.asked_ids, view.card).astype(float)
    except (ValueError, InvalidSubmission, UnsupportedLayout):
        return None
    if len(holdout_truth) != len(view.validation) or truth.ndim != 2 or truth.shape[1] != holdout_truth.shape[1]:
        return None
    table = pd.concat([view.train.iloc[labelled_rows], view.validation], ignore_index=True)
    time_cells = (
        table[column] if column in table else pd.Series([*(view.train_ids[row] for row in labelled_rows), *view.ids])
    )
    times = parse_times(time_cells.tolist())
    if times is None:
        return None
    order = np.argsort(times, kind="stable")
    return _numbers(table, times)[order], np.vstack([truth, holdout_truth])[order], _ages(view, column, times)[order]


def _ages(view: OpenedView, column: str, times: Sequence[float]) -> Array:
    """Return each labelled row's place in its stretch, as a share of the stretch times the number of rows."""
    test_times = parse_times(view.test[column].tolist() if column in view.test else view.test_ids)
    stretches = None if test_times is None else train_stretches(times, test_times)
    stretch = pd.Series([0 if stretches is None else stretches[time] for time in times])
    rank = pd.Series(times).groupby(stretch).rank(method="first") - 1
    return (rank / stretch.map(stretch.value_counts()) * len(times)).to_numpy(float)


def _numbers(table: pd.DataFrame, times: Sequence[float]) -> Array:
    """Return numbers, levels by how frequent they are, and parts of the time."""
    clock = pd.to_datetime(pd.Series(times), unit="s")
    columns = [getattr(clock.dt, part).to_numpy(float) for part in ("month", "day", "day_of_week", "hour")]
    for name in table:
        cells = table[name]
        numbers = pd.to_numeric(cells, errors="coerce")
        if numbers.notna().mean() < 0.5 * (cells != "").mean():
            levels = {level: code for code, level in enumerate(cells.value_counts().index[:_LEVELS])}
            numbers = cells.map(levels)
        columns.append(numbers.to_numpy(float))
    return np.column_stack([*columns, np.array(times)])


def _distance(metric: Metric, view: OpenedView, x: Array, y: Array, x_window: Array, y_window: Array) -> float | None:
    """Return how forecast from perfect the plain model's score of some rows is; None where it has none."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    x, y, columns = x[-_MOST_ROWS:], y[-_MOST_ROWS:], y.shape[1]
    if not metric.of_classes:
        models = [HistGradientBoostingRegressor(max_iter=_ROUNDS).fit(x, target) for target in y.T]
        predictions = np.column_stack([model.predict(x_window) for model in models])
    else:
        labels = y.argmax(axis=1) if columns > 1 else y[:, 0]
        if len(np.unique(labels)) < 2 or not set(labels) <= set(range(max(2, columns))):
            return None
        model = HistGradientBoostingClassifier(max_iter=_ROUNDS).fit(x, labels)
        chances = np.zeros((len(x_window), max(2, columns)))
        chances[:, model.classes_.astype(int)] = model.predict_proba(x_window)
        predictions = chances if columns > 1 else chances[:, 1:]
    params = view.card.metric.params
    with np.errstate(all="ignore"):
        try:
            distance = abs(metric.score(y_window, y_window, params) - metric.score(y_window, predictions, params))
        except (ValueError, ZeroDivisionError):
            return None
    return float(distance) if math.isfinite(distance) else None
