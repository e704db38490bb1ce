"""Builds views: data folders with some training labels withheld."""

import math
import random
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.evaluation.answers.findings import write_reason
from bot.evaluation.layouts.data_files import data_files
from bot.evaluation.layouts.file_index import FileTable
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.layouts.reader import read_layout, read_sample
from bot.evaluation.metrics.registry import metric_per_fold
from bot.evaluation.view_names import INFO, SWAPPED, VALIDATION, ViewKind, Withholding, view_kind
from bot.evaluation.views.folds import fold_numbers, write_folds
from bot.evaluation.views.leaking_names import check_names
from bot.evaluation.views.parts import write_lines
from bot.evaluation.views.split import RowSplit, few_rows, seeded, split_rows
from bot.evaluation.views.strata import SplitKind, rows_by
from bot.evaluation.views.write import (
    ViewRows,
    validation_name,
    write_few_test_rows,
    write_labels,
    write_others,
    write_sample,
    write_swapped_rows,
    write_training_rows,
)
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.linking import link_or_copy
from state.closed_model import ClosedModel
from state.errors import UnsupportedLayout, UsageError

VERSION = 5
"""Increased whenever the same seed would give other rows; executions on different versions are not comparable."""
SAMPLE_TRAIN, SAMPLE_VALIDATION, SAMPLE_TEST = 400, 200, 200
SAMPLE_PER_CLASS = 5
FULL_VALIDATION = SEALED_VALIDATION = 20
"""Most validation rows of the views that have all other labelled rows, or all, to learn from."""
TRIAL_WITHOUT = 20
"""One of so many training rows is left out of a trial, so that arrays kept by row number do not fit there either."""
FEWER = 4
"""Withheld rows of a notebook check over those of the one with few, by which its time for each row is known."""
FEWEST_FOLDS = 2
"""Folds that training rows must be in for experiments to be compared on them."""
FEW_ROWS = 1_000
"""Rows with labels below which a lab has more folds: there, each row to learn from counts."""
_VIEW_FILES = (*VALIDATION, "sample_validation.csv")


class ViewInfo(ClosedModel):
    """Facts about a view: what it holds and what it withholds."""

    name: str
    seed: int
    version: int
    train_rows: int
    of_rows: int
    """All training rows of the competition."""
    validation_rows: int
    final_rows: int
    """Those of them that are scored apart."""
    withheld_columns: tuple[str, ...]
    label_columns: tuple[str, ...]
    split_kind: SplitKind
    description: str
    """How the validation rows were chosen, in a sentence or two."""
    notes: tuple[str, ...]
    unlike: tuple[str, ...]
    """Where the test rows were split off in another way than these, in sentences."""


def view_info(labels_dir: Path) -> ViewInfo | None:
    """Return the facts about a view, by the folder of its labels; None if none was built."""
    file = labels_dir / INFO
    return ViewInfo.model_validate_json(file.read_bytes()) if file.is_file() else None


def build_view(
    data_dir: Path,
    card: TaskCard,
    name: str,
    seed: int,
    out_dir: Path,
    labels_dir: Path,
    withholding: Withholding = "script",
) -> ViewInfo:
    """Build one view; the same data, card, name, seed and version give the same bytes.

    Views of one seed share their parts. `out_dir` becomes the view's `data` folder, and is there only when complete; outside
    of it, `labels_dir` receives labels.csv (the id and the prediction columns of what is asked for, in the form the metric
    wants) and what `final_places` and `view_info` read. The withholding of a run is the same for all its views.

    Raises:
        UnsupportedLayout: labels cannot be withheld from this data; the text gives the reason.
        UsageError: there is no such view, or the labels would lie in it.
    """
    view = view_kind(name)
    if labels_dir.resolve().is_relative_to(out_dir.resolve()):
        raise UsageError("The labels folder must not be inside the view.")
    for view_file in _VIEW_FILES:
        if (data_dir / view_file).exists():
            raise UnsupportedLayout(f"The competition already has a file named {view_file}.")
    layout = read_layout(data_dir, card)
    if not isinstance(layout.train, FileTable):
        check_names(data_dir, layout)
    split = split_rows(layout, seed, VERSION, withholding)
    rows, note = _choose(layout, view, split, seed)
    staging = _staging(out_dir)
    labels_dir.mkdir(parents=True, exist_ok=True)
    (write_swapped_rows if view in SWAPPED else write_training_rows)(data_dir, layout, rows, staging, labels_dir)
    written_files = _few_test_rows(data_dir, layout, seed, staging) if view == "sample" else set()
    notes = [*layout.notes, note, *write_others(data_dir, layout, view, rows, written_files, staging)]
    info = ViewInfo(
        name=view,
        seed=seed,
        version=VERSION,
        train_rows=len(rows.train),
        of_rows=len(layout.ids),
        validation_rows=len(rows.validation),
        final_rows=len(rows.final),
        withheld_columns=layout.withheld_columns,
        label_columns=layout.label_columns,
        split_kind=split.kind,
        description=_describe_draw(layout, view, split, rows, note),
        notes=tuple(notes),
        unlike=split.unlike,
    )
    (labels_dir / INFO).write_text(info.model_dump_json(), encoding="utf-8")
    _put_in_place(staging, out_dir)
    return info


def build_folds(
    data_dir: Path,
    card: TaskCard,
    seed: int,
    folds: int,
    out_dir: Path,
    labels_dir: Path,
    withholding: Withholding = "script",
    of_view: ViewKind = "holdout",
) -> str:
    """Give each training row of the hold-out view a fold, so that experiments of all coders can be compared; return how.

    All labelled rows are cut, the withheld ones too, but for what is cut by time: the latest rows are withheld, which would
    be a fold of their own, so that blocks are cut from the rows that are left. A lab's small tables are cut into twice as
    many. As a view, `out_dir` asks for the rows in a fold, and the competition's own; `labels_dir` receives labels.csv, the
    labels of the rows that are validated, and what `fold_lines` reads. folds.csv lists the training rows of the view
    `of_view`.

    Raises UnsupportedLayout: labels cannot be withheld from this data, or there are too few rows for so many folds.
    """
    layout = read_layout(data_dir, card)
    split = split_rows(layout, seed, VERSION, withholding)
    train = split.rows("train")
    labelled = [row for row in (train if split.kind == "time" else range(len(layout.ids))) if layout.has_label(row)]
    if withholding == "lab" and len(labelled) < FEW_ROWS and split.kind != "time" and not metric_per_fold(card):
        folds *= 2
    fold_of, forward, note = fold_numbers(layout, split, labelled, folds, seed, VERSION)
    validated = [row for row in train if layout.form.has_prediction_rows(row) and fold_of.get(row, -1) >= 0]
    # A few large groups may be withheld as whole folds: those that are left will do.
    if len({fold_of[row] for row in validated}) < FEWEST_FOLDS:
        raise UnsupportedLayout(f"There are too few training rows for {folds} folds ({note}).")
    staging = _staging(out_dir)
    labels_dir.mkdir(parents=True, exist_ok=True)
    rows = ViewRows((), validated, ())
    write_sample(layout, rows, staging / "sample_validation.csv")
    write_labels(layout, rows, labels_dir)
    line_of = {row: line for line, row in enumerate(train)}
    write_lines(labels_dir, (line_of[row] for row in validated for _ in layout.prediction_rows(row)))
    row_numbers = _choose(layout, of_view, split, seed)[0].train
    write_folds(layout, split, [(row, fold_of.get(row, -1)) for row in row_numbers], forward=forward, out=staging)
    _put_in_place(staging, out_dir)
    return note


def describe_split(data_dir: Path, card: TaskCard, seed: int, withholding: Withholding = "script") -> str:
    """Return how many rows are withheld to score by, and how they are chosen, in a clause.

    Raises UnsupportedLayout: labels cannot be withheld from this data; the text gives the reason.
    """
    split = split_rows(read_layout(data_dir, card), seed, VERSION, withholding)
    withheld, all_rows = len(split.rows("holdout", "final")), len(split.parts)
    unlike = "".join(f"; {sentence}" for sentence in split.unlike)
    return f"{withheld:,} of {all_rows:,} training rows are withheld: {split.note}{unlike}"


def share_everything(data_dir: Path, card: TaskCard, reason: str, out_dir: Path, labels_dir: Path) -> None:
    """Build a view that withholds nothing.

    The reason is kept in `labels_dir`; `out_dir` is there only when complete.

    Raises UnsupportedLayout: not even a sample submission is there.
    """
    read_sample(data_dir, card)
    staging = _staging(out_dir)
    for path in data_files(data_dir):
        link_or_copy(data_dir / path, staging / path)
    write_reason(labels_dir, reason)
    _put_in_place(staging, out_dir)


def _staging(out_dir: Path) -> Path:
    staging = out_dir.with_name(f".{out_dir.name}.partial")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    return staging


def _put_in_place(staging: Path, out_dir: Path) -> None:
    if out_dir.exists():
        shutil.rmtree(out_dir)
    staging.rename(out_dir)


_DRAWING: Mapping[SplitKind, str] = {
    "stratified": "sampled at random, stratified by {label}: {note}",
    "random": "sampled at random, not stratified, because {note}",
    "time": "{note}, because the test rows were split off by time",
    "grouped": "{note}, because no group in the test rows occurs in the training rows",
}


def _describe_draw(layout: Layout, view: ViewKind, split: RowSplit, rows: ViewRows, note: str) -> str:
    total, train_count, validation_count = len(layout.ids), len(rows.train), len(rows.validation)
    train, validation = layout.train.path.name, validation_name(layout.train)
    if view == "full":
        return f"{validation} repeats {validation_count:,} of the {total:,} rows in {train}."
    drawing = _DRAWING[split.kind].format(note=split.note, label=layout.label_columns[0])
    hidden_count = total - train_count - validation_count
    hidden_words = f" The other {hidden_count:,} are in neither." if hidden_count else ""
    return (
        f"Of the {total:,} training rows, {train_count:,} are in {train} with labels, and {validation_count:,} "
        f"({validation_count / total:.0%}) are in {validation} without labels: {drawing}.{hidden_words}"
    )


def _choose(layout: Layout, view: ViewKind, split: RowSplit, seed: int) -> tuple[ViewRows, str]:
    """Choose the rows of a view; return them with a sentence on how."""
    rng = seeded(seed, VERSION, f"rows of {'holdout' if view == 'swap' else view}")
    train, holdout, final = split.rows("train"), split.rows("holdout"), split.rows("final")
    if view == "full":
        all_rows = range(len(layout.ids))
        askable = [row for row in all_rows if layout.has_label(row) and layout.form.has_prediction_rows(row)]
        return ViewRows(all_rows, rng.sample(askable, min(FULL_VALIDATION, len(askable))), ()), split.note
    if view == "sample":
        train_sample = _with_groups(layout, few_rows(layout, train, SAMPLE_TRAIN, SAMPLE_PER_CLASS, rng), train)
        rows = _with_groups(layout, few_rows(layout, holdout, SAMPLE_VALIDATION, SAMPLE_PER_CLASS, rng), holdout)
        hidden = sorted(set(range(len(layout.ids))) - set(train_sample))
        return ViewRows(train_sample, _askable(layout, rows, rng), hidden), split.note
    if view in ("rehearsal", "rehearsal-few"):
        count = len(holdout) // FEWER if view == "rehearsal-few" else len(holdout)
        rows = _askable(layout, _with_groups(layout, rng.sample(holdout, max(1, count)), holdout), rng)
        # A notebook must not pass by chance that has the number of the test rows in it.
        if len(rows) > 1 and len(rows) == len(layout.test_units()):
            rows = _with_groups(layout, rows[1:], rows[1:])
        return ViewRows(train, rows, sorted(holdout + final)), split.note
    if view == "sealed":
        validation_rows = _sealed_validation_rows(layout, split, seed)
        train = sorted(set(range(len(layout.ids))).difference(validation_rows))
        return ViewRows(train, validation_rows, ()), split.note
    if view == "trial":
        validation_rows = _sealed_validation_rows(layout, split, seed)
        units = list(rows_by(train, (lambda row: row) if layout.groups is None else layout.groups.__getitem__).values())
        counts = Counter(layout.labels[row] for row in train)
        common = [unit for unit in units if all(counts[layout.labels[row]] >= TRIAL_WITHOUT for row in unit)] or units
        omitted_rows = {row for unit in rng.sample(common, math.ceil(len(common) / TRIAL_WITHOUT)) for row in unit}
        train = [row for row in train if row not in omitted_rows]
        return ViewRows(train, validation_rows, sorted(holdout + final)), split.note
    # Both parts are asked for as one: what a script could see of the difference, it could make use of.
    rows = _askable(layout, holdout + final, rng)
    return ViewRows(train, rows, sorted(holdout + final), frozenset(final).intersection(rows)), split.note


def _sealed_validation_rows(layout: Layout, split: RowSplit, seed: int) -> list[int]:
    """Return the few withheld rows that stay validation rows in sealed runs, where the others are training rows.

    A command that joins its tables would find rows twice that are in both, and many models refuse to predict no rows.
    """
    askable = _askable(layout, split.rows("holdout", "final"), seeded(seed, VERSION, "rows of holdout"))
    return _with_groups(layout, askable[: min(SEALED_VALIDATION, max(3, len(layout.ids) // 100))], askable)


def _with_groups(layout: Layout, sample: list[int], rows: Sequence[int]) -> list[int]:
    """Add those of some rows that must stay together with chosen ones."""
    if layout.groups is None:
        return sample
    keys = {layout.groups[row] for row in sample}
    return [row for row in rows if layout.groups[row] in keys]


def _askable(layout: Layout, rows: Sequence[int], rng: random.Random) -> list[int]:
    """Shuffle rows, so that their order reveals nothing if the table was sorted by its labels."""
    askable = [row for row in rows if layout.form.has_prediction_rows(row)]
    if layout.groups is None:
        rng.shuffle(askable)
        return askable
    # Rows of one id stay in their order, by which equal ids are distinguished.
    order = list(rows_by(askable, layout.groups.__getitem__).values())
    rng.shuffle(order)
    return [row for unit in order for row in unit]


def _few_test_rows(data_dir: Path, layout: Layout, seed: int, out: Path) -> set[Path]:
    """Write the sample submission and the test rows of a few of its ids; test rows without an id stay whole."""
    test = layout.test
    if test is not None and not {layout.card.id_column, layout.id_column} & set(test.header):
        return set()
    ids = sorted(layout.test_units())
    rng = seeded(seed, VERSION, "test rows")
    ids_to_keep = frozenset(rng.sample(ids, min(SAMPLE_TEST, len(ids))))
    return write_few_test_rows(data_dir, layout, ids_to_keep, out)
