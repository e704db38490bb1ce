"""Metrics of texts: the words they share, the letters in which they differ, the order in which they list things.

Several prediction columns are scored as more rows.
"""

import math
from bisect import bisect_left, insort

from bot.evaluation.metrics.arrays import Values, mean_over_texts, text_pairs
from bot.evaluation.metrics.edit_distance import distance
from bot.evaluation.metrics.params import Params


def word_jaccard(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the rows of the words that both texts have, divided by those that either has; capitals do not matter.

    Two texts without words score 1.
    """

    def jaccard(truth: str, prediction: str) -> float:
        a, b = set(truth.lower().split()), set(prediction.lower().split())
        return len(a & b) / len(a | b) if a or b else 1.0

    return mean_over_texts(y_true, y_pred, jaccard)


def levenshtein(y_true: Values, y_pred: Values, params: Params) -> float:
    """Mean over the rows of the edit distance between the texts, in characters."""
    return mean_over_texts(y_true, y_pred, distance)


def levenshtein_ratio(y_true: Values, y_pred: Values, params: Params) -> float:
    """Sum of the rows' edit distances in words, divided by the number of words of all true texts; it may exceed 1.

    NaN where the truth has no words.
    """
    pairs = [(truth.split(), prediction.split()) for truth, prediction in text_pairs(y_true, y_pred)]
    words = sum(len(truth) for truth, _ in pairs)
    return sum(distance(truth, predictions) for truth, predictions in pairs) / words if words else math.nan


def kendall_tau(y_true: Values, y_pred: Values, params: Params) -> float:
    """Kendall's tau of orders: 1 - 4 S / sum of n (n - 1), where S is the number of swaps of neighbours that make the predicted
    orders of all rows the true ones, and n the number of things that a row lists, separated by blanks.

    NaN if a row's prediction does not list each true item once, or if no row lists two items.
    """  # noqa: D205 - one sentence
    swaps = max_swaps = 0
    for truth, prediction in text_pairs(y_true, y_pred):
        places = {thing: place for place, thing in enumerate(truth.split())}
        ranking = prediction.split()
        if len(ranking) != len(places) or set(ranking) != places.keys():
            return math.nan
        swaps += _inversions([places[thing] for thing in ranking])
        max_swaps += len(ranking) * (len(ranking) - 1)
    return 1 - 4 * swaps / max_swaps if max_swaps else math.nan


def _inversions(order: list[int]) -> int:
    """Return how many pairs stand the wrong way round."""
    earlier: list[int] = []
    count = 0
    for value in order:
        count += len(earlier) - bisect_left(earlier, value)
        insort(earlier, value)
    return count
