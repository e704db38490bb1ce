"""Splits unlike the test: the validation rows are not later where the test rows are, or were drawn in another way."""

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.answers.findings import GuardFinding, guard_passed, not_run, suspicious
from bot.evaluation.guards.leaks import as_numbers
from bot.evaluation.guards.targets import GuardedView
from bot.evaluation.views.build import view_info
from bot.evaluation.views.timeline import train_stretches
from scrapers.snapshots.times import parse_times


def split_unlike_the_test(guard: str, view: GuardedView) -> GuardFinding:
    """Report where the split could not follow how the test rows were split off, as the view's builder found it."""
    info = view_info(view.labels)
    if info is None:
        return not_run(guard, "how the rows were split is unknown")
    if info.unlike:
        return suspicious(guard, "; ".join(info.unlike))
    return guard_passed(guard, f"no sign that the test rows were split differently ({info.split_kind})")


MAX_FUTURE_SHARE = 0.1
"""Share of validation rows that may have training rows after them although no test row has."""
_VALUES = 3
"""Different values that a column of times has at least."""

_TIME = re.compile(
    r"(?:^|[^a-z])(?:time|date|day|week|month|quarter|year|hour|minute|second|epoch)(?:s|$|[^a-z])", re.IGNORECASE
)
"""A column of that name numbers times, not groups, though whole ones of them are withheld."""

Numbers = NDArray[np.float64]


def trained_on_the_future(guard: str, view: GuardedView) -> GuardFinding:
    """For each column of time by which the test rows were split off, check the split of the validation rows.

    In such a column no test row comes before the last training row, or training and test rows alternate in long
    stretches. The id counts if it is a time, not if it is a number: test rows are often numbered last.
    """
    time_column = None
    for name in [view.card.id_column, *view.features]:
        columns = _columns(view, name)
        if columns is None or not _parts(*columns):
            continue
        train, validation, test, _ = columns
        share = _with_future(train, validation, test)
        if share > MAX_FUTURE_SHARE and (_TIME.search(name) or not _share_no_values(train, validation)):
            return suspicious(
                guard,
                f"by {name!r} time parts test and training rows, but {share:.0%} of the validation rows have training rows "
                "after them: the score is that of a test whose future is known",
                share=round(share, 4),
                column=name,
            )
        time_column = time_column or name
    if time_column is None:
        return guard_passed(guard, "no column separates training and test rows by time")
    return guard_passed(
        guard, f"time, by {time_column!r}, separates validation rows from training rows as it does test rows"
    )


def latest_row(view: GuardedView) -> int | None:
    """Return the latest training row by a column of times after which all validation and test rows are; None: there is none."""
    for name in [view.card.id_column, *view.features]:
        columns = _columns(view, name)
        if columns is not None and columns[3] and min(columns[1].min(), columns[2].min()) > columns[0].max():
            return int(columns[0].argmax())
    return None


def _parts(train: Numbers, validation: Numbers, test: Numbers, are_times: bool) -> bool:
    """Whether test rows come last, or alternate with all others in long stretches of time."""
    if test.min() >= max(train.max(), validation.max()):
        return True
    return are_times and train_stretches([*train, *validation], test.tolist()) is not None


def _with_future(train: Numbers, validation: Numbers, test: Numbers) -> float:
    """Return the share of validation rows that lie before or among training rows although no test row does."""
    if test.min() >= train.max():
        return float(np.mean(validation < train.max()))
    return 0.0 if train_stretches(train.tolist(), validation.tolist()) is not None else 1.0


def _columns(view: GuardedView, name: str) -> tuple[Numbers, Numbers, Numbers, bool] | None:
    """Return a column of training, validation and test rows as numbers, and whether they are times; None if it has neither."""
    if name == view.card.id_column:
        sides: list[list[str]] = [view.train_ids, view.ids, view.test_ids]
    elif not len(view.test):
        return None
    else:
        sides = [part[name].tolist() for part in (view.train, view.validation, view.test)]
    times = [parse_times(side) for side in sides]
    if all(times_of_side is not None for times_of_side in times):
        return *(np.array(times_of_side, dtype=float) for times_of_side in times), True  # type: ignore[return-value]  # three of them
    if name == view.card.id_column:
        return None
    numbers = [as_numbers(pd.Series(side, dtype=object)) for side in sides]
    if any(side_numbers is None or np.isnan(side_numbers).any() or not len(side_numbers) for side_numbers in numbers):
        return None
    train, validation, test = (side_numbers for side_numbers in numbers if side_numbers is not None)
    if len(np.unique(train)) < _VALUES or len(np.unique(test)) < 2:
        return None
    return train, validation, test, False


def _share_no_values(train: Numbers, validation: Numbers) -> bool:
    """Whether no value is on both sides though values repeat, as in a column that numbers groups."""
    train_values, validation_values = set(train.tolist()), set(validation.tolist())
    return not train_values & validation_values and len(train_values) * 2 < len(train)
