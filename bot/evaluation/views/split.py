"""Draws the parts of the training rows: `final` and `holdout`, which are asked for together, and the rest to train on."""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bot.evaluation.layouts.layout import ONE_BY_ONE, Layout
from bot.evaluation.metrics.registry import needs_variation, prediction_kind
from bot.evaluation.tables.csv_table import Rows
from bot.evaluation.views.groups import disjoint_group_column
from bot.evaluation.views.timeline import parse_times, train_stretches
from bot.evaluation.views.variation import Part, add_variation, move_for_variation
from state.errors import UnsupportedLayout

SplitKind = Literal["stratified", "time", "grouped", "random"]

_FEW, _MANY = 5_000, 200_000
_OF_FEW, _OF_MANY = (0.20, 0.10), (0.05, 0.05)
"""Shares of so few and so many rows with labels that are withheld for `holdout` and for `final`."""
QUANTILES = 10
"""Bins of a quantity to stratify by."""
SMALLEST = 10
"""Fewer rows with labels than this cannot be split."""
_PROBE = 50
_PARTED = 3
"""A class with fewer rows than there are parts stays in train."""


@dataclass(frozen=True)
class Split:
    """The part of each training row, and how it was chosen."""

    kind: SplitKind
    parts: tuple[Part, ...]
    note: str
    column: str | None = None
    """The column of times or groups that rows were split by."""

    def rows(self, *parts: Part) -> list[int]:
        """Return the training rows of some parts, in order."""
        return [row for row, part in enumerate(self.parts) if part in parts]


def split_rows(layout: Layout, seed: int, version: int) -> Split:
    """Split the training rows to fit how the test rows were split off; rows without a label stay in train.

    Raises:
        UnsupportedLayout: there are too few rows with labels.
    """
    scored = [row for row in range(len(layout.ids)) if layout.has_label(row)]
    if len(scored) < SMALLEST:
        raise UnsupportedLayout(
            f"{layout.train.path.name} has {len(scored)} rows with labels; at least {SMALLEST} are needed."
        )
    split = _whole(layout, _by_time(layout, scored))
    split = split or _whole(layout, _by_group(layout, scored, seeded(seed, version, "groups")))
    split = split or _by_stratum(layout, scored, seeded(seed, version, "strata"))
    if split.kind != "time" and needs_variation(layout.card):
        split = _varied(layout, scored, split, seeded(seed, version, "variation"))
    if not split.rows("holdout") or not split.rows("final") or not split.rows("train"):
        raise UnsupportedLayout(f"The training rows cannot be split ({split.note}): a part would be empty.")
    return split


def withheld_shares(rows: int) -> tuple[float, float]:
    """Return the shares of rows with labels that are withheld for `holdout` and for `final`.

    They fall with the logarithm of the number of rows: of more rows fewer are enough to score by, though never fewer in number.
    """
    way = min(1.0, max(0.0, math.log(max(1, rows) / _FEW) / math.log(_MANY / _FEW)))
    holdout, final = (few + way * (many - few) for few, many in zip(_OF_FEW, _OF_MANY, strict=True))
    return holdout, final


def _varied(layout: Layout, scored: Sequence[int], split: Split, rng: random.Random) -> Split:
    """Move a few rows, whole groups of a grouped split, so that each target varies in each part where the rows allow it."""
    if split.kind == "grouped" and split.column is not None:
        cells = layout.train.column(split.column)
        units: list[Sequence[int]] = list(rows_by(range(len(cells)), cells.__getitem__).values())
    else:
        units = list(rows_by_unit(layout, scored).values())
    known = set(scored)
    labelled = [[row for row in unit if row in known] for unit in units]
    labelled = [unit for unit in labelled if unit]
    parts = list(split.parts)
    part_of = [parts[unit[0]] for unit in labelled]
    move_for_variation(layout, labelled, part_of, rng)
    for unit, part in zip(labelled, part_of, strict=True):
        _set(parts, unit, part)
    return replace(split, parts=tuple(parts))


def _whole(layout: Layout, split: Split | None) -> Split | None:
    """Return a split that keeps together what must be; None for any other."""
    if split is None or layout.together is None:
        return split
    parts: dict[str, set[Part]] = {}
    for key, part in zip(layout.together, split.parts, strict=True):
        parts.setdefault(key, set()).add(part)
    return split if all(len(several) == 1 for several in parts.values()) else None


def rows_by(rows: Iterable[int], key: Callable[[int], str]) -> dict[str, list[int]]:
    """Group rows by a key, in order."""
    groups: dict[str, list[int]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def seeded(seed: int, version: int, purpose: str) -> random.Random:
    """Return a generator for one purpose; the same on every machine."""
    return random.Random(f"view/{version}/{seed}/{purpose}")  # noqa: S311 (repeatable, not secret)


def _by_time(layout: Layout, scored: Sequence[int]) -> Split | None:
    """Withhold the tail of each training stretch, if the test rows were cut off by time."""
    columns = _shared_columns(layout)
    heads = layout.train.heads(columns, _PROBE), _test_table(layout).heads(columns, _PROBE)
    for column in columns:
        if any(parse_times(head[column]) is None for head in heads):
            continue
        times = parse_times(layout.train.column(column))
        test_times = parse_times(_test_table(layout).column(column))
        stretches = train_stretches(times, test_times) if times and test_times else None
        if times is None or stretches is None:
            continue
        parts: list[Part] = ["train"] * len(layout.ids)
        for stretch in sorted(set(stretches.values())):
            rows = [row for row in scored if stretches[times[row]] == stretch]
            _cut_tail(rows, times, parts, withheld_shares(len(scored)))
        count = max(stretches.values()) + 1
        note = f"the latest rows by {column}{f' of each of {count} stretches' if count > 1 else ''}"
        return Split("time", tuple(parts), note, column)
    return None


def _cut_tail(rows: Sequence[int], times: Sequence[float], parts: list[Part], shares: tuple[float, float]) -> None:
    """Mark the last rows of a stretch as final and those before them as hold-out; equal times stay together."""
    final = round(len(rows) * shares[1])
    holdout = final + round(len(rows) * shares[0])
    per_time = Counter(times[row] for row in rows)
    part_of: dict[float, Part] = {}
    after = 0
    for time in sorted(per_time, reverse=True):
        part_of[time] = "final" if after < final else "holdout" if after < holdout else "train"
        after += per_time[time]
    for row in rows:
        parts[row] = part_of[times[row]]


def _test_table(layout: Layout) -> Rows:
    return layout.test or layout.sample


def _shared_columns(layout: Layout) -> list[str]:
    """Columns that both training and test rows have, the id first."""
    others = [] if layout.test is None else [c for c in layout.train.header if c in layout.test.header]
    shared = [c for c in (layout.id_column,) if c in layout.train.header and c in _test_table(layout).header]
    return shared + [c for c in others if c not in shared and c not in layout.withheld_columns]


def _by_group(layout: Layout, scored: Sequence[int], rng: random.Random) -> Split | None:
    """Keep the rows of a group together, if no group has both training and test rows."""
    if layout.test is None:
        return None
    candidates = [column for column in _shared_columns(layout) if column != layout.id_column]
    found = disjoint_group_column(layout.train, layout.test, candidates)
    if found is None:
        return None
    cells = layout.train.column(found)
    sizes = Counter(cells[row] for row in scored)
    order = sorted(sizes)
    rng.shuffle(order)
    shares = withheld_shares(len(scored))
    final, holdout = len(scored) * shares[1], len(scored) * sum(shares)
    part_of: dict[str, Part] = {}
    before = 0
    for group in order:
        part_of[group] = "final" if before < final else "holdout" if before < holdout else "train"
        before += sizes[group]
    parts: list[Part] = [part_of.get(cell, "train") for cell in cells]
    has_label = set(scored)
    parts = [part if row in has_label else "train" for row, part in enumerate(parts)]
    return Split("grouped", tuple(parts), f"{len(order)} whole groups by {found}", found)


def _by_stratum(layout: Layout, scored: Sequence[int], rng: random.Random) -> Split:
    strata, kind, note = strata_of(layout, scored)
    parts: list[Part] = ["train"] * len(layout.ids)
    units, shares = rows_by_unit(layout, scored), withheld_shares(len(scored))
    for name in sorted(strata):
        rows = list(strata[name])
        rng.shuffle(rows)
        final = max(1, round(len(rows) * shares[1]))
        holdout = max(1, round(len(rows) * shares[0]))
        for row in rows[:final]:
            _set(parts, units[row], "final")
        for row in rows[final : final + holdout]:
            _set(parts, units[row], "holdout")
    return Split(kind, tuple(parts), note)


def _set(parts: list[Part], rows: Sequence[int], part: Part) -> None:
    for row in rows:
        parts[row] = part


def rows_by_unit(layout: Layout, scored: Sequence[int]) -> Mapping[int, Sequence[int]]:
    """Return the rows that go with each row that stands for them: the first with a label of what stays together."""
    if layout.together is None:
        return {row: (row,) for row in scored}
    members = rows_by(range(len(layout.together)), layout.together.__getitem__)
    labelled = rows_by(scored, layout.together.__getitem__)
    return {rows[0]: members[key] for key, rows in labelled.items()}


def strata_of(layout: Layout, scored: Sequence[int]) -> tuple[Mapping[str, Sequence[int]], SplitKind, str]:
    """Group the rows by class, or a quantity by its tenths; classes too small to part are left out.

    Of rows that stay together only the one that stands for them is grouped; see `rows_by_unit`.
    """
    if layout.together is not None:
        scored = list(rows_by_unit(layout, scored))
    if layout.is_quantity:
        ordered = sorted(scored, key=lambda row: (float(layout.truth(row)[0]), row))
        count = min(QUANTILES, len(ordered) // _PARTED)
        bins = {
            f"{at:02d}": ordered[len(ordered) * at // count : len(ordered) * (at + 1) // count] for at in range(count)
        }
        return bins, "stratified", f"each tenth of {layout.label_columns[0]} in every part"
    if not layout.is_classification and (layout.form is not ONE_BY_ONE or prediction_kind(layout.card) == "text"):
        return {"all": scored}, "random", "the labels are neither classes nor numbers to order rows by"
    classes = by_class(layout, scored)
    parted = {name: rows for name, rows in classes.items() if len(rows) >= _PARTED}
    if sum(map(len, parted.values())) * 2 < len(scored):
        return {"all": scored}, "random", "most classes are too small to part"
    small = len(classes) - len(parted)
    note = f"each of {len(parted)} classes in every part"
    return parted, "stratified", note + (f"; {small} classes of one or two rows stay in train" if small else "")


def by_class(layout: Layout, rows: Sequence[int]) -> dict[str, list[int]]:
    """Group rows by their labels; several label columns count together, or else the first alone if that is too fine."""
    joint = rows_by(rows, lambda row: "\x1f".join(layout.labels[row]))
    if len(layout.label_columns) == 1 or len(joint) * 10 <= len(rows):
        return joint
    return rows_by(rows, lambda row: layout.labels[row][0])


def few_rows(layout: Layout, rows: Sequence[int], limit: int, per_class: int, rng: random.Random) -> list[int]:
    """Choose about `limit` of some rows, in order: `per_class` of each class (or all of it) first, then any.

    Of several label columns each has its classes, and no target is constant in the rows chosen if it varies in all. Rows
    without a label come only after those that have one.
    """
    if len(rows) <= limit:
        return list(rows)
    shuffled = list(rows)
    rng.shuffle(shuffled)
    scored = [row for row in shuffled if layout.has_label(row)]
    chosen: set[int] = set()
    for column in range(len(layout.label_columns)) if layout.is_classification else ():
        cells = [cells[column] for cells in layout.labels]
        classes = rows_by(scored, cells.__getitem__)
        if len(classes) * _PARTED <= len(scored):
            chosen.update(row for members in classes.values() for row in members[:per_class])
    for row in scored:
        if len(chosen) >= limit:
            break
        chosen.add(row)
    add_variation(layout, chosen, scored, per_class)
    return sorted(chosen)
