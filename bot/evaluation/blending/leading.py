"""Fits a blend where each score is dear or jumps: the leading few by score vote, and how many of them, the rows decide."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Weights = dict[int, float]
Scores = Callable[[Values], Sequence[float]]
"""Takes predictions of all rows; returns their score on each set of rows that is fitted on, more is better."""

MOST = 6
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
    alone = np.array([scores(combined({node: 1.0})) for node in nodes])
    together: dict[tuple[int, ...], Sequence[float]] = {}
    found = []
    for at in range(alone.shape[1]):
        order = [nodes[place] for place in np.argsort(-alone[:, at], kind="stable")]
        best, kept = float(alone[:, at].max()), {order[0]: 1.0}
        for size in _SIZES:
            leading = tuple(order[:size])
            if len(leading) < size:
                break
            weights = _votes(leading)
            if leading not in together:
                together[leading] = scores(combined(weights))
            if together[leading][at] > best:
                best, kept = together[leading][at], weights
        found.append((order[0], kept))
    return found


def _votes(leading: Sequence[int]) -> Weights:
    whole = len(leading) - 1 + _OF_THE_BEST
    return {node: (1.0 if place else _OF_THE_BEST) / whole for place, node in enumerate(leading)}
