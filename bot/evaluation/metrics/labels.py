"""Metrics of labels: accuracy, kappa, F scores, Matthews correlation.

Labels that are numbers are compared as numbers (`1` is `1.0`). `accuracy` and `error_rate` take a row as a whole; of all others
the score is the mean over the columns. Predicted labels that the truth lacks are wrong, and else as any other.

Most are computed from counts by class: scikit-learn's checks of its arguments take several times as long, and it is imported
where it is called, as that takes a second and the commonest metrics do without.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from bot.evaluation.metrics.arrays import Values, mean_over_columns
from bot.evaluation.metrics.params import Params, number
from bot.evaluation.metrics.same_labels import canonical_label, canonical_labels, each_cell
from state.errors import UsageError


def accuracy(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Share of rows whose labels all match: 1 for each that does, and 0 for any other, (rows, 1).

    Labels that are numbers are compared as numbers (`1` is `1.0`).
    """
    return np.asarray(mean_columnwise_accuracy(y_true, y_pred, params).min(axis=1, keepdims=True))


def mean_columnwise_accuracy(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Mean over the columns of the share of rows whose label matches, `1` and `1.0` too: 1 or 0 for each, (rows, columns)."""
    return np.asarray(canonical_labels(y_true) == canonical_labels(y_pred), dtype=float)


def error_rate(y_true: Values, y_pred: Values, params: Params) -> Values:
    """Share of rows of which a label does not match: 1 - accuracy, (rows, 1)."""
    return 1.0 - accuracy(y_true, y_pred, params)


def balanced_accuracy(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the true classes of the share of their rows that are found (scikit-learn's `balanced_accuracy_score`)."""

    def mean_recall(truth: Values, prediction: Values) -> float:
        right, true, _ = _counts(truth, prediction)
        return float((right[true > 0] / true[true > 0]).mean())

    return _by_column(y_true, y_pred, mean_recall)


def cohen_kappa(y_true: Values, y_pred: Values, params: Params) -> float:
    """Cohen's kappa: (agreement - agreement by chance) / (1 - agreement by chance).

    As scikit-learn's `cohen_kappa_score` without weights; NaN where both sides are one and the same label.
    """
    from sklearn.metrics import cohen_kappa_score

    def kappa(truth: Values, prediction: Values) -> float:
        return math.nan if _of_one_label(truth, prediction) else float(cohen_kappa_score(truth, prediction))

    return _by_column(y_true, y_pred, kappa)


def quadratic_weighted_kappa(y_true: Values, y_pred: Values, params: Params) -> float:
    """Quadratic weighted kappa of labels that are numbers: 1 - (mean squared difference) / (that of independent labels).

    Kaggle's definition, w_ij = (i - j)^2 / (N - 1)^2, in which N falls out. The distance of two labels is that of their numbers;
    scikit-learn's, that MLE-bench uses, is that of their places among the labels that occur, which is the same unless one
    between them occurs nowhere. A constant prediction has 0. NaN where a label is no number, or both sides are one
    and the same label.
    """

    def kappa(truth: Values, prediction: Values) -> float:
        disagreement = truth.var() + prediction.var() + (truth.mean() - prediction.mean()) ** 2
        return float(1 - ((truth - prediction) ** 2).mean() / disagreement) if disagreement > 0 else math.nan

    sides = _as_numbers(y_true), _as_numbers(y_pred)
    return math.nan if sides[0] is None or sides[1] is None else mean_over_columns(sides[0], sides[1], kappa)


def mcc(y_true: Values, y_pred: Values, params: Params) -> float:
    """Matthews correlation coefficient, for two classes or more (Gorodkin 2004); 0 where one side is constant.

    NaN where both sides are one and the same label.
    """

    def correlation(truth: Values, prediction: Values) -> float:
        if _of_one_label(truth, prediction):
            return math.nan
        (right, true, predicted_counts), rows = _counts(truth, prediction), float(len(truth))
        variances = (rows**2 - true @ true) * (rows**2 - predicted_counts @ predicted_counts)
        return float((right.sum() * rows - true @ predicted_counts) / math.sqrt(variances)) if variances > 0 else 0.0

    return _by_column(y_true, y_pred, correlation)


def macro_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean F1 over the classes that occur in the truth or the prediction; a class that is never found counts as 0."""

    def mean_f1(truth: Values, prediction: Values) -> float:
        right, true, predicted_counts = _counts(truth, prediction)
        return float((2 * right / (true + predicted_counts))[true + predicted_counts > 0].mean())

    return _by_column(y_true, y_pred, mean_f1)


def micro_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """F1 of all classes' counts pooled; of one label a row, that is the accuracy.

    For many labels a row see `multilabel_micro_f1`.
    """
    return _by_column(y_true, y_pred, lambda truth, prediction: float((truth == prediction).mean()))


def weighted_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean of the classes' F1, each weighted by the number of its true rows."""

    def mean_f1(truth: Values, prediction: Values) -> float:
        right, true, predicted_counts = _counts(truth, prediction)
        is_present = true > 0
        return float((true * 2 * right)[is_present] @ (1 / (true + predicted_counts)[is_present]) / len(truth))

    return _by_column(y_true, y_pred, mean_f1)


def binary_f1(y_true: Values, y_pred: Values, params: Params) -> float:
    """F1 of one class: 2 TP / (2 TP + FP + FN); 0 where none is found, NaN where the class occurs on neither side.

    Params:
        positive: the class; 1 by default.
    """
    return binary_f_beta(y_true, y_pred, {**params, "beta": 1.0})


def binary_f_beta(y_true: Values, y_pred: Values, params: Params) -> float:
    """F-beta of one class: (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP); 0 where none is found, NaN where it occurs nowhere.

    Params:
        beta: how much more recall counts than precision; 1 by default.
        positive: the class; 1 by default. The truths `true` and `yes`, in any case, are read as 1.
    """
    from sklearn.metrics import fbeta_score

    beta = number(params, "beta", 1.0, minimum=0.0)
    if beta == 0:
        raise UsageError("metric.params.beta is 0; it must be greater than 0.")
    positive = _class_of(params.get("positive", 1))

    def f_beta(truth: Values, prediction: Values) -> float:
        if not (truth.any() or prediction.any()):
            return math.nan
        return float(fbeta_score(truth, prediction, beta=beta, zero_division=0))

    truth, prediction = (_cells(side, lambda label: _class_of(label) == positive, int) for side in (y_true, y_pred))
    return mean_over_columns(truth, prediction, f_beta)


def _by_column(y_true: Values, y_pred: Values, score: Callable[[Values, Values], float]) -> float:
    """Return the mean of the columns' scores, labels given as whole numbers that stand for them."""
    places: dict[object, int] = {}

    def codes(side: Values) -> Values:
        return _cells(side, lambda label: places.setdefault(canonical_label(label), len(places)), int)

    return mean_over_columns(codes(y_true), codes(y_pred), score)


def _counts(truth: Values, prediction: Values) -> tuple[Values, Values, Values]:
    """Return by class, given as whole numbers from 0, the rows that are right, true, and predicted."""
    classes = int(max(truth.max(), prediction.max())) + 1
    sides = truth[truth == prediction], truth, prediction
    right, true, predicted_counts = (np.bincount(side, minlength=classes).astype(float) for side in sides)
    return right, true, predicted_counts


def _of_one_label(truth: Values, prediction: Values) -> bool:
    return bool((truth == truth[0]).all() and (prediction == truth[0]).all())


def _cells(values: Values, function: Callable[[object], object], dtype: type) -> Values:
    return np.array(each_cell(values, function), dtype=dtype).reshape(values.shape)


_TRUTHS: Mapping[object, int] = {"true": 1, "yes": 1}


def _class_of(label: object) -> object:
    canonical = canonical_label(label)
    return _TRUTHS.get(canonical.lower(), canonical) if isinstance(canonical, str) else canonical


def _as_numbers(values: Values) -> Values | None:
    def number_or_nan(label: object) -> float:
        canonical = canonical_label(label)
        return float(canonical) if isinstance(canonical, int | float) else math.nan

    as_numbers = _cells(values, number_or_nan, float)
    return as_numbers if np.isfinite(as_numbers).all() else None
