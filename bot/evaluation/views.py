"""Builds views: data folders with some training labels withheld."""

import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bot.evaluation.layout import Layout, read_layout
from bot.evaluation.named_files import check_names
from bot.evaluation.shared_files import carry, data_files, share, withheld_from
from bot.evaluation.split import SplitKind, few_rows, seeded, split_rows
from bot.evaluation.tables import write_table
from scrapers.card import TaskCard
from state.errors import UnsupportedLayout, UsageError

ViewName = Literal["sample", "holdout", "final", "full"]

VERSION = 1
"""Raised whenever the same seed would give other rows; executions on different versions are not comparable."""
SAMPLE_TRAIN, SAMPLE_VALIDATION, SAMPLE_TEST = 400, 200, 200
SAMPLE_PER_CLASS = 5
FULL_VALIDATION = 20
_OURS = ("validation.csv", "sample_validation.csv")


@dataclass(frozen=True)
class ViewInfo:
    """What a view holds and what it withholds."""

    name: ViewName
    seed: int
    version: int
    train_rows: int
    validation_rows: int
    withheld_columns: tuple[str, ...]
    label_columns: tuple[str, ...]
    split_kind: SplitKind
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Rows:
    """Training rows of a view, in order: those it shows, those it asks for (shuffled), those nothing may tell of."""

    train: Sequence[int]
    validation: Sequence[int]
    withheld: Sequence[int]


def build_view(data_dir: Path, card: TaskCard, name: ViewName, seed: int, out_dir: Path, labels_dir: Path) -> ViewInfo:
    """Build one view; the same data, card, name, seed and version give the same bytes.

    Args:
        data_dir: the competition's files; only read.
        card: the task.
        name: which view.
        seed: of the split; views of one seed share their parts.
        out_dir: becomes the view's `data` folder; replaced if it exists, and there only when complete.
        labels_dir: outside `out_dir`; receives labels.csv: the id and the prediction columns of validation.csv's rows,
            in the form the metric wants.

    Raises:
        UnsupportedLayout: labels cannot be withheld from this data; the text says why.
        UsageError: the labels would lie in the view.
    """
    if labels_dir.resolve().is_relative_to(out_dir.resolve()):
        raise UsageError("The labels' folder must not lie in the view.")
    for ours in _OURS:
        if (data_dir / ours).exists():
            raise UnsupportedLayout(f"The competition has a file {ours} of its own.")
    layout = read_layout(data_dir, card)
    check_names(data_dir, layout)
    split = split_rows(layout, seed, VERSION)
    rows = _choose(layout, name, split.rows("train"), split.rows("holdout"), split.rows("final"), seed)
    staging = out_dir.with_name(f".{out_dir.name}.partial")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    labels_dir.mkdir(parents=True, exist_ok=True)
    _write_training_rows(layout, rows, staging, labels_dir)
    notes = [split.note, *_write_others(data_dir, layout, name, rows, seed, staging)]
    if out_dir.exists():
        shutil.rmtree(out_dir)
    staging.rename(out_dir)
    return ViewInfo(
        name,
        seed,
        VERSION,
        train_rows=len(rows.train),
        validation_rows=len(rows.validation),
        withheld_columns=layout.withheld_columns,
        label_columns=layout.label_columns,
        split_kind=split.kind,
        notes=tuple(notes),
    )


def _choose(layout: Layout, name: ViewName, train: list[int], holdout: list[int], final: list[int], seed: int) -> _Rows:
    rng = seeded(seed, VERSION, f"rows of {name}")
    if name == "full":
        everything = range(len(layout.ids))
        repeated = [row for row in everything if layout.has_label(row)]
        return _Rows(everything, rng.sample(repeated, min(FULL_VALIDATION, len(repeated))), ())
    if name == "final":
        return _Rows(sorted(train + holdout), _shuffled(final, rng), final)
    if name == "sample":
        few = few_rows(layout, train, SAMPLE_TRAIN, SAMPLE_PER_CLASS, rng)
        asked = few_rows(layout, holdout, SAMPLE_VALIDATION, 1, rng)
        hidden = sorted(set(range(len(layout.ids))) - set(few))
        return _Rows(few, _shuffled(asked, rng), hidden)
    return _Rows(train, _shuffled(holdout, rng), sorted(holdout + final))


def _shuffled(rows: Sequence[int], rng: random.Random) -> list[int]:
    """Shuffle rows, so that their order tells nothing of a table that was sorted by its labels."""
    shuffled = list(rows)
    rng.shuffle(shuffled)
    return shuffled


def _write_training_rows(layout: Layout, rows: _Rows, out: Path, labels_dir: Path) -> None:
    card, table = layout.card, layout.train
    shown = [at for at, column in enumerate(table.header) if column not in layout.withheld_columns]
    wanted = set(rows.validation)
    kept: dict[int, list[str]] = {}
    in_train = set(rows.train)

    def training() -> Iterator[list[str]]:
        for number, row in enumerate(table.rows()):
            if number in wanted:
                kept[number] = [row[at] for at in shown]
            if number in in_train:
                yield row

    write_table(out / "train.csv", table.header, training(), table.delimiter)
    header = [table.header[at] for at in shown]
    write_table(out / "validation.csv", header, (kept[row] for row in rows.validation), table.delimiter)
    default = next(layout.sample.rows(), None)
    if default is None:
        raise UnsupportedLayout("sample_submission.csv has no rows.")
    id_at = layout.sample.header.index(card.id_column)
    asked = ([*default[:id_at], layout.ids[row], *default[id_at + 1 :]] for row in rows.validation)
    write_table(out / "sample_validation.csv", layout.sample.header, asked, layout.sample.delimiter)
    truth = ((layout.ids[row], *layout.truth(row)) for row in rows.validation)
    write_table(labels_dir / "labels.csv", (card.id_column, *card.prediction_columns), truth)


def _write_others(data_dir: Path, layout: Layout, name: ViewName, rows: _Rows, seed: int, out: Path) -> Iterator[str]:
    """Carry every other file, and yield what is to be said of it."""
    done = {Path("train.csv")}
    if name == "sample":
        done |= _write_few_test_rows(layout, seed, out)
    withheld = withheld_from(layout, rows.withheld)
    untouched = {Path("test.csv"), Path("sample_submission.csv")}
    for path in data_files(data_dir):
        if path in done:
            continue
        if name == "full" or path in untouched:
            share(data_dir / path, out / path)
        elif (note := carry(data_dir / path, out / path, withheld)) is not None:
            yield note


def _write_few_test_rows(layout: Layout, seed: int, out: Path) -> set[Path]:
    """Write the sample submission and the test rows of a few of its ids; test rows without an id stay whole."""
    column, sample = layout.card.id_column, layout.sample
    ids = sorted(set(sample.column(column)))
    if layout.test is not None and column not in layout.test.header:
        return set()
    rng = seeded(seed, VERSION, "test rows")
    chosen = set(rng.sample(ids, min(SAMPLE_TEST, len(ids))))
    written = set()
    for table in (sample, layout.test):
        if table is not None:
            at = table.header.index(column)
            few = (row for row in table.rows() if row[at] in chosen)
            write_table(out / table.path.name, table.header, few, table.delimiter)
            written.add(Path(table.path.name))
    return written
