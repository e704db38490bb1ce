"""Groups rows by what they are to be stratified by: their class, or the tenth of a quantity."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from bot.evaluation.layouts.layout import ONE_BY_ONE, Layout
from bot.evaluation.metrics.registry import prediction_kind

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
        return bins, "stratified", f"each tenth of {layout.label_columns[0]} in every part"
    if not layout.is_classification and (layout.form is not ONE_BY_ONE or prediction_kind(layout.card) == "text"):
        return {"all": labelled}, "random", "the labels are neither classes nor numbers"
    classes = by_class(layout, labelled)
    large_classes = {name: rows for name, rows in classes.items() if len(rows) >= min_rows}
    if sum(map(len, large_classes.values())) * 2 < len(labelled):
        return {"all": labelled}, "random", "most classes are too small to split"
    small = len(classes) - len(large_classes)
    note = f"each of {len(large_classes)} classes in every part"
    few_words = "one or two" if min_rows == PART_COUNT else f"fewer than {min_rows}"
    return large_classes, "stratified", note + (f"; {small} classes of {few_words} rows stay in train" if small else "")


def by_class(layout: Layout, rows: Sequence[int]) -> dict[str, list[int]]:
    """Group rows by their labels; several label columns count together, or else the first alone if that is too fine."""
    joint = rows_by(rows, lambda row: "\x1f".join(layout.labels[row]))
    if len(layout.label_columns) == 1 or len(joint) * 10 <= len(rows):
        return joint
    return rows_by(rows, lambda row: layout.labels[row][0])
