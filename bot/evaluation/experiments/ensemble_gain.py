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
    rows: ScoredRows, recipe: BlendRecipe, own: Values, ensemble: Values, both: Rows, seed: int
) -> Gain | None:
    """Return the gain of the best weight, 0 where none gains; None: what is combined are no predictions, or they have no score.

    Args:
        own: the experiment's predictions of all rows.
        ensemble: the ensemble's, out of fold.
    """
    if recipe.space in (*VOTES, *NUMBERS) or rows.metric is None or not len(both):
        return None
    most = max(1_000, _CELLS // own.shape[1])
    if len(both) > most:
        both = np.sort(np.random.default_rng(seed).permutation(both)[:most])
    mixed = _mixer(rows, recipe, own[both], ensemble[both])
    whole = ensemble.copy()
    before = rows.predicted(ensemble)
    best, value = None, 0.0
    for weight in WEIGHTS:
        whole[both] = mixed(weight)
        gained = rows.card.oriented(rows.score(rows.predicted(whole), both) - rows.score(before, both))
        if gained > value:
            best, value = weight, gained
    if best is None:
        return Gain(0.0, None, _NAME) if np.isfinite(rows.score(before, both)) else None
    whole[both] = mixed(best)
    return rows.gain(rows.predicted(whole), before, both, _NAME, seed)


def _mixer(rows: ScoredRows, recipe: BlendRecipe, own: Values, ensemble: Values) -> Callable[[float], Values]:
    entered = [enter(recipe.space, values, rows.card) for values in (ensemble, own)]
    plain = replace(recipe, weights={}, columns={}, calibration={})  # its ties stay

    def mixed(weight: float) -> Values:
        if recipe.space == "ordinal":
            return cut((1 - weight) * entered[0] + weight * entered[1], recipe.calibration)
        of = replace(plain, weights={0: 1 - weight, 1: weight})
        return combine(of, lambda node, _: entered[node], rows.card)

    return mixed
