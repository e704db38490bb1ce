"""Fits the weights of a blend: greedy selection with replacement, bagged over halves of the rows.

Caruana et al. (2004, "Ensemble selection from libraries of models"): members are added one by one, each the one that makes the
mean best, and may be added again. Each bag sees half of the rows, so that weights of members whose difference is mere noise
come out alike. Rows, not members, are drawn: a bag without the good members would bring in bad ones. Few steps in many bags
overfit less than many steps in few. A row's own weights come from the bags that have not seen it (Breiman 1996, "Out-of-bag
estimation"), so that no fit is repeated to learn what the weights are worth.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.params import Params, number
from bot.evaluation.metrics.probabilities import EPS
from bot.evaluation.metrics.ranking import mean_ranks
from bot.evaluation.metrics.registry import METRICS, Metric, metric_named
from bot.evaluation.scoring.truth import Rows
from scrapers.snapshots.card import TaskCard

StackScorer = Callable[[Rows, Values], NDArray[np.float64]]
"""Takes rows, and many predictions of them (predictions, rows, columns); returns the score of each, more is better."""

MAX_MEMBERS = 8
"""Members of a blend; each is one more script to run again before it is submitted."""
_MIN_WEIGHT = 0.03
"""Weights below this are no help that could be measured."""
LOG_LOSSES = ("log_loss", "mean_columnwise_log_loss")
SQUARES_OF_LOGARITHMS = {"rmsle": "rmse", "msle": "mse", "mean_columnwise_rmsle": "mean_columnwise_rmse"}
SQUARES = ("rmse", "mse", "mean_columnwise_rmse")


@dataclass(frozen=True)
class Effort:
    """How much work a fit is; it depends on the task alone, so that a fit that is repeated has the same result."""

    members: int
    steps: int
    bags: int
    rows: int


def effort_for(card: TaskCard) -> Effort:
    """Return what can be spent on a fit: less where each score is computed by the metric itself."""
    columns = len(card.prediction_columns)
    if METRICS[card.metric.name].rows:
        return Effort(30, 4, 24, min(20_000, max(2_000, 40_000 // columns)))
    # Labels are compared one by one, and texts are longer.
    input_kind = METRICS[card.metric.name].input_kind
    max_rows, cells = 3_000 if input_kind == "text" else 6_000, 20_000 if input_kind == "number" else 10_000
    return Effort(20, 4, 16, min(max_rows, max(1_000, cells // columns)))


def simplified(card: TaskCard, truth: Values, parts: Values) -> tuple[StackScorer, Values]:
    """Return a function that scores means of parts of the first space, and the parts, less what does not matter for it.

    The truth is (rows, columns), the parts are (members, rows, columns).
    """
    metric, params = metric_named(card.metric.name), card.metric.params
    floor = number(params, "eps", EPS, minimum=0.0) if metric.name in LOG_LOSSES else 0.0
    if metric.name in SQUARES_OF_LOGARITHMS:
        metric, truth = METRICS[SQUARES_OF_LOGARITHMS[metric.name]], np.log1p(truth)
    scores: StackScorer = partial(_one_by_one, metric, params, truth)
    if metric.name in SQUARES and not params:
        # The error of a mean is the mean of the errors.
        parts, scores = parts - truth, partial(_of_errors, metric)
    elif metric.name == "spearman":
        scores = partial(_of_ranks, truth)
    elif metric.name in LOG_LOSSES and ((truth == 0) | (truth == 1)).all():
        # Of what is certain only the probability that it was given counts.
        certain = None
        if metric.name == "mean_columnwise_log_loss" or truth.shape[1] == 1:
            certain = np.where(truth == 1, parts, 1 - parts)
        elif (truth.sum(axis=1) == 1).all():
            certain = np.take_along_axis(parts, truth.argmax(axis=1)[None, :, None], axis=2)
        if certain is not None:
            parts, scores = certain, lambda _, stack: -np.log(np.clip(stack, floor, 1 - floor)).mean(axis=(1, 2))
    sign, by_rank = card.oriented(1.0), metric.spaces[0] == "rank"

    def score_stack(rows: Rows, stack: Values) -> NDArray[np.float64]:
        # Sums of ranks are often equal, but for rounding, which would break such ties at random.
        with np.errstate(all="ignore"):
            stack_scores = sign * scores(rows, np.round(stack, 9) if by_rank else stack)
        # What only rounding makes different is equal.
        return np.where(np.isfinite(stack_scores), np.round(stack_scores, 12), -np.inf)

    return score_stack, parts


def _one_by_one(metric: Metric, params: Params, truth: Values, rows: Rows, stack: Values) -> NDArray[np.float64]:
    labels = truth[rows]
    return np.array([metric.score(labels, p, params) for p in stack])


def _of_errors(metric: Metric, _: Rows, errors: Values) -> Values:
    """Return the scores of errors (predictions, rows, columns) by a metric that is a mean of squares, or a root of one."""
    means = np.einsum("prc,prc->pc", errors, errors) / errors.shape[1]
    if metric.name != "mean_columnwise_rmse":
        means = means.mean(axis=1, keepdims=True)
    return np.asarray((np.sqrt(means) if metric.rooted else means).mean(axis=1))


def _of_ranks(truth: Values, rows: Rows, stack: Values) -> NDArray[np.float64]:
    """Return Spearman's correlation, mean over the columns, of each prediction; the truth is ranked once for all of them."""
    ranks = _standardised(mean_ranks(truth[rows]))
    return np.array([(ranks * _standardised(mean_ranks(p))).sum(axis=0).mean() for p in stack])


def _standardised(columns: Values) -> Values:
    """Return columns with mean 0 and length 1; NaN where one is constant."""
    deviations = columns - columns.mean(axis=0)
    return np.asarray(deviations / np.sqrt((deviations**2).sum(axis=0)))


def halves(cluster_of: NDArray[np.int64], bags: int, seed: int) -> NDArray[np.bool_]:
    """Return which rows are in which bag (bags, rows): half of the clusters, and then the other half, so that each row is left
    out of every other bag.

    Args:
        cluster_of: number of the cluster of each row, which stays together.
        bags: how many, an even number.
    """  # noqa: D205 - one sentence
    rng = np.random.default_rng(seed)
    clusters, place = np.unique(cluster_of, return_inverse=True)
    bag_rows = []
    for _ in range(bags // 2):
        half = (rng.permutation(len(clusters)) < len(clusters) // 2)[place]
        bag_rows += [half, ~half]
    return np.stack(bag_rows)


def fit_bags(
    parts: Values, score_stack: StackScorer, bags: NDArray[np.bool_], steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights that each bag gives (bags, members), twice: to the best member alone, and to the best few together.

    The parts are members' predictions in a space (members, rows, columns); a bag sees its rows (bags, rows).
    """
    first_weights, all_weights = [], []
    for bag in bags:
        rows = np.flatnonzero(bag)
        first, best = _greedy(parts[:, rows], partial(score_stack, rows), steps)
        first_weights.append(first)
        all_weights.append(best)
    return np.stack(first_weights), np.stack(all_weights)


def unseen(weights: NDArray[np.float64], bags: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return weights for each row (rows, members), from the bags that have not seen it."""
    without = (~bags).astype(float)
    return np.asarray((without.T @ weights) / without.sum(axis=0)[:, None])


def pruned(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights (..., members) with the sum 1, at most `MAX_MEMBERS` of them above 0, and none too small to matter."""
    large = np.where(weights >= np.minimum(_MIN_WEIGHT, weights.max(axis=-1, keepdims=True)), weights, 0.0)
    np.put_along_axis(large, np.argsort(-large, axis=-1, kind="stable")[..., MAX_MEMBERS:], 0.0, axis=-1)
    return np.asarray(large / large.sum(axis=-1, keepdims=True))


def _greedy(
    parts: Values, score: Callable[[Values], NDArray[np.float64]], steps: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights after the first step, and those of the best step."""
    total, counts = np.zeros(parts.shape[1:]), np.zeros(len(parts))
    best, first, best_weights = -math.inf, counts, counts
    for step in range(steps):
        scores = score((total + parts) / (step + 1))
        place = int(np.argmax(scores))
        total, counts[place] = total + parts[place], counts[place] + 1
        if not step:
            first = best_weights = counts.copy()
        # A step may make it worse, and lead to what is better.
        if scores[place] > best and not math.isclose(scores[place], best, rel_tol=1e-12):
            best, best_weights = float(scores[place]), counts / counts.sum()
    return first, best_weights


def folds_of(clusters: Sequence[Rows], fold_count: int, seed: int) -> NDArray[np.int64]:
    """Return the fold (from 0) of each row: whole clusters, drawn at random, about equally many rows in each fold."""
    order = np.random.default_rng(seed).permutation(len(clusters))
    rows = np.concatenate([clusters[place] for place in order])
    begins = np.cumsum([0, *(len(clusters[place]) for place in order[:-1])])
    numbers = np.repeat(begins * fold_count // len(rows), [len(clusters[place]) for place in order])
    folds = np.empty(len(rows), dtype=np.int64)
    folds[rows] = numbers
    return folds


Weights = dict[int, float]
Scores = Callable[[Values], Sequence[float]]
"""Takes predictions of all rows; returns their score on each set of rows that is fitted on, more is better."""

MOST_LEADING = 6
"""Scripts that are looked at."""
_SIZES = (2, 3, 5)
_OF_THE_BEST = 1.5
"""Votes of the best: it wins ties, and two others that agree outvote it."""


def scores_needed(members: int, fits: int) -> int:
    """Return about how many times predictions are scored, each time on all sets of rows."""
    return members + fits * len(_SIZES)


def fit_leading(
    nodes: Sequence[int], combined: Callable[[Weights], Values], scores: Scores
) -> list[tuple[int, Weights]]:
    """Return, for each set of rows, the best of nodes, best first, and the weights of the best number of leading ones."""
    single_scores = np.array([scores(combined({node: 1.0})) for node in nodes])
    ensemble_scores: dict[tuple[int, ...], Sequence[float]] = {}
    recipes = []
    for set_place in range(single_scores.shape[1]):
        order = [nodes[place] for place in np.argsort(-single_scores[:, set_place], kind="stable")]
        best, best_weights = float(single_scores[:, set_place].max()), {order[0]: 1.0}
        for size in _SIZES:
            leading = tuple(order[:size])
            if len(leading) < size:
                break
            total = size - 1 + _OF_THE_BEST
            weights = {node: (1.0 if place else _OF_THE_BEST) / total for place, node in enumerate(leading)}
            if leading not in ensemble_scores:
                ensemble_scores[leading] = scores(combined(weights))
            if ensemble_scores[leading][set_place] > best:
                best, best_weights = ensemble_scores[leading][set_place], weights
        recipes.append((order[0], best_weights))
    return recipes
