"""Helpers of metrics' formulas on arrays of shape (rows, prediction columns): means over columns, and undefined scores."""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.params import Params
from bot.evaluation.metrics.registry import METRICS, prediction_kind
from bot.evaluation.metrics.same_labels import canonical_label
from scrapers.snapshots.card import TaskCard

LISTS = ("share", "fusion")
"""Spaces of texts that list labels."""


def classes_of(card: TaskCard, labels: Iterable[str]) -> list[str]:
    """Return a task's classes; nothing where it has none. `labels` are the training rows' cells, in the metric's form.

    Returns:
        Where probabilities of several classes are submitted, the prediction columns. Where labels are, each label once, as
        it is first written: by size if all are numbers, else by their letters. Where lists of labels are, the labels in them.
    """
    metric, kind = METRICS.get(card.metric.name), prediction_kind(card)
    if kind == "number":
        has_class_columns = metric is not None and metric.of_classes and len(card.prediction_columns) > 1
        return list(card.prediction_columns) if has_class_columns else []
    if kind == "text":
        lists = metric is not None and metric.spaces[0] in LISTS
        return sorted({label for text in set(labels) for label in text.split()}) if lists else []
    spellings: dict[object, str] = {}
    for label in dict.fromkeys(labels):
        spellings.setdefault(canonical_label(label), label)
    numbers = all(isinstance(label, int | float) for label in spellings)
    return [spellings[label] for label in sorted(spellings, key=lambda label: label if numbers else str(label))]  # type: ignore[arg-type, return-value]


Values = NDArray[Any]
ScoreFunction = Callable[[Values, Values, Params], float]


def defined(function: ScoreFunction) -> ScoreFunction:
    """Return a function that gives NaN for no rows or no columns, and does not warn of divisions by zero or overflows."""

    @wraps(function)
    def score(y_true: Values, y_pred: Values, params: Params) -> float:
        if y_true.size == 0 or y_pred.size == 0:
            return float("nan")
        with np.errstate(all="ignore"):
            return float(function(y_true, y_pred, params))

    return score


def mean_over_columns(y_true: Values, y_pred: Values, score: Callable[[Values, Values], float]) -> float:
    """Return the mean of each column's score, of arrays of shape (n,); NaN if any is."""
    return float(np.mean([score(truth, prediction) for truth, prediction in zip(y_true.T, y_pred.T, strict=True)]))


def mean_over_texts(y_true: Values, y_pred: Values, score: Callable[[str, str], float]) -> float:
    """Return the mean of the scores of all cells' texts."""
    return float(np.mean([score(truth, prediction) for truth, prediction in text_pairs(y_true, y_pred)]))


def text_pairs(y_true: Values, y_pred: Values) -> Iterator[tuple[str, str]]:
    """Yield the true and the predicted text of each cell; several columns are as good as more rows."""
    for truth, prediction in zip(y_true.ravel(), y_pred.ravel(), strict=True):
        yield str(truth), str(prediction)
