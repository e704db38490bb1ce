"""Cutting all labelled training rows into folds: by class, by whole groups, or by time, and the files that say so."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.evaluation.answers.experiments import FoldKind
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.metrics.classes import classes_of
from bot.evaluation.metrics.registry import metric_per_fold
from bot.evaluation.tables.csv_table import write_table
from bot.evaluation.views.split import RowSplit, seeded
from bot.evaluation.views.strata import rows_by, strata_of
from bot.evaluation.views.timeline import time_blocks, train_stretches
from bot.evaluation.views.write import SAMPLE
from scrapers.snapshots.linking import link_or_copy
from scrapers.snapshots.times import parse_times

_CLASSES = "classes.json"


def write_folds(layout: Layout, split: RowSplit, folds: Sequence[tuple[int, int]], *, forward: bool, out: Path) -> None:
    """Write how training rows are cut into folds.

    The files are folds.csv (`row`, counted from 0 in the view's training rows; the columns that make up their ids, and the
    key columns; `fold` from 0, -1: never validated); folds.json (`kind`, `metric_per_fold`: whether the metric is computed
    per fold and averaged, `folds`: how many; where they were cut by time or group, `column`; `blocks` where a fold holds a
    block of consecutive rows from each period); classes.json, where the task
    has classes; and the sample submission. `forward` means that a fold learns from earlier rows alone.
    """
    key_columns = (*layout.id_parts, *layout.card.key_columns)
    cells = layout.train.columns(key_columns)
    fold_lines = ((str(number), *cells[row], str(fold)) for number, (row, fold) in enumerate(folds))
    write_table(out / "folds.csv", ("row", *key_columns, "fold"), fold_lines)
    kind: FoldKind = "forward" if forward else "stratified" if split.kind == "stratified" else "random"
    column = split.fold_column or split.column
    if column is not None and not forward:
        kind = "grouped"
    info = {
        "kind": kind,
        "metric_per_fold": metric_per_fold(layout.card),
        "folds": len({fold for _, fold in folds if fold >= 0}),
        **({} if column is None else {"column": column}),
        **({"blocks": True} if split.kind == "time" and not forward else {}),
    }
    (out / "folds.json").write_text(json.dumps(info, ensure_ascii=False), encoding="utf-8")
    labelled = (row for row, _ in folds if layout.has_label(row))
    truths = (prediction_row.truth for row in labelled for prediction_row in layout.prediction_rows(row))
    if classes := classes_of(layout.card, (cell for truth in truths for cell in truth)):
        (out / _CLASSES).write_text(json.dumps(classes, ensure_ascii=False), encoding="utf-8")
    link_or_copy(layout.sample.path, out / SAMPLE)


def read_classes(data: Path) -> list[str]:
    """Return the classes in the order in which arrays have them, as they lie in a view's folder; nothing where there are none."""
    file = data / _CLASSES
    classes: list[str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return classes


def fold_numbers(
    layout: Layout, split: RowSplit, labelled: Sequence[int], folds: int, seed: int, version: int
) -> tuple[dict[int, int], bool, str]:
    """Return the fold of each labelled row, whether a fold learns from earlier rows alone, and how they were cut.

    Folds count from 0; a row with -1, or without a number, is never validated. If the test rows come last in time, folds go
    forward: the rows are cut into one block more than there are folds, the first is never validated, and each other is
    predicted from earlier rows alone. If test rows lie between training rows, later rows are known for the test too: a fold is
    then a block of every stretch, and all other blocks are shown.
    """
    if split.kind == "time" and split.column is not None:
        return _by_time(layout, labelled, split.column, folds)
    fold_of, note = _by_unit(layout, split, labelled, folds, seeded(seed, version, f"units of {folds} folds"))
    return fold_of, False, note


def _by_time(layout: Layout, labelled: Sequence[int], column: str, folds: int) -> tuple[dict[int, int], bool, str]:
    """Cut each stretch into blocks of about equally many rows; equal times stay together."""
    times = parse_times(layout.train.column(column)) or []
    test = parse_times((layout.test or layout.sample).column(column)) or []
    stretches = train_stretches(times, test) or {}
    forward = len(set(stretches.values())) < 2
    blocks = folds + 1 if forward else folds
    fold_of: dict[int, int] = {}
    for stretch in sorted(set(stretches.values())):
        rows = [row for row in labelled if stretches[times[row]] == stretch]
        fold_of |= {row: block - int(forward) for row, block in time_blocks(rows, times, blocks)}
    if forward:
        return fold_of, True, f"by {column}; each fold is predicted from earlier rows only"
    return fold_of, False, f"blocks by {column}; test rows lie between training rows, so later rows are known"


def _by_unit(
    layout: Layout, split: RowSplit, labelled: Sequence[int], folds: int, rng: random.Random
) -> tuple[dict[int, int], str]:
    """Put each unit into the emptiest fold: groups by falling size, all others stratum by stratum."""
    units = split.units.rows(labelled)
    if split.fold_column is not None:
        units = list(rows_by(labelled, layout.train.column(split.fold_column).__getitem__).values())
    members = {unit[0]: unit for unit in units}
    grouped = split.kind == "grouped" or split.fold_column is not None
    strata: Mapping[str, Sequence[int]] = {"all": list(members)}
    note = f"whole groups by {split.fold_column or split.column}"
    if not grouped:
        strata, _, note = strata_of(layout, list(members))
    fold_sizes, fold_of = [0] * folds, dict[int, int]()
    for name in sorted(strata):
        rows = list(strata[name])
        rng.shuffle(rows)
        for row in sorted(rows, key=lambda row: -len(members[row])) if grouped else rows:
            fold = fold_sizes.index(min(fold_sizes))
            fold_of |= dict.fromkeys(members[row], fold)
            fold_sizes[fold] += len(members[row])
    return fold_of, note
