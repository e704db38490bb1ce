"""Checks whether two submissions of the same code agree, so that a refit may be submitted for the scored run."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Agreement
from bot.evaluation.metrics.labels import canonical_labels, equal_labels
from bot.evaluation.metrics.ranks import pearson, spearman
from bot.evaluation.metrics.registry import CLASSIFICATION_METRICS, METRICS, prediction_kind
from bot.evaluation.scoring.prediction_file import expected_like, read_predictions
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission

CORRELATION_FLOOR = 0.8
"""Refits of sound code on a third more rows stay above 0.9; shuffled rows or swapped columns fall to about 0."""
LABEL_FLOOR = 0.7
"""Share of equal labels; weak but sound models change more labels than probabilities."""
TEXT_FLOOR = 0.5
"""Texts of equal meaning differ in words, and masks at their edges."""
CLASS_SHARE_CEILING = 0.15
"""Classes' shares move by a few hundredths in a refit; a fold that never saw a class, or a flipped one, moves more."""
SHIFT_CEILING = 0.5
"""How far the mean of a quantity may move, in standard deviations; a forgotten back-transformation moves it more."""


def agree(file_a: Path, file_b: Path, card: TaskCard) -> Agreement:
    """Compare the test predictions of two submissions, row by row through their ids.

    A column's correlation is Spearman's; for probabilities the greater of Spearman's and Pearson's, since ranks among
    saturated probabilities are noise. For labels it is the share of equal ones. For texts it is what the
    task's own metric gives with one file as the truth, or the mean F1 of their words where that metric is no likeness.

    Raises:
        InvalidSubmission: a file cannot be read, or `file_b` holds other ids than `file_a`.
    """
    expected = expected_like(file_a, card)
    if not expected.ids:
        raise InvalidSubmission(f"{file_a.name} has no rows.")
    left, right = (read_predictions(file, expected, card) for file in (file_a, file_b))
    faults = []
    kind = prediction_kind(card)
    correlation: float | None
    shares: float | None
    if kind == "text":
        correlation, floor, what, shares = _likeness(left, right, card), TEXT_FLOOR, "likeness of the texts", None
    elif kind == "label":
        correlation = equal_labels(left, right)
        floor, what = LABEL_FLOOR, "share of equal labels"
        shares = _label_shares(left, right)
    else:
        correlation = _mean_correlation(left, right, probabilities=card.metric.name in CLASSIFICATION_METRICS)
        floor, what = CORRELATION_FLOOR, "correlation"
        shares = _probability_shares(left, right) if card.metric.name in CLASSIFICATION_METRICS else None
        if card.metric.name not in CLASSIFICATION_METRICS and (moved := _moved(left, right)) is not None:
            faults.append(moved)
    if correlation is None or correlation < floor:
        shown = "undefined" if correlation is None else f"{correlation:.3f}"
        faults.append(f"the {what} is {shown} (at least {floor})")
    if shares is not None and shares > CLASS_SHARE_CEILING:
        faults.append(f"the classes' shares differ by {shares:.3f} (at most {CLASS_SHARE_CEILING})")
    message = f"The predictions disagree: {'; '.join(faults)}." if faults else "The predictions agree."
    return Agreement(not faults, correlation, shares, message)


def _mean_correlation(left: NDArray[Any], right: NDArray[Any], *, probabilities: bool) -> float | None:
    each = []
    for a, b in zip(left.T, right.T, strict=True):
        both = [spearman(a, b), pearson(a, b)] if probabilities else [spearman(a, b)]
        # A column that only one side varies in agrees in nothing.
        each.append(max((value for value in both if value is not None), default=0.0))
    return float(np.mean(each)) if each and len(left) > 1 else None


def _moved(left: NDArray[Any], right: NDArray[Any]) -> str | None:
    """Return a sentence if the mean of a quantity has moved; otherwise None."""
    means, spread = (left.mean(axis=0), right.mean(axis=0)), left.std(axis=0)
    moved = np.abs(means[0] - means[1])
    shifts = np.divide(moved, spread, out=np.where(moved > 0, np.inf, 0.0), where=spread > 0)
    at = int(shifts.argmax())
    if shifts[at] <= SHIFT_CEILING:
        return None
    if math.isfinite(shifts[at]):
        return f"the mean moved by {shifts[at]:.2f} standard deviations (at most {SHIFT_CEILING})"
    return f"one file predicts {means[0][at]:.6g} for every row, where the mean of the other is {means[1][at]:.6g}"


def _probability_shares(left: NDArray[Any], right: NDArray[Any]) -> float | None:
    """Total variation between the mean class probabilities; None for one column of scores outside [0, 1]."""
    if left.shape[1] == 1:
        both = np.vstack([left, right])
        inside = bool((both >= 0).all() and (both <= 1).all())
        return float(abs(left.mean() - right.mean())) if inside else None
    sums = [side.sum(axis=1, keepdims=True) for side in (left, right)]
    if any((total <= 0).any() for total in sums):
        return None
    means = [(side / total).mean(axis=0) for side, total in zip((left, right), sums, strict=True)]
    return float(np.abs(means[0] - means[1]).sum() / 2)


def _likeness(left: NDArray[Any], right: NDArray[Any], card: TaskCard) -> float:
    own = METRICS.get(card.metric.name)
    if own is not None and own.direction == "maximize":
        found = own.score(left, right, card.metric.params)
        if math.isfinite(found):
            return found
    return METRICS["multilabel_samples_f1"].score(left, right, {})


def _label_shares(left: NDArray[Any], right: NDArray[Any]) -> float:
    counts = [Counter(canonical_labels(side).ravel().tolist()) for side in (left, right)]
    labels = counts[0].keys() | counts[1].keys()
    return sum(abs(counts[0][label] - counts[1][label]) for label in labels) / (2 * counts[0].total())
