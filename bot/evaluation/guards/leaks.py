"""Leaks of a competition: labels that ids, the order of rows, or a feature by itself tell."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.answers.findings import GuardFinding, guard_passed, not_run, suspicious
from bot.evaluation.guards.targets import GuardedView, Target
from scrapers.snapshots.times import parse_times

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
    is_given = np.array([str(cell).strip().lower() not in _MISSING for cell in cells], dtype=bool)
    if not is_given.any() or np.isfinite(values[is_given]).mean() < _NUMBERS:
        return None
    return np.where(np.isfinite(values), values, np.nan)


def by_neighbours(train: Numbers, validation: Numbers, target: Target) -> float:
    """Return the skill of predicting each validation row by the nearest training rows in one number."""
    usable = np.flatnonzero(np.isfinite(train) & _has_target(target))
    is_finite = np.isfinite(validation)
    if len(usable) < 2 * _SIDE or is_finite.sum() < FEWEST:
        return 0.0
    by_number = usable[np.argsort(train[usable], kind="stable")]
    places = np.searchsorted(train[by_number], validation[is_finite])
    starts = np.clip(places - _SIDE, 0, len(by_number) - 2 * _SIDE)
    neighbours = target.train[by_number[starts[:, None] + np.arange(2 * _SIDE)]]
    return skill(target, guess(target, neighbours), is_finite)


def by_value(train: Sequence[str], validation: Sequence[str], target: Target) -> float:
    """Return the skill of predicting by the training rows with the same value."""
    usable = _has_target(target)
    if len(validation) < FEWEST or not usable.any():
        return 0.0
    pairs = pd.DataFrame({"value": list(train), "target": target.train})[usable]
    if target.kind == "classes":
        counts = pairs.groupby(["value", "target"], sort=True).size().reset_index(name="rows")
        table = counts.sort_values("rows").groupby("value")["target"].last()
        blind: float = float(pairs["target"].mode().iloc[0])
    else:
        table, blind = pairs.groupby("value")["target"].mean(), float(pairs["target"].mean())
    looked_up = pd.Series(list(validation)).map(table).fillna(blind).to_numpy(float)
    return skill(target, looked_up, np.ones(len(looked_up), dtype=bool))


def skill(target: Target, guesses: Numbers, is_known: NDArray[np.bool_]) -> float:
    """Return 1 for guesses (of the validation rows in `is_known`) that are all right, 0 or less if no better than blind."""
    truth = target.validation[is_known]
    if target.kind == "classes":
        blind = np.bincount(truth).max() / len(truth)
        return float((np.mean(guesses == truth) - blind) / (1 - blind)) if blind < 1 else 0.0
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((guesses - truth) ** 2).sum()) / spread if spread > 0 else 0.0


def _has_target(target: Target) -> NDArray[np.bool_]:
    return target.train >= 0 if target.kind == "classes" else np.isfinite(target.train)


def guess(target: Target, neighbours: NDArray[np.float64]) -> Numbers:
    """Return the mean of each row's neighbours, or the class that most of them have."""
    votes = (neighbours[:, :, None] == neighbours[:, None, :]).sum(axis=2)
    common: Numbers = neighbours[np.arange(len(neighbours)), votes.argmax(axis=1)].astype(float)
    mean: Numbers = neighbours.mean(axis=1)
    return common if target.kind == "classes" else mean


MIN_SKILL = 0.1
"""Skill of an id above which it is not by chance."""
_ERRORS = 4.0
_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r"[^0-9A-Za-z]+")
_HEX = re.compile(r"[0-9a-f]{8,64}", re.IGNORECASE)
_RUNS = 3


def labels_by_id(guard: str, view: GuardedView) -> GuardFinding:
    """Predict the validation rows' labels by the training rows whose ids are nearest, or have the same words."""
    ids, train = view.ids, view.train_ids
    if len(ids) < FEWEST:
        return guard_passed(guard, f"{len(ids)} validation rows are too few to test ids", rows=len(ids))
    if parse_times(train) is not None:
        return guard_passed(guard, "ids are times, which may legitimately correlate with labels")
    best, part_name, label = 0.0, "", ""
    for target in view.targets:
        for name, known_parts, new_parts in _numbers(train, ids):
            found_skill = by_neighbours(known_parts, new_parts, target)
            best, part_name, label = max((best, part_name, label), (found_skill, name, target.name))
        for name, train_words, words in _words(train, ids):
            found_skill = by_value(train_words, words, target)
            best, part_name, label = max((best, part_name, label), (found_skill, name, target.name))
    min_skill = max(MIN_SKILL, _ERRORS / np.sqrt(len(ids)))
    if best < min_skill:
        return guard_passed(guard, f"ids do not predict labels (skill {best:.2f})", skill=round(best, 4))
    sentence = (
        f"{label!r} can be predicted from {part_name} in the id with a skill of {best:.2f} (random ids have none)"
    )
    return suspicious(guard, sentence, skill=round(best, 4), by=part_name)


def _numbers(train: Sequence[str], validation: Sequence[str]) -> Iterator[tuple[str, Numbers, Numbers]]:
    for place in range(_RUNS):
        known_parts, new_parts = ([_run(id, place) for id in side] for side in (train, validation))
        if np.isfinite(known_parts).mean() > 0.5:
            yield f"number {place + 1}" if place else "the number", np.array(known_parts), np.array(new_parts)
    if all(_HEX.fullmatch(_stem(id)) for id in (*train[:100], *validation[:100])):
        known_parts, new_parts = ([_hexadecimal(id) for id in side] for side in (train, validation))
        yield "the hexadecimal value", np.array(known_parts), np.array(new_parts)


def _words(train: Sequence[str], validation: Sequence[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    for place in range(_RUNS):
        known_parts, new_parts = ([_word(id, place) for id in side] for side in (train, validation))
        # A word that no two rows share shows nothing, nor does one that all have.
        if 1 < len(set(known_parts)) <= len(known_parts) / 2:
            yield f"word {place + 1}", known_parts, new_parts


def _run(id: str, place: int) -> float:
    runs = _DIGITS.findall(id)
    return float(runs[place]) if place < len(runs) and len(runs[place]) <= 15 else np.nan


def _word(id: str, place: int) -> str:
    words = [word for word in _WORDS.split(id) if word]
    return words[place] if place < len(words) else ""


def _stem(id: str) -> str:
    return id.rsplit(".", 1)[0]


def _hexadecimal(id: str) -> float:
    stem = _stem(id)
    return float(int(stem[:13], 16)) if _HEX.fullmatch(stem) else np.nan


LEAST_ORDER = 0.3
"""Skill of a row's neighbours in the table; less may come from rows that were collected together."""
_SORTED = 0.98
"""Share of rows that do not come before the one above them, from which a column is sorted."""
_REACH = 3


def labels_by_row_order(guard: str, view: GuardedView) -> GuardFinding:
    """Predict each training row's label by the rows above and below it.

    A table that is sorted by one of its columns, such as a time, passes: its order is known at prediction anyway.
    """
    if len(view.train_ids) < FEWEST:
        return guard_passed(guard, f"{len(view.train_ids)} training rows are too few to test their order")
    if (column := _sorted_by(view)) is not None:
        return guard_passed(guard, f"training rows are sorted by {column!r}, which is known for all rows")
    best, label = max(((_skill(target), target.name) for target in view.targets), default=(0.0, ""))
    if best < LEAST_ORDER:
        return guard_passed(
            guard, f"rows do not predict their neighbours' labels (skill {best:.2f})", skill=round(best, 4)
        )
    sentence = f"training rows are sorted by {label!r}: neighbouring rows predict it with a skill of {best:.2f}"
    return suspicious(guard, sentence, skill=round(best, 4))


def _sorted_by(view: GuardedView) -> str | None:
    if parse_times(view.train_ids) is not None:
        return view.card.id_column
    for name in view.features:
        cells = view.train[name]
        numbers = as_numbers(cells)
        values = numbers if numbers is not None else parse_times(cells.tolist())
        if values is not None and len(set(values)) > 2 * _REACH:
            steps = np.diff(np.asarray(values, dtype=float))
            if max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _SORTED:
                return name
    return None


def _skill(target: Target) -> float:
    values: NDArray[Any] = target.train
    known_values = values[values >= 0] if target.kind == "classes" else values[np.isfinite(values)]
    if len(known_values) <= 2 * _REACH:
        return 0.0
    shifts = [step for step in range(-_REACH, _REACH + 1) if step]
    inner = np.arange(_REACH, len(known_values) - _REACH)
    neighbours = np.stack([known_values[inner + step] for step in shifts], axis=1)
    itself = replace(target, validation=known_values[inner])
    return skill(itself, guess(itself, neighbours), np.ones(len(inner), dtype=bool))


REVEALING_SKILL = 0.95
"""Skill of one column by itself; what honest columns know of a target that is worth a competition is far less."""

SECONDS = 60.0


def target_in_features(guard: str, view: GuardedView, seconds: float = SECONDS) -> GuardFinding:
    """Try each column by itself: learn from the training rows, test on the validation rows.

    If some columns are not reached within these seconds and nothing was found, the guard counts as not run.
    """
    start, tried_count = time.monotonic(), 0
    if len(view.ids) < FEWEST:
        return guard_passed(guard, f"{len(view.ids)} validation rows are too few to test columns", rows=len(view.ids))
    best, column, label = 0.0, "", ""
    for name in view.features:
        if time.monotonic() - start > seconds:
            break
        tried_count += 1
        train, validation = view.train[name], view.validation[name]
        numbers, validation_as_numbers = as_numbers(train), as_numbers(validation)
        for target in view.targets:
            column_skill = by_value(train.tolist(), validation.tolist(), target)
            if numbers is not None and validation_as_numbers is not None:
                column_skill = max(column_skill, by_neighbours(numbers, validation_as_numbers, target))
            if column_skill > best:
                best, column, label = column_skill, name, target.name
    if best < REVEALING_SKILL and tried_count < len(view.features):
        columns = f"only {tried_count} of {len(view.features)} columns"
        return not_run(guard, f"{columns} could be tested within {seconds:g} s")
    if best < REVEALING_SKILL:
        best_of_all = (
            f"no single column predicts a target; the best, {column!r}, has a skill of {best:.2f}" if column else ""
        )
        return guard_passed(
            guard, best_of_all or "no single column predicts a target", skill=round(best, 4), column=column
        )
    varies = view.test[column].nunique() > 1 if len(view.test) else True
    in_test = "" if varies else f"; the test rows all have the same {column!r}, so it does not help there"
    sentence = f"the column {column!r} alone predicts {label!r} with a skill of {best:.3f} (1 = always right){in_test}"
    return suspicious(guard, sentence, skill=round(best, 4), column=column)
