"""Labels that are numbers in an order: their weighted mean, cut into labels again where the metric is best."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.same_labels import canonical_labels

Cuts = Mapping[str, Sequence[float]]
"""`levels`: the labels in order; `thresholds`: between each and the next, above which the next begins."""

_MOST_LEVELS = 20
_SHIFTS = (-0.45, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.45)
"""By which a threshold is moved, as shares of the step from one level to the next."""
_PASSES = 2


def as_numbers(labels: Values) -> Values:
    """Return labels (rows, columns) as numbers; NaN for one that is none."""
    cells = canonical_labels(labels).ravel()
    return np.array([cell if isinstance(cell, int | float) else np.nan for cell in cells]).reshape(labels.shape)


def levels_of(labels: Values) -> list[float] | None:
    """Return the distinct labels in order; None where they are not numbers, or too many, or all alike."""
    numbers = np.unique(as_numbers(labels))
    return numbers.tolist() if np.isfinite(numbers).all() and 1 < len(numbers) <= _MOST_LEVELS else None


def halfway(levels: Sequence[float]) -> Cuts:
    """Return cuts in the middle between levels."""
    return {"levels": list(levels), "thresholds": [(a + b) / 2 for a, b in pairwise(levels)]}


def cut(means: Values, cuts: Cuts) -> Values:
    """Return the labels of mean values (rows, columns), as texts."""
    names = [str(int(level)) if float(level).is_integer() else repr(level) for level in cuts["levels"]]
    places = np.searchsorted(np.asarray(cuts["thresholds"]), np.round(means, 9), side="left")
    return np.asarray(np.array(names, object)[places])


def fit_cuts(means: Values, cuts: Cuts, score: Callable[[Values], float]) -> Cuts:
    """Return cuts whose thresholds were moved, one after the other, to where the labels of `means` (rows, columns) score best."""
    levels, best = cuts["levels"], dict(cuts)
    top = score(cut(means, best))
    for _ in range(_PASSES):
        for place, begin in enumerate(cuts["thresholds"]):
            for shift in _SHIFTS:
                trial = list(best["thresholds"])
                trial[place] = begin + shift * (levels[place + 1] - levels[place])
                if sorted(trial) == trial and (score_there := score(cut(means, {**best, "thresholds": trial}))) > top:
                    best, top = {**best, "thresholds": trial}, score_there
    return best
