"""Whether a refit may be submitted for the scored run: by how far its predictions of the test rows moved.

The move is measured in the metric's own terms, with the scored run's predictions as the truth: the error that the refit would
add if that run were right. Two runs of a sound script, one on part of the other's rows, lie closer to each other than to the
truth: of squared errors, what noise and bias add to each is added once to neither's distance to the other. So

- a move of up to a share of the script's own error on the hold-out rows is trusted (for the shares see `_distances`: refits of
  linear models, forests, boosting and networks on generated data moved less, however noisy that was, and shuffled ones more);
- a move of up to all of it, if such moves have been seen: between the scored run and the same script's runs on other rows
  (folds), or scripts that score the same within noise;
- nothing beyond that is.

A scored run that gave every row the same answer, as one that found no time to train does, is no measure: any other refit of
its script is trusted.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Agreement, LabelledView
from bot.evaluation.answers.findings import distinct_figures
from bot.evaluation.metrics.ranking import pearson, spearman
from bot.evaluation.metrics.registry import METRICS, Metric, prediction_kind
from bot.evaluation.metrics.same_labels import equal_labels
from bot.evaluation.scoring.bank import read_answers, read_numbers, read_predicted
from bot.evaluation.views.parts import final_places
from scrapers.snapshots.card import TaskCard

_FEW_ROWS = 3.0
"""Rows with a wrong label or text that a hold-out without any may have missed (95%)."""
_SMALLEST = 1e-15
"""Probabilities are clipped to it."""
_PROBABILITIES = frozenset({"log_loss", "mean_columnwise_log_loss", "weighted_log_loss", "kl_divergence"})
_OF_RANKS = frozenset({"roc_auc", "average_precision", "lwlrap", "pearson", "spearman", "gini"})

Distance = Callable[[NDArray[Any], NDArray[Any]], float]
"""Takes a truth and predictions, (rows, prediction columns) each; like a squared error: what is independent adds up."""


def agree(view: LabelledView, refit: Path, original: Path, predictions: Path, peers: Sequence[Path] = ()) -> Agreement:
    """Compare a refit's predictions of the test rows with those of its scored run.

    Predictions are those of the rows of `sample_validation.csv`; `peers` are those of the test rows by the same script that
    was trained on other rows, or by scripts as good. Rows of `final` are not used.

    Raises InvalidSubmission: a file cannot be read.
    """
    card, sample = view.card, view.data / "sample_submission.csv"
    original_values, new, *peer_values = (read_predicted(path, sample, card) for path in (original, refit, *peers))
    if read_numbers(original) is not None and read_numbers(refit) is None:
        difference = "whereas the scored run also has the numbers from which they were derived"
        return Agreement(False, f"it has only labels, {difference}")
    if _is_constant(original_values) and not _is_constant(new):
        return Agreement(True, "the scored run predicted the same value for every row")
    validation_sample = view.data / "sample_validation.csv"
    labels = read_answers(view.truth, validation_sample, card)[1]
    rows = np.setdiff1d(np.arange(len(labels)), sorted(final_places(view.labels)))
    labels, holdout_values = labels[rows], read_predicted(predictions, validation_sample, card)[rows]
    faults = []
    for distance_name, distance, sure in _distances(card, original_values):
        shift, error = distance(original_values, new), distance(labels, holdout_values)
        if prediction_kind(card) != "number":
            error += _FEW_ROWS / len(labels)
        usual_shift = max((distance(original_values, similar) for similar in peer_values), default=0.0)
        max_shift = min(error, max(sure * error, usual_shift))
        if not shift <= max_shift:  # NaN is not
            shift_words, max_words = distinct_figures(shift, max_shift, 3)
            faults.append(
                f"the {distance_name} between its predictions and the scored run's is {shift_words}, but at most "
                f"{max_words} is expected (between the scored run's predictions and the labels: {error:.3g})"
            )
    return Agreement(not faults, "; ".join(faults))


def _is_constant(predictions: NDArray[Any]) -> bool:
    return len(predictions) > 1 and bool((predictions == predictions[:1]).all())


def _distances(card: TaskCard, scored_values: NDArray[Any]) -> list[tuple[str, Distance, float]]:
    """Return the distances that a task's predictions are compared by: name, function, and the share of the error that is sure."""
    kind, metric = prediction_kind(card), METRICS.get(card.metric.name)
    if kind == "label":
        return [("share of labels that differ", lambda truth, prediction: 1 - equal_labels(truth, prediction), 0.75)]
    if kind == "text":
        return [(*_text_distance(card, scored_values), 0.75)]
    if metric is not None and metric.name in _PROBABILITIES:
        # Most of a log loss is what nobody can know.
        return [("divergence", lambda truth, prediction: _divergence(truth, prediction, metric), 0.25)]
    ranks = ("rank distance (1 - correlation)", _rank_distance, 1.0)
    if metric is not None and metric.name in _OF_RANKS:
        return [ranks]
    if metric is not None and metric.direction == "minimize" and metric.minimum == 0 and not metric.of_classes:
        # Errors that are independent add up in squares.
        power = 1 if metric.name in ("mse", "msle") else 2
        name = metric.name if power == 1 else f"squared {metric.name}"
        return [(name, lambda truth, prediction: metric.score(truth, prediction, card.metric.params) ** power, 0.5)]
    squares = ("squared error", lambda truth, prediction: float(np.mean((truth - prediction) ** 2)), 0.5)
    return [squares] if metric is not None and metric.name == "r2" else [squares, ranks]


def _divergence(truth: NDArray[np.float64], prediction: NDArray[np.float64], metric: Metric) -> float:
    """Return the Kullback-Leibler divergence, which is the log loss where the truth is sure."""
    sides = [np.clip(side.astype(float), 0.0, None) for side in (truth, prediction)]
    if truth.shape[1] > 1 and metric.rescaled is not None:
        sides = [side / np.maximum(side.sum(axis=1, keepdims=True), _SMALLEST) for side in sides]
    else:  # each cell is a chance of its own
        sides = [np.stack([np.minimum(side, 1.0), 1 - np.minimum(side, 1.0)]) for side in sides]
    right, clipped = sides[0], np.maximum(sides[1], _SMALLEST)
    terms = right * np.log(np.maximum(right, _SMALLEST) / clipped)
    rows = terms.sum(axis=1) if terms.ndim == 2 else terms.sum(axis=0)
    return float(rows.mean())


def _rank_distance(truth: NDArray[np.float64], prediction: NDArray[np.float64]) -> float:
    """Return 1 less the mean correlation of the columns, Spearman's or, as ranks of sure probabilities are noise, Pearson's."""
    correlations = []
    for a, b in zip(truth.T.astype(float), prediction.T.astype(float), strict=True):
        pair = (spearman(a, b), pearson(a, b))
        # A column that only one side varies in agrees in nothing.
        correlations.append(max((r for r in pair if r is not None), default=0.0))
    return 1 - float(np.mean(correlations))


def _text_distance(card: TaskCard, scored_values: NDArray[Any]) -> tuple[str, Distance]:
    """Return by how much the metric falls short of its best, or the F1 of words where predictions cannot stand for the truth."""
    metric, params = METRICS.get(card.metric.name), card.metric.params
    if metric is not None:
        best = metric.maximum if metric.direction == "maximize" else metric.minimum
        if math.isclose(metric.score(scored_values, scored_values, params), best):
            return metric.name, lambda truth, prediction: abs(best - metric.score(truth, prediction, params))
    words = METRICS["multilabel_samples_f1"]
    return "share of words that differ (1 - F1)", lambda truth, prediction: 1 - words.score(truth, prediction, {})
