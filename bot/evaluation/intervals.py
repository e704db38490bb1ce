"""Intervals: where the hidden score is to be expected, by the validation score and how uncertain that is.

The hidden score of a model is that of other rows. So the interval is one of prediction, not of the mean: rows of the hold-out
part are resampled (what the validation rows might have been), and from each such draw as many rows are drawn as the hidden
test has (what its rows might be). Where validation rows hang together, in groups or in time, whole groups and stretches are
drawn. Three things are added to that:

- A model that was trained on other rows is another one. Nadeau and Bengio (2003, "Inference for the generalization error")
  count a share of the variance for it: the rows that were validated on over those that were trained on.
- What the few validation rows did not hold, be it a row of another kind or, where rows go together, a group or a stretch of
  time like no other: it counts as half a row, or half a group, seen besides (the weight of Jeffreys' prior), and its
  predictions are those of other rows.
- What is handed in is trained on more rows, and may be better for it: no more than if its error fell with the number of rows
  (1/n is the fastest that a risk falls in general; a root of one falls with the root). Nothing is taken off the other end, as
  more rows may help nothing.
"""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.groups import disjoint_group_column
from bot.evaluation.guards.guarded_view import GuardedView
from bot.evaluation.metrics import Metric, metric_named
from bot.evaluation.split import FINAL_SHARE, HOLDOUT_SHARE
from bot.evaluation.submission_file import read_submission, read_truth
from bot.evaluation.tables import read_table
from bot.evaluation.timeline import parse_times, train_stretches
from scrapers.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission, UnsupportedLayout

LEVEL = 0.95
DRAWS = 250
FEWEST = 60
"""Draws on which the metric must be defined; of fewer nothing is said."""
STRETCHES = 40
"""Stretches that validation rows are cut into where they follow one another in time."""
_ROOTS = frozenset({"rmse", "rmsle", "mean_columnwise_rmsle"})
"""Metrics that are a root of a mean, whose error falls with the root of the rows at best."""

Values = NDArray[Any]


def validation_interval(
    labels_dir: Path,
    view_dir: Path,
    predictions: Path,
    card: TaskCard,
    seed: int,
    refit: bool = True,
    seconds: float = 30.0,
) -> dict[str, Any]:
    """Say between which two values the hidden score is to be expected in 95 of 100 cases.

    Args:
        labels_dir: holds the hold-out view's labels.csv.
        view_dir: the view's `data` folder; its sample_submission.csv says how many rows the hidden test has.
        predictions: of the rows of `sample_validation.csv`.
        card: the task.
        seed: of the draws.
        refit: whether what is handed in was trained on all rows.
        seconds: after which no more draws are made than `FEWEST`.

    Returns:
        `low` and `high`, as the metric gives scores, None where the metric was defined on too few draws; `level`; `draws`;
        `together`: by what validation rows were drawn together, None where each was drawn by itself; `test_rows`.

    Raises:
        InvalidSubmission: the predictions cannot be read.
        InfrastructureFailure: the labels cannot.
        UsageError: the card's metric is not known.
    """
    metric = metric_named(card.metric.name)
    ids, predicted = read_submission(predictions, view_dir / "sample_validation.csv", card)
    try:
        truth = read_truth(labels_dir / "labels.csv", ids, card)
    except InvalidSubmission as error:
        raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error
    test_rows = sum(1 for _ in read_table(view_dir / "sample_submission.csv").rows())
    clusters, together = _clusters(GuardedView(view_dir, labels_dir, card), ids)
    scores = _predictive(metric, truth, predicted, clusters, test_rows, card, seed, seconds)
    told = {"level": LEVEL, "draws": len(scores), "together": together, "test_rows": test_rows}
    score, perfect = (metric.score(truth, side, card.metric.params) for side in (predicted, truth))
    if len(scores) < FEWEST or not math.isfinite(score):
        return {"low": None, "high": None, **told}
    low, high = _ends(scores, score, len(ids) / test_rows)
    if refit and math.isfinite(perfect):
        low, high = _with_refit(low, high, perfect, card)
    return {"low": low, "high": high, **told}


def _ends(scores: NDArray[np.float64], score: float, ratio: float) -> tuple[float, float]:
    """Return the quantiles of what was drawn, stretched away from the score for a model of other training rows."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(scores, [tail, 1 - tail])
    trained = HOLDOUT_SHARE / (1 - HOLDOUT_SHARE)
    stretch = math.sqrt((1 + ratio + trained) / (1 + ratio))
    return score - stretch * (score - float(low)), score + stretch * (float(high) - score)


def _with_refit(low: float, high: float, perfect: float, card: TaskCard) -> tuple[float, float]:
    """Move the better end towards the perfect score as far as more rows can."""
    more = (1 - FINAL_SHARE) * (1 - HOLDOUT_SHARE)
    left = math.sqrt(more) if card.metric.name in _ROOTS else more
    if card.lower_is_better:
        return perfect + (low - perfect) * left, high
    return low, perfect - (perfect - high) * left


def _predictive(
    metric: Metric,
    truth: Values,
    predicted: Values,
    clusters: list[NDArray[np.intp]],
    test_rows: int,
    card: TaskCard,
    seed: int,
    seconds: float,
) -> NDArray[np.float64]:
    """Return scores of hidden tests as they may be, those on which the metric is not defined left out."""
    rng = np.random.default_rng(seed)
    began, found = time.monotonic(), []
    drawn = max(1, round(len(clusters) * test_rows / len(truth)))
    for _ in range(DRAWS):
        seen = rng.integers(0, len(clusters), len(clusters))
        chosen = [clusters[at] for at in seen[rng.integers(0, len(seen), drawn)]]
        rows = np.concatenate(chosen)
        # A hidden test has a share of what the validation rows may have lacked.
        lacking = rng.random(drawn) < rng.gamma(0.5) / len(clusters)
        unlike = np.repeat(lacking, [len(one) for one in chosen])
        guess = predicted[np.where(unlike, rng.integers(0, len(truth), len(rows)), rows)]
        found.append(metric.score(truth[rows], guess, card.metric.params))
        if len(found) >= FEWEST and time.monotonic() - began > seconds:
            break
    scores: NDArray[np.float64] = np.array(found, dtype=float)
    defined: NDArray[np.float64] = scores[np.isfinite(scores)]
    return defined


def _clusters(view: GuardedView, ids: list[str]) -> tuple[list[NDArray[np.intp]], str | None]:
    """Return which validation rows go together, and by what; rows of a layout that is not understood go alone."""
    alone = [np.array([row]) for row in range(len(ids))]
    try:
        column, keys = _time_of(view) or _group_of(view) or (None, [])
    except UnsupportedLayout:
        return alone, None
    if column is None:
        return alone, None
    place = dict(zip(view.ids, keys, strict=True))
    found: dict[Any, list[int]] = {}
    for row, id in enumerate(ids):
        found.setdefault(place[id], []).append(row)
    return [np.array(rows) for rows in found.values()], column


def _time_of(view: GuardedView) -> tuple[str, list[Any]] | None:
    """Return the column by which time parts validation rows from training rows, and the stretch of each validation row."""
    columns = [(view.card.id_column, view.train_ids, view.ids)]
    columns += [(name, view.train[name].tolist(), view.validation[name].tolist()) for name in view.features]
    for name, train, asked in columns:
        times = parse_times(train), parse_times(asked)
        if times[0] is None or times[1] is None or train_stretches(times[0], times[1]) is None:
            continue
        order = np.argsort(np.array(times[1]), kind="stable")
        stretch = np.empty(len(asked), dtype=int)
        for number, rows in enumerate(np.array_split(order, min(STRETCHES, len(asked)))):
            stretch[rows] = number
        return name, stretch.tolist()
    return None


def _group_of(view: GuardedView) -> tuple[str, list[Any]] | None:
    """Return the column whose groups are not parted between training and validation rows, and the group of each."""
    column = disjoint_group_column(view.layout.train, read_table(view.folder / "validation.csv"), view.features)
    return None if column is None else (column, view.validation[column].tolist())
