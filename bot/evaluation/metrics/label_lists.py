"""Metrics of texts that list labels, separated by blanks: F1 of sets of them, average precision of ranked ones.

Labels are compared letter by letter. Several prediction columns are scored as more rows.
"""

import math
from collections import Counter

import numpy as np

from bot.evaluation.metrics.arrays import Values, mean_over_texts, text_pairs
from bot.evaluation.metrics.params import Params, whole_number

_Sets = tuple[set[str], set[str]]


def multilabel_micro_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """F1 of the labels of all rows pooled: 2 TP / (2 TP + FP + FN); a label named twice counts once.

    NaN where neither side has any. MLE-bench's graders ignore predicted labels that no answer has; here, as on Kaggle, these
    are wrong, unless `known_only` is set.

    Params:
        known_only: whether predicted labels that no row's truth has are ignored; false by default.
    """
    pairs = _known_labels_only(y_true, y_pred, params)
    hits = sum(len(truth & prediction) for truth, prediction in pairs)
    label_count = sum(len(truth) + len(prediction) for truth, prediction in pairs)
    return 2 * hits / label_count if label_count else math.nan


def multilabel_macro_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the labels, which either side has, of the F1 of each label; NaN where neither side has any.

    Params:
        known_only: as for `multilabel_micro_f1`.
    """
    hits: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for truth, prediction in _known_labels_only(y_true, y_pred, params):
        hits.update(truth & prediction)
        labels.update(truth)
        labels.update(prediction)
    return float(np.mean([2 * hits[label] / rows for label, rows in labels.items()])) if labels else math.nan


def multilabel_samples_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the rows of each row's F1 (Kaggle's Mean F1); a row where both sides are empty has 1.

    Params:
        known_only: as for `multilabel_micro_f1`.
    """
    pairs = _known_labels_only(y_true, y_pred, params)
    scores = [
        2 * len(truth & prediction) / (len(truth) + len(prediction)) if truth or prediction else 1.0
        for truth, prediction in pairs
    ]
    return float(np.mean(scores))


def map_at_k(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the rows of the average precision of the first k predicted labels: MAP@k.

    Of a row: the sum, over the places i at which a true label stands for the first time, of the precision down to i, divided by
    the smaller of k and the number of true labels. Rows without true labels have 0, as in the implementation that Kaggle
    published; labels behind the first k are ignored.

    Params:
        k: 5 by default.
    """
    k = whole_number(params, "k", 5, minimum=1)
    return mean_over_texts(
        y_true, y_pred, lambda truth, prediction: _average_precision(truth.split(), prediction.split()[:k], k)
    )


def top_k_error(y_true: Values, y_pred: Values, params: Params) -> float:
    """Share of rows whose true label is not among the first k predicted ones.

    The truth is one label.

    Params:
        k: 1 by default.
    """
    k = whole_number(params, "k", 1, minimum=1)
    return mean_over_texts(y_true, y_pred, lambda truth, prediction: truth.strip() not in prediction.split()[:k])


def _average_precision(truth: list[str], ranking: list[str], k: int) -> float:
    relevant, hits, total = set(truth), 0, 0.0
    for place, label in enumerate(ranking, 1):
        if label in relevant:
            relevant.remove(label)
            hits += 1
            total += hits / place
    return total / min(k, len(set(truth))) if truth else 0.0


def _known_labels_only(y_true: Values, y_pred: Values, params: Params) -> list[_Sets]:
    pairs = [(set(truth.split()), set(prediction.split())) for truth, prediction in text_pairs(y_true, y_pred)]
    if not params.get("known_only", False):
        return pairs
    labels = set().union(*(truth for truth, _ in pairs))
    return [(truth, prediction & labels) for truth, prediction in pairs]
