"""What adding an experiment to the present ensemble gains, roughly: the best of a few weights, on a sample of the rows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Gain
from bot.evaluation.answers.blends import BlendRecipe
from bot.evaluation.blending.ordinal import cut
from bot.evaluation.blending.spaces import NUMBERS, VOTES, combine, enter
from bot.evaluation.scoring.scored_rows import ScoredRows
from bot.evaluation.scoring.truth import Rows

Values = NDArray[Any]

WEIGHTS = (0.1, 0.2, 0.35, 0.5, 0.75)
"""Of the experiment; the ensemble has the rest."""
_CELLS = 100_000
"""Most values of each that are tried."""
_NAME = "the ensemble"


def ensemble_gain(
    rows: ScoredRows, recipe: BlendRecipe, own_values: Values, ensemble: Values, shared_rows: Rows, seed: int
) -> Gain | None:
    """Return the gain of the best weight, 0 where none gains; None: what is combined are no predictions, or they have no score.

    Args:
        own_values: the experiment's predictions of all rows.
        ensemble: the ensemble's, out of fold.
    """
    if recipe.space in (*VOTES, *NUMBERS) or rows.metric is None or not len(shared_rows):
        return None
    max_rows = max(1_000, _CELLS // own_values.shape[1])
    if len(shared_rows) > max_rows:
        shared_rows = np.sort(np.random.default_rng(seed).permutation(shared_rows)[:max_rows])
    mixed = _mixer(rows, recipe, own_values[shared_rows], ensemble[shared_rows])
    mixture = ensemble.copy()
    before = rows.predictions(ensemble)
    best, value = None, 0.0
    for weight in WEIGHTS:
        mixture[shared_rows] = mixed(weight)
        gain = rows.card.oriented(rows.score(rows.predictions(mixture), shared_rows) - rows.score(before, shared_rows))
        if gain > value:
            best, value = weight, gain
    if best is None:
        return Gain(0.0, None, _NAME) if np.isfinite(rows.score(before, shared_rows)) else None
    mixture[shared_rows] = mixed(best)
    return rows.gain(rows.predictions(mixture), before, shared_rows, _NAME, seed)


def _mixer(rows: ScoredRows, recipe: BlendRecipe, own_values: Values, ensemble: Values) -> Callable[[float], Values]:
    space_values = [enter(recipe.space, values, rows.card) for values in (ensemble, own_values)]
    plain = replace(recipe, weights={}, columns={}, calibration={})  # its ties stay

    def mixed(weight: float) -> Values:
        if recipe.space == "ordinal":
            return cut((1 - weight) * space_values[0] + weight * space_values[1], recipe.calibration)
        reweighted = replace(plain, weights={0: 1 - weight, 1: weight})
        return combine(reweighted, lambda node, _: space_values[node], rows.card)

    return mixed
