"""Leak by duplicate rows: rows to predict occur among the training rows, with features and label."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.answers.findings import GuardFinding, guard_passed, suspicious
from bot.evaluation.guards.targets import GuardedView, Target
from bot.evaluation.guards.traces import Traces

SHARE = 0.01
FEWEST = 5
"""Rows that repeat training rows, fewer of which are an accident."""
DISTINCT = 0.5
"""Share of training rows that are unlike all others, below which features are too coarse for equal rows to be the same thing."""
AGREE = 0.9
"""Share of repeated rows that have the label of what they repeat."""
AS_OFTEN = 0.5
"""Share of repeated test rows, as a part of that of validation rows, from which a score that counts them is one of the test."""
CHANCE = 0.05
"""Chance of two rows to have the same value, above which equal quantities show no copy."""
_CLOSE = 0.05
"""Ranks (between 0 and 1) of quantities that agree."""
_ERRORS = 2.0


def duplicates_of_training(guard: str, view: GuardedView) -> GuardFinding:
    """Count the validation and test rows whose features are all those of a training row, and compare the labels.

    Rows that no column distinguishes may still differ in their labels, and such tables legitimately have equal rows. There
    a quantity shows a copy: it is the same to the last digit.
    """
    if not view.features:
        return guard_passed(guard, "rows have no columns to compare")
    train, validation = _keys(view.train), _keys(view.validation)
    sides = np.isin(validation, train), np.isin(_keys(view.test), train)
    # Where too few rows are repeated, nothing is known of their labels.
    agreements = [a for a in (_agreement(train, validation, target) for target in view.targets) if a is not None]
    agreement = round(min(agreements), 4) if agreements else None
    shares = [float(side.mean()) if len(side) else 0.0 for side in sides]
    evidence = {"validation_share": round(shares[0], 4), "test_share": round(shares[1], 4), "agreement": agreement}
    summary = f"{shares[0]:.1%} of the validation rows and {shares[1]:.1%} of the test rows repeat a training row"
    has_many = any(side.sum() >= FEWEST and side.mean() >= SHARE for side in sides)
    copies = _copies(view)
    if copies.sum() >= FEWEST and copies.mean() >= SHARE:
        share = f"{copies.mean():.1%} of the validation rows"
        sentence = f"{share} also occur among the training rows, with the same label but a different id"
        return suspicious(guard, sentence, copies=round(float(copies.mean()), 4), **evidence)
    if not has_many:
        return guard_passed(guard, summary, **evidence)
    if _is_coarse(train):
        return guard_passed(guard, f"{summary}, in columns with few distinct values", **evidence)
    if agreement is None:
        return suspicious(guard, f"{summary}, but too few of them have labels to compare", **evidence)
    if agreement < AGREE:
        return guard_passed(guard, f"{summary}, but the labels of repeated rows differ", **evidence)
    return suspicious(guard, f"{summary}, and {agreement:.0%} of repeated rows have the same label", **evidence)


def better_on_duplicates(guard: str, traces: Traces) -> GuardFinding:
    """Score the validation rows without those that repeat training rows.

    If test rows repeat training rows as well, about as often, the score rightly counts them.
    """
    view = traces.view
    if not view.features:
        return guard_passed(guard, "rows have no columns to compare")
    rows = zip(view.prediction_places, np.isin(_keys(view.validation), _keys(view.train)), strict=True)
    repeats = {place for places, repeats_training in rows if repeats_training for place in places}
    if len(repeats) < max(FEWEST, SHARE * len(traces.ids)):
        return guard_passed(guard, f"{len(repeats)} of {len(traces.ids)} validation rows repeat a training row")
    if _is_coarse(_keys(view.train)):
        coarse = "validation rows repeat a training row, in columns with few distinct values"
        return guard_passed(guard, f"{len(repeats)} of {len(traces.ids)} {coarse}")
    new_rows = np.array([row for row in range(len(traces.ids)) if row not in repeats])
    if len(new_rows) < FEWEST:
        return suspicious(guard, "nearly all validation rows repeat training rows: the score measures memorization")
    without = traces.score_of_rows(new_rows)
    if without is None:
        return guard_passed(guard, "the metric is undefined without the repeated rows")
    worse = traces.oriented(traces.score) - traces.oriented(without)
    sentence = f"the score is {without:.6g} without the {len(repeats)} validation rows that repeat training rows"
    evidence = {"repeated": len(repeats), "without": without, "score_error": traces.error}
    tested = float(np.isin(_keys(view.test), _keys(view.train)).mean()) if len(view.test) else 0.0
    evidence["test_share"] = round(tested, 4)
    if tested >= AS_OFTEN * len(repeats) / len(traces.ids):
        sentence = f"{sentence}, but {tested:.0%} of the test rows repeat training rows as well"
        return guard_passed(guard, sentence, **evidence)
    if traces.error is not None and worse > _ERRORS * traces.error:
        # Without the score itself: labs read the sentence, and are shown scores rounded.
        gain_words = f"improve the score by {worse / traces.error:.2g} standard errors"
        return suspicious(guard, f"{len(repeats)} validation rows that repeat training rows {gain_words}", **evidence)
    return guard_passed(guard, sentence, **evidence)


def _is_coarse(train: NDArray[np.uint64]) -> bool:
    return len(np.unique(train)) < DISTINCT * len(train)


def _copies(view: GuardedView) -> NDArray[np.bool_]:
    """Return which validation rows have the features and quantities of a training row; none where these repeat by chance."""
    no_rows = np.zeros(len(view.validation), dtype=bool)
    if any(target.kind == "classes" for target in view.targets):
        return no_rows
    shares = pd.Series(view.targets[0].train).value_counts(normalize=True)
    if float((shares**2).sum()) > CHANCE:
        return no_rows
    train = pd.MultiIndex.from_arrays([_keys(view.train), *(target.train for target in view.targets)])
    validation = pd.MultiIndex.from_arrays([_keys(view.validation), *(target.validation for target in view.targets)])
    return np.asarray(validation.isin(train), dtype=bool)


def _agreement(train: NDArray[np.uint64], validation: NDArray[np.uint64], target: Target) -> float | None:
    """Return the share of validation rows, or else training rows, with the label of the training row they repeat."""
    first = pd.Series(target.train).groupby(train).first()
    agreement = _label_agreement(first, validation, target.validation, target)
    if agreement is None:
        later = pd.Series(train).duplicated().to_numpy()
        agreement = _label_agreement(first, train[later], target.train[later], target)
    return agreement


def _label_agreement(first: pd.Series, keys: NDArray[np.uint64], labels: NDArray[Any], target: Target) -> float | None:
    before = first.reindex(keys).to_numpy(float)
    is_finite = np.isfinite(before) & np.isfinite(labels.astype(float))
    if is_finite.sum() < FEWEST:
        return None
    off = np.abs(before[is_finite] - labels.astype(float)[is_finite])
    return float(np.mean(off == 0 if target.kind == "classes" else off <= _CLOSE))


def _keys(frame: pd.DataFrame) -> NDArray[np.uint64]:
    if not len(frame):
        return np.zeros(0, dtype=np.uint64)
    # As bytes, since a text that was not UTF-8 cannot be hashed.
    stripped = frame.apply(lambda column: column.str.strip().str.encode("utf-8", "surrogatepass"))
    return np.asarray(pd.util.hash_pandas_object(stripped, index=False), dtype=np.uint64)
