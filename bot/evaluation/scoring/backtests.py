"""Backtests: how much worse a model gets with time, seen from several earlier cut-offs.

At each cut-off a plain model of trees (HistGradientBoosting of scikit-learn) learns from what is earlier. Its score on rows as
far ahead as the hidden test is compared with its score on rows as near as the validation rows. Labelled rows are fewer
than both together, so windows are half as long, and a drift that wanders grows with the root of the time.
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
from bot.evaluation.views.opened_view import OpenedView
from scrapers.snapshots.times import parse_times
from state.errors import InvalidSubmission, UnsupportedLayout

CUTOFFS, FEWEST = 6, 4
"""Cut-offs, and how many of them need a score."""
_SHORTER = 0.5
"""Length of windows as a share of what they stand for."""
_LEAST = 0.25
"""Share of the rows that the earliest cut-off leaves to learn from."""
_MOST_ROWS, _ROUNDS = 10_000, 60
_LEVELS = 250
_MOST_FACTOR = math.log(20)

Array = NDArray[np.float64]


def distance_factors(
    view: OpenedView, labelled: LabelledView, column: str, seconds: float
) -> tuple[float, float] | None:
    """Return how the distance to a perfect score may change from validation to the hidden test: two factors, for 95%.

    None where the task is of another kind than a number or probabilities, where rows are too few, or time is.

    Args:
        column: of the times, which part validation rows from training rows.
        seconds: after which no further model is fitted.
    """
    from scipy.stats import t

    metric = METRICS.get(view.card.metric.name)
    rows = None if metric is None or metric.takes != "number" else _labelled_rows(view, labelled, column)
    if metric is None or rows is None:
        return None
    x, y = rows
    near = round(_SHORTER * len(view.asked_ids))
    far = round(_SHORTER * max(1, len(view.test) or len(view.asked_ids)))
    last = len(y) - near - max(near, far)
    if min(near, far) < 5 or last <= _LEAST * len(y) or last < 20:
        return None
    changes, began = list[float](), time.monotonic()
    for cutoff in np.linspace(max(15, _LEAST * len(y)), last, CUTOFFS).astype(int):
        later = cutoff + near
        distances = [
            _distance(metric, view, x[:end], y[:end], x[end : end + ahead], y[end : end + ahead])
            for end, ahead in ((cutoff, near), (later, far))
        ]
        if all(one is not None and one > 0 for one in distances):
            changes.append(math.log((distances[1] or 1) / (distances[0] or 1)))
        if time.monotonic() - began > seconds:
            break
    if len(changes) < FEWEST:
        return None
    spread = float(np.std(changes, ddof=1)) * math.sqrt((1 + 1 / len(changes)) / _SHORTER)
    half, middle = float(t.ppf(0.975, len(changes) - 1)) * spread, float(np.mean(changes))
    low, high = (min(_MOST_FACTOR, max(-_MOST_FACTOR, one)) for one in (min(middle, 0) - half, max(middle, 0) + half))
    return math.exp(low), math.exp(high)


def _labelled_rows(view: OpenedView, labelled: LabelledView, column: str) -> tuple[Array, Array] | None:
    """Return features and labels (rows, prediction columns) of training and hold-out rows, in the order of time."""
    layout = view.layout
    known = [row for row in range(len(view.train)) if layout.has_label(row)]
    try:
        truth = np.array([layout.truth(row) for row in known]).astype(float)
        own = read_truth(labelled.truth, view.asked_ids, view.card).astype(float)
    except (ValueError, InvalidSubmission, UnsupportedLayout):
        return None
    if len(own) != len(view.validation) or truth.ndim != 2 or truth.shape[1] != own.shape[1]:
        return None
    table = pd.concat([view.train.iloc[known], view.validation], ignore_index=True)
    dated = table[column] if column in table else pd.Series([*(view.train_ids[row] for row in known), *view.ids])
    times = parse_times(dated.tolist())
    if times is None:
        return None
    order = np.argsort(times, kind="stable")
    return _numbers(table, times)[order], np.vstack([truth, own])[order]


def _numbers(table: pd.DataFrame, times: Sequence[float]) -> Array:
    """Return numbers, levels by how frequent they are, and parts of the time."""
    clock = pd.to_datetime(pd.Series(times), unit="s")
    columns = [getattr(clock.dt, part).to_numpy(float) for part in ("month", "day", "weekday", "hour")]
    for name in table:
        cells = table[name]
        numbers = pd.to_numeric(cells, errors="coerce")
        if numbers.notna().mean() < 0.5 * (cells != "").mean():
            levels = {level: at for at, level in enumerate(cells.value_counts().index[:_LEVELS])}
            numbers = cells.map(levels)
        columns.append(numbers.to_numpy(float))
    return np.column_stack([*columns, np.array(times)])


def _distance(metric: Metric, view: OpenedView, x: Array, y: Array, x_asked: Array, y_asked: Array) -> float | None:
    """Return how far from perfect the plain model's score of some rows is; None where it has none."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    x, y, columns = x[-_MOST_ROWS:], y[-_MOST_ROWS:], y.shape[1]
    if not metric.of_classes:
        models = [HistGradientBoostingRegressor(max_iter=_ROUNDS).fit(x, own) for own in y.T]
        made = np.column_stack([model.predict(x_asked) for model in models])
    else:
        labels = y.argmax(axis=1) if columns > 1 else y[:, 0]
        if len(np.unique(labels)) < 2 or not set(labels) <= set(range(max(2, columns))):
            return None
        model = HistGradientBoostingClassifier(max_iter=_ROUNDS).fit(x, labels)
        chances = np.zeros((len(x_asked), max(2, columns)))
        chances[:, model.classes_.astype(int)] = model.predict_proba(x_asked)
        made = chances if columns > 1 else chances[:, 1:]
    params = view.card.metric.params
    with np.errstate(all="ignore"):
        try:
            found = abs(metric.score(y_asked, y_asked, params) - metric.score(y_asked, made, params))
        except (ValueError, ZeroDivisionError):
            return None
    return float(found) if math.isfinite(found) else None
