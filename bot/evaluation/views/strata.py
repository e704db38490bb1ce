"""Groups rows by what they are to be stratified by: their class, or the tenth of a quantity; and keeps each target varying."""

import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from bot.evaluation.layouts.layout import ONE_BY_ONE, Layout
from bot.evaluation.metrics.registry import prediction_kind

Part = Literal["train", "holdout", "final"]
Target = Callable[[int], object]
"""Returns the value of one target in a training row; equal numbers are equal, however they are written."""
PARTS: Sequence[Part] = ("train", "holdout", "final")
_CANDIDATES = 50
"""Units that are looked at for one that a part can do without."""


def targets(layout: Layout) -> list[Target]:
    """Return a layout's targets: its label columns, or each class where a label becomes several prediction columns."""

    def of_class(label: str) -> Target:
        return lambda row: layout.labels[row][0] == label

    def of_column(column: int) -> Target:
        return lambda row: _value(layout.labels[row][column])

    if layout.classes is not None:
        return [of_class(label) for label in sorted(layout.classes)]
    return [of_column(column) for column in range(len(layout.label_columns))]


def is_constant(target: Target, rows: Iterable[int]) -> bool:
    """Whether a target has one value at most in some rows."""
    values = iter(rows)
    first = next(values, None)
    return first is None or all(target(row) == target(first) for row in values)


def add_variation(layout: Layout, sample: set[int], other_rows: Sequence[int], count: int) -> None:
    """Add to chosen rows, for each target that is constant in them, up to `count` of the others that differ."""
    for target in targets(layout):
        if sample and is_constant(target, sample):
            constant = target(next(iter(sample)))
            unlike = (row for row in other_rows if target(row) != constant)
            sample.update(row for row, _ in zip(unlike, range(count), strict=False))


def move_for_variation(layout: Layout, units: Sequence[Sequence[int]], part_of: list[Part], rng: random.Random) -> None:
    """Move a few units (rows that stay together) to another part, so that each target varies in each part.

    Where there are too few rows for all, `train` comes first, then `holdout`: a unit without which a target no longer
    varies is only taken from a part that comes later.
    """
    order = list(range(len(units)))
    rng.shuffle(order)
    columns = targets(layout)
    for place, part in enumerate(PARTS):
        own_units = [unit for unit in order if part_of[unit] == part]
        for target in columns:
            if not own_units or not is_constant(target, _rows(units, own_units)):
                continue
            constant = target(units[own_units[0]][0])
            unlike = [u for u in order if part_of[u] != part and any(target(row) != constant for row in units[u])]
            spare = (u for u in unlike[:_CANDIDATES] if _can_spare(units, part_of, u, columns))
            later = (u for u in unlike if part_of[u] in PARTS[place:])
            if (unit := next(spare, next(later, None))) is not None:
                part_of[unit] = part
                own_units.append(unit)


def _can_spare(units: Sequence[Sequence[int]], part_of: Sequence[Part], unit: int, columns: Sequence[Target]) -> bool:
    """Whether every target still varies without a unit in the part that it is in."""
    peers = [u for u, part in enumerate(part_of) if part == part_of[unit]]
    remaining = [u for u in peers if u != unit]
    return all(not is_constant(t, _rows(units, remaining)) or is_constant(t, _rows(units, peers)) for t in columns)


def _rows(units: Sequence[Sequence[int]], chosen_units: Sequence[int]) -> Iterable[int]:
    return (row for unit in chosen_units for row in units[unit])


def _value(cell: str) -> object:
    try:
        return float(cell)
    except ValueError:
        return cell.strip()


SplitKind = Literal["stratified", "time", "grouped", "random"]
PART_COUNT = 3
"""A class with fewer rows than there are parts stays in train."""
_QUANTILES = 10
"""Bins of a quantity to stratify by."""


Key = TypeVar("Key", bound=Hashable)


def rows_by(rows: Iterable[int], key: Callable[[int], Key]) -> dict[Key, list[int]]:
    """Group rows by a key, in order."""
    groups: dict[Key, list[int]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def strata_of(
    layout: Layout, labelled: Sequence[int], min_rows: int = PART_COUNT
) -> tuple[Mapping[str, Sequence[int]], SplitKind, str]:
    """Group the rows by class, or a quantity by its tenths; classes of fewer rows than the least are left out.

    Of rows that stay together the first alone is to be given: it stands for them.
    """
    if layout.is_quantity:
        order = sorted(labelled, key=lambda row: (float(layout.truth(row)[0]), row))
        count = max(1, min(_QUANTILES, len(order) // min_rows))
        bins = {f"{i:02d}": order[len(order) * i // count : len(order) * (i + 1) // count] for i in range(count)}
        return bins, "stratified", f"each part covers all quantiles of {layout.label_columns[0]}"
    if not layout.is_classification and (layout.form is not ONE_BY_ONE or prediction_kind(layout.card) == "text"):
        return {"all": labelled}, "random", "the labels are neither classes nor numbers"
    classes = by_class(layout, labelled)
    large_classes = {name: rows for name, rows in classes.items() if len(rows) >= min_rows}
    if sum(map(len, large_classes.values())) * 2 < len(labelled):
        return {"all": labelled}, "random", "most classes are too small to split"
    small = len(classes) - len(large_classes)
    note = f"each part contains the same {len(large_classes)} classes"
    few_words = "only one or two" if min_rows == PART_COUNT else f"fewer than {min_rows}"
    note += f"; {small} classes with {few_words} rows stay in train" if small else ""
    return large_classes, "stratified", note


def by_class(layout: Layout, rows: Sequence[int]) -> dict[str, list[int]]:
    """Group rows by their labels; several label columns count together, or else the first alone if that is too fine."""
    joint = rows_by(rows, lambda row: "\x1f".join(layout.labels[row]))
    if len(layout.label_columns) == 1 or len(joint) * 10 <= len(rows):
        return joint
    return rows_by(rows, lambda row: layout.labels[row][0])
