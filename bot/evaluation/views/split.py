"""Draws the parts of the training rows: `final` and `holdout`, which are asked for together, and the rest to train on."""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.evaluation.layouts.layout import Layout
from bot.evaluation.metrics.registry import needs_variation
from bot.evaluation.tables.csv_table import Rows
from bot.evaluation.view_names import Withholding
from bot.evaluation.views.groups import disjoint_group_column
from bot.evaluation.views.lab_rows import (
    FEWEST_OF_CLASS,
    LEAST_GROUPS,
    Budget,
    DrawnUnits,
    add_smallest,
    count_halves,
    draw_groups,
    draw_latest,
    draw_units,
)
from bot.evaluation.views.similar_rows import RowSimilarity, likenesses
from bot.evaluation.views.strata import (
    PART_COUNT,
    PARTS,
    Part,
    SplitKind,
    add_variation,
    move_for_variation,
    rows_by,
    strata_of,
)
from bot.evaluation.views.timeline import longest_reach, train_stretches
from bot.evaluation.views.units import Units, units_of, unlike_test
from scrapers.snapshots.times import parse_times
from state.errors import UnsupportedLayout

_FEW_ROWS, _MANY_ROWS = 2_000, 200_000
_OF_FEW, _OF_MANY = (0.20, 0.10), (0.05, 0.05)
"""Shares of so few and so many rows with labels that are withheld for `holdout` and for `final`."""
SMALLEST = 10
"""Fewer rows with labels than this cannot be split."""
_FEWEST_LATEST = 30
"""Minimum number of rows withheld by time, even if the test is shorter: fewer tell little."""
_PROBE = 50
_FEW_GROUPS = 2
"""Groups of training rows from which it shows that test rows are of others."""


@dataclass(frozen=True)
class RowSplit:
    """The part of each training row, and how it was chosen."""

    kind: SplitKind
    parts: tuple[Part, ...]
    note: str
    units: Units
    """What stays on one side."""
    column: str | None = None
    """The column of times or groups that rows were split by."""
    fold_column: str | None = None
    """The column of groups that folds keep whole, though no whole ones were withheld."""
    unlike: tuple[str, ...] = ()
    """Where the test rows were split off in another way, in sentences."""

    def rows(self, *parts: Part) -> list[int]:
        """Return the training rows of some parts, in order."""
        return [row for row, part in enumerate(self.parts) if part in parts]


def split_rows(layout: Layout, seed: int, version: int, withholding: Withholding = "script") -> RowSplit:
    """Split the training rows to fit how the test rows were split off; rows without a label stay in train.

    Raises UnsupportedLayout: there are too few rows with labels.
    """
    labelled = [row for row in range(len(layout.ids)) if layout.has_label(row)]
    if len(labelled) < SMALLEST:
        raise UnsupportedLayout(
            f"{layout.train.path.name} has {len(labelled)} rows with labels; at least {SMALLEST} are needed."
        )
    askable = [row for row in labelled if layout.form.has_prediction_rows(row)]
    budget = Budget.for_rows(len(askable)) if withholding == "lab" else None
    shares = withheld_shares(len(askable), withholding)
    similarities, unlike = likenesses(layout), list[str]()
    split = _by_time(layout, labelled, shares, budget, seeded(seed, version, "latest rows"))
    if split is not None and not _keeps_ids(layout, split.parts):
        unlike.append(
            f"the test rows were split off by time ({split.column}), which would separate rows with the same id"
        )
        split = None
    if split is None:
        rng = partial(seeded, seed, version)
        split = _by_likeness(layout, labelled, similarities, unlike, shares, budget, rng)
        if needs_variation(layout.card):
            split = _varied(layout, labelled, split, seeded(seed, version, "variation"))
    train, holdout, final = (split.rows(part) for part in PARTS)
    if not holdout or not final or not train:
        raise UnsupportedLayout(f"The training rows cannot be split ({split.note}): one part would be empty.")
    return replace(split, unlike=(*unlike, *unlike_test(similarities, train, holdout + final)))


def withheld_shares(rows: int, withholding: Withholding = "script") -> tuple[float, float]:
    """Return the shares of rows with labels that are withheld for `holdout` and for `final`.

    Those of script coders fall with a power of the number of rows: of more rows fewer are enough to score by, though never
    fewer in number, and what is withheld is missed by all that is tried. Those of labs are equal.
    """
    if withholding == "lab":
        half = Budget.for_rows(rows).target / 2 / max(1, rows)
        return half, half
    way = min(1.0, max(0.0, math.log(max(1, rows) / _FEW_ROWS) / math.log(_MANY_ROWS / _FEW_ROWS)))
    holdout, final = (low * (high / low) ** way for low, high in zip(_OF_FEW, _OF_MANY, strict=True))
    return holdout, final


def _varied(layout: Layout, labelled: Sequence[int], split: RowSplit, rng: random.Random) -> RowSplit:
    """Move a few units, so that each target varies in each part where the rows allow it."""
    units, parts = split.units.rows(labelled), list(split.parts)
    part_of = [parts[unit[0]] for unit in units]
    move_for_variation(layout, units, part_of, rng)
    for unit, part in zip(units, part_of, strict=True):
        _set(parts, unit, part)
    return replace(split, parts=tuple(parts))


def _keeps_ids(layout: Layout, sides: Sequence[str]) -> bool:
    """Whether rows that must stay together are on one side."""
    keys = layout.groups or ()
    return len(set(keys)) == len(set(zip(keys, sides, strict=False)))


def seeded(seed: int, version: int, purpose: str) -> random.Random:
    """Return a generator for one purpose; the same on every machine."""
    return random.Random(f"view/{version}/{seed}/{purpose}")  # noqa: S311 (repeatable, not secret)


def _by_time(
    layout: Layout, labelled: Sequence[int], shares: tuple[float, float], budget: Budget | None, rng: random.Random
) -> RowSplit | None:
    """Withhold the tail of each training stretch, if the test rows were cut off by time."""
    columns = _shared_columns(layout)
    heads = layout.train.heads(columns, _PROBE), _test_table(layout).heads(columns, _PROBE)
    for column in columns:
        if any(parse_times(head[column]) is None for head in heads):
            continue
        times = parse_times(layout.train.column(column))
        test_times = parse_times(_test_table(layout).column(column))
        stretches = train_stretches(times, test_times) if times and test_times else None
        if times is None or test_times is None or stretches is None:
            continue
        parts: list[Part] = ["train"] * len(layout.ids)
        in_order = [
            [row for row in labelled if stretches[times[row]] == stretch] for stretch in sorted(set(stretches.values()))
        ]
        in_order = list(filter(None, in_order))
        if budget is not None:
            for row, part in draw_latest(in_order, times, budget, rng).items():
                parts[row] = part
        else:
            reach = longest_reach([times[row] for row in labelled], test_times)
            for rows in in_order:
                _cut_tail(rows, times, parts, shares, reach, _FEWEST_LATEST / len(in_order))
        count = max(stretches.values()) + 1
        note = f"the latest rows by {column}{f' in each of {count} periods' if count > 1 else ''}"
        return RowSplit("time", tuple(parts), note, Units(tuple(range(len(parts)))), column)
    return None


def _cut_tail(
    rows: Sequence[int],
    times: Sequence[float],
    parts: list[Part],
    shares: tuple[float, float],
    reach: float,
    fewest: float,
) -> None:
    """Mark the last rows of a stretch as final and those before them as hold-out; equal times stay together.

    So that scores are of the test's own task, they are at most those of the last `reach` seconds, or else the `fewest`.
    """
    first_late = max(times[row] for row in rows) - reach
    late_count = max(sum(times[row] > first_late for row in rows), fewest)
    size = min(len(rows), late_count / sum(shares))
    final = round(size * shares[1])
    holdout = final + round(size * shares[0])
    per_time = Counter(times[row] for row in rows)
    part_of: dict[float, Part] = {}
    after = 0
    for time in sorted(per_time, reverse=True):
        # Where the last time alone has rows enough for both, the one before it is the hold-out.
        is_holdout = after < holdout or "holdout" not in part_of.values()
        part_of[time] = "final" if after < final else "holdout" if is_holdout else "train"
        after += per_time[time]
    for row in rows:
        parts[row] = part_of[times[row]]


def _test_table(layout: Layout) -> Rows:
    return layout.test or layout.sample


def _shared_columns(layout: Layout) -> list[str]:
    """Columns that both training and test rows have, the id first."""
    test_columns = [] if layout.test is None else [c for c in layout.train.header if c in layout.test.header]
    shared = [c for c in (layout.id_column,) if c in layout.train.header and c in _test_table(layout).header]
    return shared + [c for c in test_columns if c not in shared and c not in layout.withheld_columns]


def _group_column(layout: Layout, unlike: list[str]) -> tuple[str | None, str | None]:
    """Return the column whose groups no test row shares, to withhold whole ones, or for folds alone; note the latter."""
    if layout.test is None:
        return None, None
    candidates = [column for column in _shared_columns(layout) if column != layout.id_column]
    group_column = disjoint_group_column(layout.train, layout.test, candidates)
    fold_column = group_column or disjoint_group_column(layout.train, layout.test, candidates, _FEW_GROUPS)
    if fold_column is None:
        return None, None
    divides_ids = not _keeps_ids(layout, layout.train.column(fold_column))
    reason = "" if group_column else "the training rows have too few groups for whole groups to be withheld"
    if group_column and divides_ids:
        reason = "rows with the same id belong to different groups"
    if reason:
        unlike.append(f"no {fold_column!r} in the test rows occurs in the training rows, but {reason}")
    return None if reason else group_column, None if divides_ids or not reason else fold_column


def _by_likeness(
    layout: Layout,
    labelled: Sequence[int],
    similarities: Sequence[RowSimilarity],
    unlike: list[str],
    shares: tuple[float, float],
    budget: Budget | None,
    rng: Callable[[str], random.Random],
) -> RowSplit:
    """Draw units of rows that are of one group or alike, with labs' budget where there is one; note where it is not so."""
    column, fold_column = _group_column(layout, unlike)
    groups = None if column is None else layout.train.column(column)
    units = units_of(layout, labelled, similarities, groups, shares, rng("units"))
    if budget is None:
        return _by_unit(layout, labelled, units, shares, rng("groups" if groups else "strata"), column)
    if column is not None:
        split = _of_groups(layout, labelled, units, budget, rng("groups"), column)
        if split is not None:
            return split
        unlike.append(
            f"no {column!r} in the test rows occurs in the training rows, but the groups are too large to withhold"
        )
        units, fold_column = units_of(layout, labelled, similarities, None, shares, rng("units")), column
    return replace(_of_strata(layout, labelled, units, budget, rng("strata")), fold_column=fold_column)


def _by_unit(
    layout: Layout,
    labelled: Sequence[int],
    units: Units,
    shares: tuple[float, float],
    rng: random.Random,
    column: str | None,
) -> RowSplit:
    """Draw whole units: of each stratum by itself, or of all if they are the groups of a column."""
    members = {unit[0]: unit for unit in units.rows(labelled)}
    if column is None:
        strata, kind, note = strata_of(layout, list(members))
    else:
        strata, kind, note = {"all": list(members)}, "grouped", f"{len(members)} whole groups by {column}"
    parts: list[Part] = ["train"] * len(layout.ids)
    for name in sorted(strata):
        rows = list(strata[name])
        rng.shuffle(rows)
        _withhold(layout, [members[row] for row in rows], shares, parts)
    return RowSplit(kind, tuple(parts), note + _joined_note(units), units, column)


def _of_groups(
    layout: Layout, labelled: Sequence[int], units: Units, budget: Budget, rng: random.Random, column: str
) -> RowSplit | None:
    """Draw whole groups for a lab; None where no two are small enough."""
    groups = units.rows(labelled)
    rng.shuffle(groups)
    drawn_units = draw_groups(groups, lambda group: _size(layout, group), budget)
    fewest = min(count_halves(drawn_units))
    note = f"{len(drawn_units)} of {len(groups)} whole groups by {column}"
    if fewest < LEAST_GROUPS:
        note += f", with only {fewest} of them in one of the halves, because the groups are large"
    return _drawn_split("grouped", layout, drawn_units, note, units, column) if fewest else None


def _of_strata(layout: Layout, labelled: Sequence[int], units: Units, budget: Budget, rng: random.Random) -> RowSplit:
    """Draw a lab's validation rows from each stratum; where most classes are rare, from rare ones too."""
    members = {unit[0]: unit for unit in units.rows(labelled)}
    strata, kind, note = strata_of(layout, list(members), FEWEST_OF_CLASS)
    if kind == "random":
        strata, kind, note = strata_of(layout, list(members))
    dealt = [[members[row] for row in rng.sample(rows, len(rows))] for _, rows in sorted(strata.items())]
    rng.shuffle(dealt)
    drawn_units = draw_units(dealt, lambda unit: _size(layout, unit), budget, 1)
    if min(count_halves(drawn_units)) < len(strata):
        note += ", as far as is possible with so few withheld rows"
    all_units = [unit for stratum in dealt for unit in stratum]
    drawn_units = add_smallest(drawn_units, all_units, lambda unit: _size(layout, unit))
    return _drawn_split(kind, layout, drawn_units, note, units)


def _drawn_split(
    kind: SplitKind, layout: Layout, drawn_units: DrawnUnits, note: str, units: Units, column: str | None = None
) -> RowSplit:
    parts: list[Part] = ["train"] * len(layout.ids)
    for unit, part in drawn_units:
        _set(parts, unit, part)
    return RowSplit(kind, tuple(parts), note + _joined_note(units), units, column)


def _size(layout: Layout, unit: Sequence[int]) -> int:
    """Return how many rows of a unit may be asked for."""
    return sum(map(layout.form.has_prediction_rows, unit))


def _joined_note(units: Units) -> str:
    return f"; {units.joined:,} near-duplicate rows stay on the same side" if units.joined else ""


def _withhold(layout: Layout, units: Sequence[Sequence[int]], shares: tuple[float, float], parts: list[Part]) -> None:
    """Mark units, in their order, as final and as hold-out until each has its share of the rows that may be asked for.

    Each gets one unit at least, the smallest if need be; any other that is larger than the whole part stays in train.
    """
    sizes = [_size(layout, unit) for unit in units]
    sizes_left = dict(zip(map(tuple, units), sizes, strict=True))
    part_shares: tuple[tuple[Part, float], ...] = (("final", shares[1]), ("holdout", shares[0]))
    for part, share in part_shares:
        rows, drawn_rows = sum(sizes) * share, 0
        fitting = [unit for unit, size in sizes_left.items() if size <= rows]
        for unit in fitting or sorted(sizes_left, key=sizes_left.__getitem__)[:1]:
            if drawn_rows and drawn_rows + sizes_left[unit] / 2 > rows:
                break
            drawn_rows += sizes_left.pop(unit)
            _set(parts, unit, part)


def _set(parts: list[Part], rows: Sequence[int], part: Part) -> None:
    for row in rows:
        parts[row] = part


def few_rows(layout: Layout, rows: Sequence[int], limit: int, per_class: int, rng: random.Random) -> list[int]:
    """Choose about `limit` of some rows, in order: `per_class` of each class (or all of it) first, then any.

    Of several label columns each has its classes, and no target is constant in the rows chosen if it varies in all. Rows
    without a label come only after those that have one.
    """
    if len(rows) <= limit:
        return list(rows)
    shuffled = list(rows)
    rng.shuffle(shuffled)
    labelled = [row for row in shuffled if layout.has_label(row)]
    sample: set[int] = set()
    for column in range(len(layout.label_columns)) if layout.is_classification else ():
        cells = [cells[column] for cells in layout.labels]
        classes = rows_by(labelled, cells.__getitem__)
        if len(classes) * PART_COUNT <= len(labelled):
            sample.update(row for members in classes.values() for row in members[:per_class])
    for row in labelled:
        if len(sample) >= limit:
            break
        sample.add(row)
    add_variation(layout, sample, labelled, per_class)
    return sorted(sample)
