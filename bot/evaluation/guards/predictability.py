"""The skill of one feature alone at predicting a target: the share of a blind guess's errors that it avoids.

Nearest neighbours in one dimension (six, three on each side) capture any function that is not too wild; repeated values are
looked up. What is learnt from training rows is tested on other rows, so that chance does not count.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.guards.targets import Target

FEWEST = 30
"""Fewest validation rows that can show anything."""
_SIDE = 3
_NUMBERS = 0.99
"""Share of cells that must be numbers, or missing, in a column of numbers."""
_MISSING = frozenset({"", "nan", "na", "null", "none", "n/a"})

Numbers = NDArray[np.float64]


def as_numbers(cells: Sequence[str] | pd.Series) -> Numbers | None:
    """Read a column as numbers, NaN for missing ones; None if it is not a column of numbers."""
    values = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(float)
    given = np.array([str(cell).strip().lower() not in _MISSING for cell in cells], dtype=bool)
    if not given.any() or np.isfinite(values[given]).mean() < _NUMBERS:
        return None
    return np.where(np.isfinite(values), values, np.nan)


def by_neighbours(train: Numbers, asked: Numbers, target: Target) -> float:
    """Return the skill of predicting each validation row by the nearest training rows in one number."""
    usable = np.flatnonzero(np.isfinite(train) & _has_target(target))
    kept = np.isfinite(asked)
    if len(usable) < 2 * _SIDE or kept.sum() < FEWEST:
        return 0.0
    ordered = usable[np.argsort(train[usable], kind="stable")]
    places = np.searchsorted(train[ordered], asked[kept])
    starts = np.clip(places - _SIDE, 0, len(ordered) - 2 * _SIDE)
    near = target.train[ordered[starts[:, None] + np.arange(2 * _SIDE)]]
    return skill(target, guess(target, near), kept)


def by_value(train: Sequence[str], asked: Sequence[str], target: Target) -> float:
    """Return the skill of predicting by the training rows with the same value."""
    usable = _has_target(target)
    if len(asked) < FEWEST or not usable.any():
        return 0.0
    seen = pd.DataFrame({"value": list(train), "target": target.train})[usable]
    if target.kind == "classes":
        counts = seen.groupby(["value", "target"], sort=True).size().reset_index(name="rows")
        table = counts.sort_values("rows").groupby("value")["target"].last()
        blind: float = float(seen["target"].mode().iloc[0])
    else:
        table, blind = seen.groupby("value")["target"].mean(), float(seen["target"].mean())
    looked_up = pd.Series(list(asked)).map(table).fillna(blind).to_numpy(float)
    return skill(target, looked_up, np.ones(len(looked_up), dtype=bool))


def skill(target: Target, guesses: Numbers, kept: NDArray[np.bool_]) -> float:
    """Return 1 for guesses (of the `kept` validation rows) that are all right, 0 or less for those no better than blind ones."""
    truth = target.validation[kept]
    if target.kind == "classes":
        blind = np.bincount(truth).max() / len(truth)
        return float((np.mean(guesses == truth) - blind) / (1 - blind)) if blind < 1 else 0.0
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((guesses - truth) ** 2).sum()) / spread if spread > 0 else 0.0


def _has_target(target: Target) -> NDArray[np.bool_]:
    return target.train >= 0 if target.kind == "classes" else np.isfinite(target.train)


def guess(target: Target, near: NDArray[np.float64]) -> Numbers:
    """Return the mean of each row's neighbours, or the class that most of them have."""
    votes = (near[:, :, None] == near[:, None, :]).sum(axis=2)
    common: Numbers = near[np.arange(len(near)), votes.argmax(axis=1)].astype(float)
    mean: Numbers = near.mean(axis=1)
    return common if target.kind == "classes" else mean
