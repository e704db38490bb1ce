"""Writes a view's files: training rows, the rows that are asked for, their labels, and everything else of the competition."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from bot.evaluation.layouts.data_files import data_files
from bot.evaluation.layouts.file_index import FileTable, file_name
from bot.evaluation.layouts.layout import ONE_BY_ONE, Layout
from bot.evaluation.layouts.locate_tables import default_row, table_kind
from bot.evaluation.layouts.repeated_ids import KeyedRowMapping
from bot.evaluation.tables.compression import kind_of
from bot.evaluation.tables.csv_table import Rows, write_table
from bot.evaluation.view_names import SWAPPED, ViewKind
from bot.evaluation.views.other_files import WithheldRows, carry, is_submission, share_readable, swap_sibling
from bot.evaluation.views.parts import write_final
from bot.evaluation.views.replaced_files import ReplacedFiles, put_added, replaced_files, rewrite_archive, test_place
from bot.evaluation.views.row_files import path_of
from state.errors import UnsupportedLayout

SAMPLE = Path("sample_submission.csv")
_TEXTS = frozenset(
    {".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson", ".md", ".xml", ".html", ".yaml", ".yml"}
)
_WORD = re.compile(r"[\s,;:|/\\\"'<>()\[\]{}]+")


@dataclass(frozen=True)
class ViewRows:
    """Training rows of a view, in order: those it shows, those it asks for (shuffled), those nothing may give away."""

    train: Sequence[int]
    validation: Sequence[int]
    withheld: Sequence[int]
    final: Set[int] = frozenset()
    """Those of the rows asked for that are scored apart."""


def validation_name(table: Rows) -> str:
    """Return the name of the table of rows that are asked for, which is of the training rows' kind."""
    return f"validation{kind_of(table.path) or table_kind(table.path)}"


def write_training_rows(data_dir: Path, layout: Layout, rows: ViewRows, out: Path, labels_dir: Path) -> None:
    """Write the training rows, the rows that are asked for and their sample, and outside the view their labels."""
    table = layout.train
    table.write_part(out / table.path.relative_to(data_dir), set(rows.train))
    columns = [column for column in table.header if column not in layout.withheld_columns]
    table.write_chosen(out / validation_name(table), columns, rows.validation)
    write_sample(layout, rows, out / "sample_validation.csv")
    write_labels(layout, rows, labels_dir)


def write_swapped_rows(data_dir: Path, layout: Layout, rows: ViewRows, out: Path, labels_dir: Path) -> None:
    """Write the training rows, and as test rows and sample submission those that are asked for.

    Raises UnsupportedLayout: training rows cannot stand in for test rows.
    """
    table, test = layout.train, layout.test
    table.write_part(out / table.path.relative_to(data_dir), set(rows.train))
    if isinstance(table, FileTable) and table.moved_to is not None:
        place = test_place(data_dir, layout)
        folder, has_suffix = Path(place.path).parent, Path(place.path).suffix != ""
        for entry in (table.entries[row] for row in rows.validation):
            table.copy_file(entry, out / (path_of(place, entry.id) if has_suffix else folder / file_name(entry)))
    if test is not None:
        same_format = type(test) is type(table) and getattr(test, "delimiter", ",") == getattr(table, "delimiter", ",")
        renamed = layout.id_column if layout.card.id_column not in table.header else layout.card.id_column
        columns = [renamed if column == layout.card.id_column else column for column in test.header]
        absent = [column for column in columns if column not in table.header]
        one_by_one = layout.form is ONE_BY_ONE or (
            isinstance(layout.form, KeyedRowMapping) and set(layout.card.row_columns) <= set(test.header)
        )
        if not same_format or absent or (not one_by_one and layout.card.id_column in test.header):
            raise UnsupportedLayout(f"The rows in {test.path.name} cannot be replaced with training rows.")
        table.write_chosen(out / test.path.relative_to(data_dir), columns, rows.validation)
    write_sample(layout, rows, out / SAMPLE)
    write_labels(layout, rows, labels_dir)


def write_sample(layout: Layout, rows: ViewRows, target: Path) -> None:
    """Write what predictions of the rows asked for must look like, filled as the sample submission is."""
    header, default = layout.sample.header, default_row(layout.sample)
    id_at = header.index(layout.card.id_column)
    places = {column: place for place, column in enumerate(header)}

    def lines() -> Iterator[list[str]]:
        for row in rows.validation:
            for prediction_row in layout.prediction_rows(row):
                line = list(default)
                line[id_at] = prediction_row.id
                for column, cell in prediction_row.key_cells.items():
                    line[places[column]] = cell
                yield line

    write_table(target, header, lines(), layout.sample.delimiter)


def write_labels(layout: Layout, rows: ViewRows, labels_dir: Path) -> None:
    """Write the labels of the rows asked for, in the form the metric wants, and which of them are scored apart."""
    keys = layout.card.key_columns
    final_rows: list[int] = []

    def truth() -> Iterator[tuple[str, ...]]:
        place = 0
        for row in rows.validation:
            for prediction_row in layout.prediction_rows(row):
                if row in rows.final:
                    final_rows.append(place)
                place += 1
                yield prediction_row.id, *(prediction_row.key_cells[column] for column in keys), *prediction_row.truth

    write_table(labels_dir / "labels.csv", layout.card.columns, truth())
    write_final(labels_dir, final_rows)


def write_others(
    data_dir: Path, layout: Layout, view: ViewKind, rows: ViewRows, written_files: set[Path], out: Path
) -> Iterator[str]:
    """Carry every other file, and yield notes on it."""
    written_files = written_files | {path.relative_to(data_dir) for path in layout.train.files}
    swap = view in SWAPPED
    columns = frozenset((*layout.withheld_columns, *layout.card.prediction_columns))
    withheld = WithheldRows(layout, frozenset(rows.withheld), columns, layout.test_units())
    untouched = {SAMPLE} if layout.test is None else {SAMPLE, layout.test.path.relative_to(data_dir)}
    written_files |= untouched if swap else set()
    changes = ReplacedFiles()
    if view != "full":
        changes = replaced_files(data_dir, layout, rows.withheld, rows.validation if swap else None)
    # A file that names withheld files may name their classes too.
    names = layout.train.moved_names(rows.withheld) if isinstance(layout.train, FileTable) else frozenset()
    for path in data_files(data_dir):
        if path in written_files or path in changes.files:
            continue
        if view == "full" or path in untouched:
            share_readable(data_dir / path, out / path)
        elif swap and is_submission(data_dir / path, withheld):
            write_sample(layout, rows, out / path)
        elif swap and (note := swap_sibling(data_dir / path, out / path, withheld, rows.validation)) is not None:
            yield note
        elif names and path.suffix.lower() in _TEXTS and _mentions(data_dir / path, names):
            yield f"{path.name} left out: it names files whose labels are withheld"
        elif (note := carry(data_dir / path, out / path, withheld)) is not None:
            yield note
            changes.members.pop(path, None)
        elif path in changes.archives:
            (out / path).unlink()
            yield rewrite_archive(data_dir, path, changes, out)
    if changes.files:
        yield f"{len(changes.files)} files that belong to withheld rows were left out"
    put_added(data_dir, changes, out)


def _mentions(path: Path, names: frozenset[str]) -> bool:
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        return any(not names.isdisjoint(_WORD.split(line)) for line in file)


def write_few_test_rows(data_dir: Path, layout: Layout, ids_to_keep: frozenset[str], out: Path) -> set[Path]:
    """Write the sample submission and the test rows of those ids alone; returns which files that were."""
    files = set()
    for table in (layout.sample, layout.test):
        if table is not None:
            has_id = layout.card.id_column in table.header
            cells = table.column(layout.card.id_column if has_id else layout.id_column)
            units = map(layout.form.unit, cells) if has_id else cells
            row_numbers = {number for number, unit in enumerate(units) if unit in ids_to_keep}
            path = table.path.relative_to(data_dir)
            table.write_part(out / path, row_numbers)
            files.add(path)
    return files
