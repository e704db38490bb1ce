"""Fits what is done to combined predictions: a scale (for probabilities a temperature), a line, a least probability.

Of probabilities that sum to 1 the line is an offset for each class: how often it is expected.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.blending.spaces import calibrated, enter
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import line_space, prediction_bounds, sums_to_one
from scrapers.snapshots.card import TaskCard

Calibration = Mapping[str, Sequence[float]]

_COLUMNS, _CLASSES = 4, 12
"""Most columns that have a line each, two numbers a column, and most classes that have an offset each."""
_TRIES = 40
"""Scores for each number that is fitted."""

STEPS = ("scale", "line", "clip")
"""What is tried, in this order, each on top of what has gained."""


def of_probabilities(card: TaskCard) -> bool:
    """Return whether a task's predictions are probabilities."""
    return prediction_bounds(card).high == 1.0 or sums_to_one(card)


def fit_step(
    step: str, values: Values, earlier_steps: Calibration, score: Callable[[Values], float], card: TaskCard
) -> Calibration | None:
    """Return a calibration with one more step, fitted on some rows; None where the step does not fit the task.

    `values` are combined predictions (rows, columns) before any calibration; of a `score` more is better. A line takes the
    place of a scale among the earlier steps.
    """
    from scipy.optimize import minimize  # its import takes long, and a worker that fits no line needs none

    space = line_space(card)
    if space is None:
        return None
    if step == "clip":
        # What was never seen in so many rows may still be: Laplace's rule of succession.
        return {**earlier_steps, "clip": [1 / (len(values) + 2)]} if of_probabilities(card) else None
    space_values, columns, of_classes = enter(space, values, card), values.shape[1], sums_to_one(card)
    middle, spread = space_values.mean(axis=0), space_values.std(axis=0) + 1e-12
    scales, offsets = np.ones(columns), np.zeros(columns)
    if step == "scale":
        groups = [np.arange(columns)]
    elif columns > (_CLASSES if of_classes else _COLUMNS):
        return None
    else:
        groups = [np.array([column]) for column in range(columns)]
        if of_classes:
            scales[:] = earlier_steps.get("scale", [1.0])

    def calibration() -> dict[str, Sequence[float]]:
        return {**earlier_steps, "scale": scales.tolist(), "offset": offsets.tolist()}

    for group in groups:

        def loss(parameters: Values, group: NDArray[np.int64] = group) -> float:
            if step == "line" and of_classes:
                offsets[group] = parameters[0]
            else:
                scales[group] = np.exp(parameters[0])
                # A line turns about the mean, so that its two numbers can be fitted apart.
                offsets[group] = (
                    0.0 if step == "scale" else (1 - scales[group]) * middle[group] + parameters[1] * spread[group]
                )
            score_there = score(calibrated(values, calibration(), card))
            return -score_there if np.isfinite(score_there) else 1e300

        simplex = np.array([[0.0], [0.2]] if step == "scale" or of_classes else [[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]])
        options = {"initial_simplex": simplex, "maxfev": _TRIES * simplex.shape[1], "xatol": 1e-3}
        loss(minimize(loss, simplex[0], method="Nelder-Mead", options=options).x)
    return calibration()
