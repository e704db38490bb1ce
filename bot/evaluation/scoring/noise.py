"""Noise: the standard error of a hold-out score, and of the difference of two, by resampling rows.

The bootstrap (Efron 1979): the metric is computed on many draws of as many rows with replacement, and the standard
deviation of these scores estimates the standard error. Both candidates are scored on the same draws: easy and hard
rows, the main cause of noise, are the same for both and cancel out in the difference. Rows count as independent; if
they are correlated, in groups or in time, the true error is larger.

A competition's own grader may refuse an id that occurs twice. For it half of the rows are drawn at a time, without
replacement: the deviation of such scores estimates the same error (the delete-half jackknife, Shao and Wu 1989). For
m out of n rows it is multiplied by the square root of m / (n - m).
"""

import math
import time
from contextlib import closing, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView, Noise
from bot.evaluation.scoring import Scorer, labels_of, open_scorer
from bot.evaluation.scoring.truth import Predicted, Truth, finite, score_or_nan
from state.errors import InvalidSubmission

DRAWS = 200
"""So many draws estimate the standard error itself within 5%."""
FEWEST = 30
"""Draws on which the metric must be defined; with fewer there is no result."""

SMALLEST = 100
"""Fewest rows of a draw, however slow the metric is."""
_PATIENCE = 3.0
"""A competition's grader gets no more draws after this many times the seconds, even if there are too few."""


def score_noise(
    view: LabelledView,
    predictions: Path,
    other: Path | None,
    seed: int,
    seconds: float = 20.0,
    scorer: Scorer | None = None,
) -> Noise:
    """Estimate the standard error of a score, and of its difference to another's.

    Predictions are those of the rows of `sample_validation.csv`, and `other` those of another script. After `seconds` only
    draws still needed for `FEWEST` defined scores follow. If the metric is too slow for `FEWEST` draws of all rows, fewer
    rows are drawn, and the result is scaled by the square root of their share; a competition's grader gets at most three
    times as long. A scorer that is open already stays so. Errors are None where the metric was defined on too few draws.

    Raises:
        InvalidSubmission: the predictions cannot be read.
        InfrastructureFailure: the labels cannot be read.
        UsageError: the card's metric is unknown.
    """
    card = view.card
    with nullcontext(scorer) if scorer else closing(open_scorer(card, view.grader)) as by:
        truth = labels_of(view, by)
        first = truth.read(predictions)
        second = _read(other, truth)
        sides = [first] if second is None else [first, second]
        gain = None
        if second is not None:
            whole = [score_or_nan(truth, side) for side in sides]
            gain = finite(card.oriented(whole[0]) - card.oriented(whole[1]))
        scores, rows, scale = _resampled(truth, sides, seed, seconds)
    own = _spread(scores[:, 0], scale)
    return Noise(
        score_error=own,
        gain=gain,
        gain_error=None if second is None else _spread(scores[:, 0] - scores[:, 1], scale),
        draws=len(scores),
        rows=rows,
        note=None if own is not None else _note(truth, scores, by.name),
    )


def _note(truth: Truth, scores: NDArray[np.float64], name: str) -> str:
    if truth.ids is None:
        return f"the {name} scores whole files only, so that nothing is known of its noise"
    defined = int(np.isfinite(scores[:, 0]).sum())
    return f"the {name} gave a score on {defined} of {len(scores)} draws in the time there was; {FEWEST} are needed"


def _read(path: Path | None, truth: Truth) -> Predicted | None:
    try:
        return None if path is None else truth.read(path)
    except InvalidSubmission:
        return None


def _resampled(
    truth: Truth, sides: list[Predicted], seed: int, seconds: float
) -> tuple[NDArray[np.float64], int, float]:
    """Return the scores of the draws (draws, sides), the rows of each, and the factor for their deviation."""
    if truth.ids is None:
        return np.empty((0, len(sides))), 0, 1.0
    rng = np.random.default_rng(seed)
    many = len(truth.ids)
    began = time.monotonic()
    scored = [truth.draws(side) for side in sides]

    def draw(rows: int) -> list[float]:
        drawn = rng.integers(0, many, rows) if truth.repeats else rng.choice(many, rows, replace=False)
        return [score(drawn) for score in scored]

    rows = many if truth.repeats else max(1, many // 2)
    first = time.monotonic()
    scores = [draw(rows)]
    needed = FEWEST * (time.monotonic() - first)
    if needed > seconds and rows > SMALLEST:
        rows = max(SMALLEST, int(rows * seconds / needed))
        scores.clear()
    patience = math.inf if truth.repeats else _PATIENCE * seconds
    while len(scores) < DRAWS:
        spent, defined = time.monotonic() - began, sum(math.isfinite(own) for own, *_ in scores)
        if spent >= (patience if defined < FEWEST else seconds):
            break
        scores.append(draw(rows))
    share = rows / many if truth.repeats else rows / max(1, many - rows)
    return np.array(scores, dtype=float).reshape(-1, len(sides)), rows, math.sqrt(share)


def _spread(values: NDArray[np.float64], scale: float) -> float | None:
    defined = values[np.isfinite(values)]
    return finite(float(defined.std(ddof=1)) * scale) if len(defined) >= FEWEST else None
