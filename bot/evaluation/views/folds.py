"""Cutting all labelled training rows into folds: by class, by whole groups, or by time; the same for every caller."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.evaluation.answers.view_names import ViewName
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.views.split import Split, seeded, strata_of
from bot.evaluation.views.timeline import train_stretches
from scrapers.snapshots.times import parse_times
from state.errors import UnsupportedLayout


@dataclass(frozen=True)
class FoldRows:
    """The training rows of one fold: those to learn from, and those to predict; all others are withheld."""

    train: list[int]
    asked: list[int]
    note: str


def fold_rows(layout: Layout, split: Split, name: ViewName, seed: int, version: int) -> FoldRows:
    """Return the rows of one fold.

    If the test rows come last in time, folds go forward: the rows are cut into one block more than there are folds,
    the first is never predicted, and each other is predicted from earlier rows alone. If test rows lie between
    training rows, later rows are known for the test too: a fold is then a block of every stretch, and all other
    blocks are shown.

    Raises:
        UnsupportedLayout: there are too few rows for this many folds.
    """
    rows = range(len(layout.ids))
    scored = [row for row in rows if layout.has_label(row)]
    fold_of, forward, note = fold_numbers(layout, split, scored, name.folds, seed, version)
    number = name.fold - 1
    asked = [row for row in scored if fold_of.get(row) == number]
    train = [row for row in rows if fold_of.get(row) != number]
    if forward and asked and split.column is not None:
        train = _before(layout, train, asked, split.column)
    if not asked or not any(layout.has_label(row) for row in train):
        raise UnsupportedLayout(f"The training rows are too few for {name.folds} folds ({note}).")
    return FoldRows(train, asked, f"{name}: {note}")


def fold_numbers(
    layout: Layout, split: Split, scored: Sequence[int], folds: int, seed: int, version: int
) -> tuple[dict[int, int], bool, str]:
    """Return the fold of each labelled row, whether a fold learns from earlier rows alone, and how they were cut.

    Folds count from 0; a row with -1, or without a number, is never validated.
    """
    if split.kind == "time" and split.column is not None:
        return _by_time(layout, scored, split.column, folds)
    fold_of, note = _by_unit(layout, split, scored, folds, seeded(seed, version, f"units of {folds} folds"))
    return fold_of, False, note


def _by_time(layout: Layout, scored: Sequence[int], column: str, folds: int) -> tuple[dict[int, int], bool, str]:
    """Cut each stretch into blocks of about equally many rows; equal times stay together."""
    times = parse_times(layout.train.column(column)) or []
    test = parse_times((layout.test or layout.sample).column(column)) or []
    stretches = train_stretches(times, test) or {}
    forward = len(set(stretches.values())) < 2
    blocks = folds + 1 if forward else folds
    fold_of: dict[int, int] = {}
    for stretch in sorted(set(stretches.values())):
        rows = [row for row in scored if stretches[times[row]] == stretch]
        per_time, before = Counter(times[row] for row in rows), 0
        block_of: dict[float, int] = {}
        for time in sorted(per_time):
            block_of[time] = min(before * blocks // max(1, len(rows)), blocks - 1)
            before += per_time[time]
        fold_of |= {row: block_of[times[row]] - int(forward) for row in rows}
    if forward:
        return fold_of, True, f"by {column}, each learns from what is earlier"
    return fold_of, False, f"blocks by {column}; test rows lie between training rows, so what is later is known"


def _before(layout: Layout, train: Sequence[int], asked: Sequence[int], column: str) -> list[int]:
    """Return the training rows that are earlier than all rows to predict."""
    times = parse_times(layout.train.column(column)) or []
    first = min(times[row] for row in asked)
    return [row for row in train if times[row] < first]


def _by_unit(
    layout: Layout, split: Split, scored: Sequence[int], folds: int, rng: random.Random
) -> tuple[dict[int, int], str]:
    """Put each unit into the emptiest fold: groups by falling size, all others stratum by stratum."""
    members = {unit[0]: unit for unit in split.units.rows(scored)}
    grouped = split.kind == "grouped"
    strata: Mapping[str, Sequence[int]] = {"all": list(members)}
    note = f"whole groups by {split.column}"
    if not grouped:
        strata, _, note = strata_of(layout, list(members))
    filled, fold_of = [0] * folds, dict[int, int]()
    for name in sorted(strata):
        rows = list(strata[name])
        rng.shuffle(rows)
        for row in sorted(rows, key=lambda row: -len(members[row])) if grouped else rows:
            fold = filled.index(min(filled))
            fold_of |= dict.fromkeys(members[row], fold)
            filled[fold] += len(members[row])
    return fold_of, note
