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
from bot.evaluation.scoring.scored_rows import ScoredRows
from bot.evaluation.scoring.truth import PredictionSet, Rows

_LARGE_SHARE = 0.5
"""Of the variance of the loss."""
_UNUSUAL = 2.0
"""A share of the variance is unusual if it is so many times the share of the rows, or of the columns, it is of."""
_FEW_ROWS_SHARE = 0.01
"""Share of rows that are few."""
_CLASSES = 100


def loss_shares(rows: ScoredRows, predictions: PredictionSet, subset: Rows | None) -> list[str]:
    """Return sentences on what carries more than half of the variance of the rows' loss; none where it is no mean of rows."""
    parts = rows.influences(predictions, subset)
    if parts is None or len(parts) < 1 / _FEW_ROWS_SHARE:
        return []
    return [*_by_column(parts, rows), *_by_class(parts, rows, subset), *_by_row(parts)]


def _by_column(parts: NDArray[np.float64], rows: ScoredRows) -> list[str]:
    shares, columns = (parts**2).sum(axis=0), rows.card.prediction_columns
    if parts.shape[1] != len(columns) or len(columns) < 2 or not shares.sum():
        return []
    column, share = int(shares.argmax()), float(shares.max() / shares.sum())
    if share <= max(_LARGE_SHARE, min(0.8, _UNUSUAL / len(columns))):
        return []
    return [f"The column {columns[column]} accounts for {share:.0%} of the loss variance."]


def _by_class(parts: NDArray[np.float64], rows: ScoredRows, subset: Rows | None) -> list[str]:
    metric, labels = rows.metric, rows.labels
    if metric is None or labels is None or not metric.of_classes:
        return []
    own_labels = labels if subset is None else labels[subset]
    names: Any = np.array(rows.card.prediction_columns, dtype=object)
    if own_labels.shape[1] > 1:
        if own_labels.dtype == object or not (own_labels.sum(axis=1) == 1).all():
            return []
        place = own_labels.argmax(axis=1)
    else:
        names, place = np.unique(own_labels[:, 0].astype(str), return_inverse=True)
    if not 2 <= len(names) <= _CLASSES:
        return []
    squares = np.bincount(place, (parts.mean(axis=1)) ** 2, minlength=len(names))
    if not squares.sum():
        return []
    largest = int(squares.argmax())
    share, of_rows = float(squares[largest] / squares.sum()), float((place == largest).mean())
    if share <= _LARGE_SHARE or share < _UNUSUAL * of_rows:
        return []
    return [f"The class {names[largest]} ({of_rows:.1%} of the rows) accounts for {share:.0%} of the loss variance."]


def _by_row(parts: NDArray[np.float64]) -> list[str]:
    squares = np.sort(parts.mean(axis=1) ** 2)[::-1]
    total, few_rows = squares.sum(), int(len(squares) * _FEW_ROWS_SHARE)
    if not total or squares[:few_rows].sum() <= _LARGE_SHARE * total:
        return []
    row_count = int(np.searchsorted(np.cumsum(squares), _LARGE_SHARE * total)) + 1
    return [f"{row_count:,} of {len(squares):,} rows account for half of the loss variance."]


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

    `share` is that of hold-out rows over training rows, `secret` a standard normal number.
    """
    if out_of_fold.std_error is None or not holdout.std_error:
        return "not checked"
    oof_variance, holdout_variance = out_of_fold.std_error**2, holdout.std_error**2
    # A model of other rows is another one (Nadeau and Bengio 2003, "Inference for the generalization error").
    error = math.sqrt(oof_variance + holdout_variance * (1 + share) + _between(by_fold))
    excess = out_of_fold.value - holdout.value
    return "gains less than its folds suggest" if excess > (ERRORS + BLUR * secret) * error else "agrees"


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
