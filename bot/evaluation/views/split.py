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
from bot.evaluation.views.likeness import likenesses
from bot.evaluation.views.timeline import train_stretches
from bot.evaluation.views.units import Units, units_of, unlike_test
from bot.evaluation.views.variation import PARTS, Part, add_variation, move_for_variation
from scrapers.snapshots.times import parse_times
from state.errors import UnsupportedLayout

SplitKind = Literal["stratified", "time", "grouped", "random"]

_FEW, _MANY = 2_000, 200_000
_OF_FEW, _OF_MANY = (0.20, 0.10), (0.05, 0.05)
"""Shares of so few and so many rows with labels that are withheld for `holdout` and for `final`."""
QUANTILES = 10
"""Bins of a quantity to stratify by."""
SMALLEST = 10
"""Fewer rows with labels than this cannot be split."""
_PROBE = 50
_FEW_GROUPS = 2
"""Groups of training rows from which it shows that test rows are of others."""
_PARTED = 3
"""A class with fewer rows than there are parts stays in train."""


@dataclass(frozen=True)
class Split:
    """The part of each training row, and how it was chosen."""

    kind: SplitKind
    parts: tuple[Part, ...]
    note: str
    units: Units
    """What stays on one side."""
    column: str | None = None
    """The column of times or groups that rows were split by."""
    unlike: tuple[str, ...] = ()
    """Where the test rows were split off in another way, in sentences."""

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
    asked = [row for row in scored if layout.form.has_prediction_rows(row)]
    shares, alike, unlike = withheld_shares(len(asked)), likenesses(layout), list[str]()
    split = _by_time(layout, scored, shares)
    if split is not None and not _keeps_ids(layout, split.parts):
        unlike.append(f"the test rows were split off by time ({split.column}), which would part rows of one id")
        split = None
    if split is None:
        column = _group_column(layout, unlike)
        groups = None if column is None else layout.train.column(column)
        units = units_of(layout, scored, alike, groups, shares, seeded(seed, version, "units"))
        rng = seeded(seed, version, "groups" if groups else "strata")
        split = _by_unit(layout, scored, units, shares, rng, column)
        if needs_variation(layout.card):
            split = _varied(layout, scored, split, seeded(seed, version, "variation"))
    train, holdout, final = (split.rows(part) for part in PARTS)
    if not holdout or not final or not train:
        raise UnsupportedLayout(f"The training rows cannot be split ({split.note}): a part would be empty.")
    return replace(split, unlike=(*unlike, *unlike_test(alike, train, holdout + final)))


def withheld_shares(rows: int) -> tuple[float, float]:
    """Return the shares of rows with labels that are withheld for `holdout` and for `final`.

    They fall with a power of the number of rows: of more rows fewer are enough to score by, though never fewer in number, and
    what is withheld is missed by all that is tried.
    """
    way = min(1.0, max(0.0, math.log(max(1, rows) / _FEW) / math.log(_MANY / _FEW)))
    holdout, final = (few * (many / few) ** way for few, many in zip(_OF_FEW, _OF_MANY, strict=True))
    return holdout, final


def _varied(layout: Layout, scored: Sequence[int], split: Split, rng: random.Random) -> Split:
    """Move a few units, so that each target varies in each part where the rows allow it."""
    units, parts = split.units.rows(scored), list(split.parts)
    part_of = [parts[unit[0]] for unit in units]
    move_for_variation(layout, units, part_of, rng)
    for unit, part in zip(units, part_of, strict=True):
        _set(parts, unit, part)
    return replace(split, parts=tuple(parts))


def _keeps_ids(layout: Layout, sides: Sequence[str]) -> bool:
    """Whether rows that must stay together are on one side."""
    together = layout.together or ()
    return len(set(together)) == len(set(zip(together, sides, strict=False)))


def rows_by(rows: Iterable[int], key: Callable[[int], str]) -> dict[str, list[int]]:
    """Group rows by a key, in order."""
    groups: dict[str, list[int]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def seeded(seed: int, version: int, purpose: str) -> random.Random:
    """Return a generator for one purpose; the same on every machine."""
    return random.Random(f"view/{version}/{seed}/{purpose}")  # noqa: S311 (repeatable, not secret)


def _by_time(layout: Layout, scored: Sequence[int], shares: tuple[float, float]) -> Split | None:
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
            _cut_tail(rows, times, parts, shares)
        count = max(stretches.values()) + 1
        note = f"the latest rows by {column}{f' of each of {count} stretches' if count > 1 else ''}"
        return Split("time", tuple(parts), note, Units(tuple(range(len(parts)))), column)
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


def _group_column(layout: Layout, unlike: list[str]) -> str | None:
    """Return the column whose groups no test row shares, if whole ones can be withheld; note it where they cannot."""
    if layout.test is None:
        return None
    candidates = [column for column in _shared_columns(layout) if column != layout.id_column]
    found = disjoint_group_column(layout.train, layout.test, candidates)
    few = found or disjoint_group_column(layout.train, layout.test, candidates, _FEW_GROUPS)
    if few is None:
        return None
    why = "" if found else "training rows are of too few for whole ones to be withheld"
    if found and not _keeps_ids(layout, layout.train.column(found)):
        why = "rows of one id are of several"
    if why:
        unlike.append(f"no {few!r} of the test rows is among the training rows, but {why}")
    return None if why else found


def _by_unit(
    layout: Layout,
    scored: Sequence[int],
    units: Units,
    shares: tuple[float, float],
    rng: random.Random,
    column: str | None,
) -> Split:
    """Draw whole units: of each stratum by itself, or of all if they are the groups of a column."""
    members = {unit[0]: unit for unit in units.rows(scored)}
    if column is None:
        strata, kind, note = strata_of(layout, list(members))
    else:
        strata, kind, note = {"all": list(members)}, "grouped", f"{len(members)} whole groups by {column}"
    parts: list[Part] = ["train"] * len(layout.ids)
    for name in sorted(strata):
        rows = list(strata[name])
        rng.shuffle(rows)
        _withhold(layout, [members[row] for row in rows], shares, parts)
    if units.joined:
        note += f"; {units.joined:,} rows that are like others stay on one side with these"
    return Split(kind, tuple(parts), note, units, column)


def _withhold(layout: Layout, units: Sequence[Sequence[int]], shares: tuple[float, float], parts: list[Part]) -> None:
    """Mark units, in their order, as final and as hold-out until each has its share of the rows that may be asked for.

    Each gets one unit at least, the smallest if need be; any other that is larger than the whole part stays in train.
    """
    sizes = [sum(map(layout.form.has_prediction_rows, unit)) for unit in units]
    left = dict(zip(map(tuple, units), sizes, strict=True))
    wanted: tuple[tuple[Part, float], ...] = (("final", shares[1]), ("holdout", shares[0]))
    for part, share in wanted:
        rows, taken = sum(sizes) * share, 0
        fitting = [unit for unit, size in left.items() if size <= rows] or sorted(left, key=left.__getitem__)[:1]
        for unit in fitting:
            if taken and taken + left[unit] / 2 > rows:
                break
            taken += left.pop(unit)
            _set(parts, unit, part)


def _set(parts: list[Part], rows: Sequence[int], part: Part) -> None:
    for row in rows:
        parts[row] = part


def strata_of(layout: Layout, scored: Sequence[int]) -> tuple[Mapping[str, Sequence[int]], SplitKind, str]:
    """Group the rows by class, or a quantity by its tenths; classes too small to part are left out.

    Of rows that stay together the first alone is to be given: it stands for them.
    """
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
