"""Metrics of masks that are written as run lengths: Dice and F-beta, mean average precision over IoU thresholds.

NaN where a text is not run lengths. Only overlaps count, so neither the order of pixels nor the size of the images matters,
and a run beyond an image's end goes undetected. Several prediction columns are scored as more rows.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.arrays import Values, text_pairs
from bot.evaluation.metrics.params import Params, number, numbers

_EMPTY = ("", "-")

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Mask:
    """The pixels of a mask: runs that neither touch nor overlap, in order."""

    begins: Places
    run_ends: Places
    """The first pixel behind each run."""

    @property
    def size(self) -> int:
        """How many pixels it has."""
        return int((self.run_ends - self.begins).sum())


def read_mask(text: str) -> Mask | None:
    """Read run lengths; runs may overlap and stand in any order, and `-` or nothing is an empty mask.

    Returns:
        None where the text is no list of pairs of whole numbers, a start is less than 0 or a length less than 0.
    """
    stripped = text.strip()
    if stripped in _EMPTY:
        return Mask(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    try:
        numbers = np.array(stripped.split(), dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    if "_" in stripped:  # which numpy takes, as Python does
        return None
    starts, lengths = numbers[::2], numbers[1::2]
    if len(starts) != len(lengths) or (numbers < 0).any() or (numbers > 1 << 60).any():
        return None
    return _merged(starts[lengths > 0], lengths[lengths > 0])


def overlap(first: Mask, second: Mask) -> int:
    """Return how many pixels both have."""
    return int((_before(second, first.run_ends) - _before(second, first.begins)).sum())


def _before(mask: Mask, places: Places) -> Places:
    """Return how many pixels of a mask lie before each place."""
    if len(mask.begins) == 0:
        return np.zeros_like(places)
    sums = np.concatenate([[0], np.cumsum(mask.run_ends - mask.begins)])
    run = np.searchsorted(mask.begins, places, side="right") - 1
    within = np.minimum(places, mask.run_ends[run]) - mask.begins[run]
    return np.where(run >= 0, sums[run] + within, 0)


def _merged(starts: Places, lengths: Places) -> Mask:
    order = np.argsort(starts, kind="stable")
    begins, run_ends = starts[order], (starts + lengths)[order]
    if len(begins) == 0:
        return Mask(begins, run_ends)
    reached = np.maximum.accumulate(run_ends)
    new = np.concatenate([[True], begins[1:] > reached[:-1]])
    last = np.concatenate([np.flatnonzero(new)[1:] - 1, [len(begins) - 1]])
    return Mask(begins[new], reached[last])


_THRESHOLDS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]

_Counts = tuple[int, int, int]
"""Pixels of the truth, of the prediction, of both."""


def dice(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the masks of Dice, 2 |both| / (|truth| + |prediction|); a pair of empty masks has 1.

    With `beta` it is F-beta; Dice is the case beta = 1.

    Params:
        beta: how much more recall counts than precision; 1 by default.
    """
    counts = _counts(y_true, y_pred)
    square = number(params, "beta", 1.0, minimum=0.0) ** 2
    return math.nan if counts is None else float(np.mean([_f_beta(sizes, square) for sizes in counts]))


def global_dice(y_true: Values, y_pred: Values, params: Params) -> float:
    """Dice of the pixels of all masks pooled; NaN where all masks are empty.

    Params:
        beta: how much more recall counts than precision; 1 by default.
    """
    counts = _counts(y_true, y_pred)
    if counts is None:
        return math.nan
    truth, predicted_size, overlap_size = (sum(sizes[place] for sizes in counts) for place in range(3))
    square = number(params, "beta", 1.0, minimum=0.0) ** 2
    return _f_beta((truth, predicted_size, overlap_size), square) if truth or predicted_size else math.nan


def mask_map_iou(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the masks of the share of thresholds that the intersection over union exceeds.

    Of a mask that is one object, that is the mean average precision over IoU thresholds. Two empty masks score 1, an empty
    mask and another one 0.

    Params:
        thresholds: from 0.5 to 0.95 in steps of 0.05 by default.
    """
    counts = _counts(y_true, y_pred)
    if counts is None:
        return math.nan
    thresholds = np.array(numbers(params, "thresholds", _THRESHOLDS))

    def mean_precision(truth: int, guess: int, common: int) -> float:
        if not truth and not guess:
            return 1.0
        return float((common / (truth + guess - common) > thresholds).mean()) if truth and guess else 0.0

    return float(np.mean([mean_precision(*sizes) for sizes in counts])) if len(thresholds) else math.nan


def _f_beta(counts: _Counts, square: float) -> float:
    truth, guess, common = counts
    return (1 + square) * common / (square * truth + guess) if truth and guess else float(truth == guess)


def _counts(y_true: Values, y_pred: Values) -> list[_Counts] | None:
    sizes = []
    for truth_text, predicted_text in text_pairs(y_true, y_pred):
        truth, prediction = read_mask(truth_text), read_mask(predicted_text)
        if truth is None or prediction is None:
            return None
        sizes.append((truth.size, prediction.size, overlap(truth, prediction)))
    return sizes
