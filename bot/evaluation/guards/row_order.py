"""Leak by row order: the table is sorted by its labels, and the test table may be too."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers.findings import Finding, passed, suspicious
from bot.evaluation.guards.predictability import FEWEST, as_numbers, guess, skill
from bot.evaluation.guards.targets import GuardedView, Target
from scrapers.snapshots.times import parse_times

LEAST = 0.3
"""Skill of a row's neighbours in the table; less may come from rows that were collected together."""
_SORTED = 0.98
"""Share of rows that do not come before the one above them, from which a column is sorted."""
_REACH = 3


def labels_by_row_order(guard: str, view: GuardedView) -> Finding:
    """Predict each training row's label by the rows above and below it.

    A table that is sorted by one of its columns, such as a time, passes: its order is known at prediction anyway.
    """
    if len(view.train_ids) < FEWEST:
        return passed(guard, f"{len(view.train_ids)} training rows are too few to look at their order")
    if (column := _sorted_by(view)) is not None:
        return passed(guard, f"training rows are sorted by {column!r}, which every row has")
    best, which = max(((_skill(target), target.name) for target in view.targets), default=(0.0, ""))
    if best < LEAST:
        return passed(guard, f"rows say nothing of their neighbours' labels (skill {best:.2f})", skill=round(best, 4))
    sentence = f"training rows are sorted by {which!r}: neighbours in the table foretell it with a skill of {best:.2f}"
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
    known = values[values >= 0] if target.kind == "classes" else values[np.isfinite(values)]
    if len(known) <= 2 * _REACH:
        return 0.0
    shifts = [step for step in range(-_REACH, _REACH + 1) if step]
    inner = np.arange(_REACH, len(known) - _REACH)
    near = np.stack([known[inner + step] for step in shifts], axis=1)
    itself = replace(target, validation=known[inner])
    return skill(itself, guess(itself, near), np.ones(len(inner), dtype=bool))
