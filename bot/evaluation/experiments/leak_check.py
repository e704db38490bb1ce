"""The check against leaks: whether an experiment gains on the hold-out what its folds promise.

An experiment that learnt of labels which its folds should not know gains out of fold, and not on the hold-out. Both gains are
taken over the same reference and paired, so that hard rows cancel out. An answer is a phrase, and never certain: a secret
number, different for each pair of arrays, moves the threshold by about one standard error, so that no sequence of made-up
predictions can ask for one label after another.
"""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Gain
from bot.evaluation.answers.experiments import LeakCheck

Values = NDArray[Any]

FEWEST_ROWS, FEWEST_UNITS = 100, 8
"""Of the hold-out, below which nothing is checked."""
ERRORS = 3.0
"""Standard errors of the difference of two gains that are clear."""
BLUR = 0.8
"""Standard deviation of what moves the threshold, in standard errors."""
_FEWEST_CHANGED = 20.0
"""Rows of the hold-out that the two experiments' difference must be spread over."""


def compare_gains(out_of_fold: Gain, by_fold: Sequence[Gain], holdout: Gain, share: float, secret: float) -> LeakCheck:
    """Compare two gains over the same reference.

    Args:
        holdout: on the hold-out rows.
        share: hold-out rows over training rows.
        secret: a standard normal number.
    """
    if out_of_fold.std_error is None or not holdout.std_error:
        return "not checked"
    oof_variance, holdout_variance = out_of_fold.std_error**2, holdout.std_error**2
    # A model of other rows is another one (Nadeau and Bengio 2003, "Inference for the generalization error").
    error = math.sqrt(oof_variance + holdout_variance * (1 + share) + _between(by_fold))
    excess = out_of_fold.value - holdout.value
    return "gains less than its folds promise" if excess > (ERRORS + BLUR * secret) * error else "agrees"


def _between(gains: Sequence[Gain]) -> float:
    """Return the variance of a gain from fold to fold, beyond that of its rows: what is predicted later may gain otherwise."""
    known_gains = [gain for gain in gains if gain.std_error is not None]
    if len(known_gains) < 3:
        return 0.0
    values = np.array([gain.value for gain in known_gains])
    noise = float(np.mean([(gain.std_error or 0.0) ** 2 for gain in known_gains]))
    return max(0.0, float(values.var(ddof=1)) - noise)


def spread_over(own_values: Values, other_values: Values) -> bool:
    """Return whether two experiments' predictions (rows, columns) differ on many rows alike, not on a few alone."""
    if own_values.dtype == object:
        changes = (own_values != other_values).any(axis=1).astype(float)
    else:
        changes = np.square((own_values - other_values).astype(float)).sum(axis=1)
    fourth = float(np.square(changes).sum())
    return fourth > 0 and float(changes.sum()) ** 2 / fourth >= _FEWEST_CHANGED


def secret_number(truth: Path, names: Sequence[str], seed: int) -> float:
    """Return a standard normal number that only who knows the labels could tell; the same for the same arrays."""
    digest = hashlib.sha256(truth.read_bytes())
    digest.update(f"{seed}/{'/'.join(names)}".encode())
    return float(np.random.default_rng(int.from_bytes(digest.digest()[:16], "big")).standard_normal())
