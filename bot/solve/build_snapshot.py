"""Generate a snapshot from a person's own data: tables, sample submission, task, and answers if rows were withheld."""

import csv
import json
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, replace
from datetime import datetime
from operator import eq
from pathlib import Path

from bot.evaluation.metrics.registry import ABBREVIATIONS
from bot.solve.class_folders import index_folders
from bot.solve.columns import NUMBER_COLUMNS, copies_of, id_of, refuse_answers, target_of
from bot.solve.input_files import CollectedFiles, InputFiles, find_tables, refuse_formats
from bot.solve.solve_options import DetectedTask, SolveOptions
from bot.solve.tables.cell_formats import NA_WORDS, PLAIN, NumberFormat
from bot.solve.tables.text_records import TableError, is_table
from bot.solve.tables.user_table import UserTable
from bot.solve.task import PredictionTask, task_of, task_of_sample
from bot.solve.train_test_split import TrainTestSplit, split_table, with_unlabelled_rows
from scrapers.snapshots.answers import ANSWERS, SAMPLE
from scrapers.snapshots.linking import link_or_copy
from scrapers.snapshots.manifest import DESCRIPTION, MANIFEST
from scrapers.snapshots.tables import open_table, write_table
from state.errors import UsageError
from state.words import iso, plural

WITHHELD = "private/withheld.csv"
"""The withheld rows of a table with their targets: the package also learns from them."""
FORMATS = "formats.json"
"""The formats of columns, which are used to read new rows."""
FORM = "submission_form.csv"
"""The id columns of the person's own sample, beside the row numbers that replace them."""
FEWEST = 10
"""Minimum training rows with a target; fewer cannot be split to score scripts."""
_TRUE = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class _Rows:
    """How the rows of both tables are written."""

    files: InputFiles
    targets: tuple[str, ...]
    """Target columns of the training table; empty: labels are in other files."""
    task: PredictionTask
    id: str
    is_numbered: bool
    """Whether the id is a new column with the numbers of rows."""
    split: TrainTestSplit | None = None
    has_sample: bool = False
    """Whether the person's sample defines what is predicted."""
    key: tuple[str, ...] = ()
    """The columns of the sample that identify a row, if row numbers replace them."""

    @property
    def target(self) -> str | None:
        """The target column, if no sample defines what is predicted."""
        return None if self.has_sample else self.targets[0]


def build_snapshot(
    collected: CollectedFiles, folder: Path, slug: str, options: SolveOptions, now: datetime
) -> DetectedTask:
    """Generate a snapshot of a person's own data, and return what was detected.

    The data is one table, a folder with tables, or one with a folder of files per class, whose tables are written beside the
    new folder. `now` stands in for all dates.

    Raises:
        UsageError: something is missing or wrong; the message says what to do.
        OSError: a file cannot be read or written.
    """
    options = replace(options, metric=ABBREVIATIONS.get((options.metric or "").lower(), options.metric))
    source = collected.source
    if MANIFEST in collected.files:
        raise UsageError(f"{source} is a snapshot: use `bot replay`, or pass {source / 'data'}")
    detected = DetectedTask()
    files = find_tables(collected, options, detected)
    if files is None and collected.root.is_dir():
        staging = folder.with_name(f"{folder.name}-files")
        staging.mkdir()
        files = index_folders(collected.root, staging, detected)
    if files is None:
        refuse_formats(collected)
        raise UsageError(
            f"{source} contains neither a table (CSV, TSV, Excel, Parquet, JSON lines) nor a folder of files for each class"
        )
    sampled = folder.with_name(f"{folder.name}-sample.csv")
    rows = _leave_out_answers(_rows(files, options, sampled, detected), detected)
    if other_names := list(rows.files.other_files):
        first_names = ", ".join(other_names[:3]) + (", ..." if len(other_names) > 3 else "")
        detected.add("other files", f"{plural(len(other_names), 'file')} that scripts may also read: {first_names}")
    folder.mkdir()
    _write_data(rows, folder)
    _write_task(rows, folder, slug, now)
    return detected


def _rows(files: InputFiles, options: SolveOptions, sampled: Path, detected: DetectedTask) -> _Rows:
    train, test, sample = files.train, files.test, files.sample
    number_column = next(name for name in NUMBER_COLUMNS if name not in train.header)
    if sample is not None and (options.target is None or options.target in sample.header):
        key = _sample_key(sample, test)
        for name in sample.header[1:]:
            train = _with_plain_target(train, name)
        files = replace(files, train=train)
        task = task_of_sample(train, test, sample, key, options.metric, detected)
        for name in task.columns:
            if test is not None and name in test.header:
                refuse_answers(test, name)
        if test is not None and _is_short(sample, test):
            examples = f"{sample.name} shows {plural(sample.length, 'row')} as examples"
            detected.add("predictions", f"all rows of {test.name}; {examples}")
        targets = tuple(name for name in (task.target or task.columns) if name in train.header)
        # Rows are numbered if the key has several columns or is rewritten, such as a date.
        formats = [table.formats.get(key[0], PLAIN) for table in (train, test, sample) if table is not None]
        is_rewritten = test is not None and key[0] in test.header and any(f != PLAIN for f in formats)
        if len(key) == 1 and not is_rewritten:
            return _Rows(files, targets, task, key[0], is_numbered=False, has_sample=True)
        return _Rows(files, targets, task, number_column, is_numbered=True, has_sample=True, key=key)
    target = target_of(train, test, options, detected)
    if test is None:
        train = with_unlabelled_rows(train, target, sampled)
    else:
        refuse_answers(test, target)
    train = _with_plain_target(train, target)
    files = replace(files, train=train)
    task = task_of(train, target, options.metric, detected)
    copies = {name: clause for name, clause in copies_of(train, target).items() if test is None or name in test.header}
    duplicates = [name for name in copies if test is None and all(map(eq, train.column(name), train.column(target)))]
    if duplicates:
        raise UsageError(f"`{duplicates[0]}` is the same as the target `{target}`: remove it from {train.name}")
    for name, clause in copies.items():
        detected.add("caution", f"`{name}` {clause} `{target}`: remove this column unless new rows have it", "a guess")
    id_column = id_of(train, test, target, options, detected)
    if id_column is not None:  # predictions have it as written in the file
        train = train.without_formats([id_column])
        test = None if test is None else test.without_formats([id_column])
        files = replace(files, train=train, test=test)
    split = None if test is not None else split_table(train, target, task.kind, options, detected)
    withheld = len(split.test) if split is not None and split.answered else 0
    labelled_count = sum(cell != "" for cell in train.column(target)) - withheld
    if labelled_count < FEWEST:
        raise UsageError(
            f"{train.name} has only {plural(labelled_count, 'row')} to learn `{target}` from: at least {FEWEST} are needed"
        )
    return _Rows(files, (target,), task, id_column or number_column, id_column is None, split)


def _with_plain_target(train: UserTable, target: str) -> UserTable:
    """Return the table with its target as written in the file, if it has few values with a unit, or words among numbers."""
    train = train.without_time_of(target)
    number_format = train.formats.get(target)
    if not isinstance(number_format, NumberFormat) or not (number_format.unit or number_format.words):
        return train
    if number_format.words or len({*train.column(target)}) <= FEWEST:
        return train.with_formats({target: replace(number_format, unit="", words=False)})
    return train


def _leave_out_answers(rows: _Rows, detected: DetectedTask) -> _Rows:
    """Leave out other tables that hold the target of test rows, which scripts must not see."""
    test = rows.files.test
    if test is None or rows.id not in test.header:
        return rows
    tests = set(test.column(rows.id))
    files = rows.files.other_files
    tables = {name: path for name, path in files.items() if "/" not in name and is_table(name)}
    answers = [name for name, path in tables.items() if _holds_answers(path, rows, tests)]
    if answers:
        detected.add("left out", f"{', '.join(answers)}: scripts must not see the answers for the test rows")
    other_files = {name: path for name, path in files.items() if name not in answers}
    return replace(rows, files=replace(rows.files, other_files=other_files))


def _holds_answers(path: Path, rows: _Rows, tests: Set[str]) -> bool:
    try:
        table = UserTable.read(path)
    except TableError:
        return False
    if rows.id not in table.header or {*rows.targets}.isdisjoint(table.header):
        return False
    return not tests.isdisjoint(table.column(rows.id))


def _sample_key(sample: UserTable, test: UserTable | None) -> tuple[str, ...]:
    """Return the columns of a sample that identify a row: the first, and perhaps others that test rows also have."""
    shared_names = () if test is None else tuple(name for name in sample.header[:-1] if name in test.header)
    if test is None or len(shared_names) < 2:
        return sample.header[:1]
    keys = [tuple(cells) for cells in test.columns(shared_names)]
    return shared_names if len(set(keys)) == len(keys) > len({key[0] for key in keys}) else sample.header[:1]


def _write_data(rows: _Rows, folder: Path) -> None:
    files, data = rows.files, folder / "data"
    data.mkdir()
    train, split = files.train, rows.split
    test_rows = frozenset[int]() if split is None else split.test
    write_table(data / "train.csv", _header(rows, train), _cells(rows, train, lambda row: row not in test_rows))
    if split is not None:
        header = [name for name in _header(rows, train) if name != rows.target]
        write_table(data / "test.csv", header, _cells(rows, train, lambda row: row in test_rows, answers=False))
    elif files.test is not None:
        header = [name for name in _header(rows, files.test) if name not in rows.targets]
        write_table(data / "test.csv", header, _cells(rows, files.test, answers=False, first=train.length))
    if (sample := files.sample) is not None and rows.has_sample and not rows.key and not _is_short(sample, files.test):
        write_table(folder / SAMPLE, (rows.id, *rows.task.columns), sample.columns((rows.id, *rows.task.columns)))
    else:
        with open_table(data / "test.csv") as tests:
            place = next(tests)[1].index(rows.id)
            cells = ([row[place], *rows.task.default] for _, row in tests)
            write_table(folder / SAMPLE, [rows.id, *rows.task.columns], cells)
    if sample is not None and files.test is not None and rows.key:
        _write_form(rows, sample, files.test, folder / FORM)
    if split is not None and split.answered:
        (folder / ANSWERS).parent.mkdir(mode=0o700)
        write_table(folder / ANSWERS, [rows.id, *rows.task.columns], _answers(rows, split))
        write_table(folder / WITHHELD, _header(rows, train), _cells(rows, train, lambda row: row in test_rows))
    formats = {name: list(vars(f).values()) for name, f in train.formats.items()}
    (folder / FORMATS).write_text(json.dumps({"has_header": train.has_header, "formats": formats}), encoding="utf-8")
    for name, path in files.other_files.items():
        if not (data / name).exists():
            link_or_copy(path, data / name)


def _is_short(sample: UserTable, test: UserTable | None) -> bool:
    """Whether a sample has only some of the test rows, or none of them, as an example of the format."""
    if test is None or sample.header[0] not in test.header:
        return False
    ids, sample_ids = set(test.column(sample.header[0])), set(sample.column(sample.header[0]))
    return sample_ids < ids or sample_ids.isdisjoint(ids)


def _write_form(rows: _Rows, sample: UserTable, test: UserTable, out: Path) -> None:
    """Write the person's key of each test row beside its number, in the order of the sample if it has all test rows."""
    test, sample = (table.without_formats(rows.key) for table in (test, sample))
    first = rows.files.train.length
    number_of = {tuple(cells): number for number, cells in enumerate(test.columns(rows.key), first)}
    keys = [tuple(cells) for cells in sample.columns(rows.key)]
    if set(keys) != set(number_of):
        keys = list(number_of)
    write_table(out, [rows.id, *rows.key], ([str(number_of[key]), *key] for key in keys))


def restore_form(form: Path, submission: Path) -> None:
    """Replace row numbers by the person's own key columns, in the order of their sample; without a form do nothing.

    Raises OSError: a file cannot be read or written.
    """
    if not form.is_file() or not submission.is_file():
        return
    with submission.open(encoding="utf-8", newline="") as file:
        header, *predictions = csv.reader(file)
    by_number = {cells[0]: cells[1:] for cells in predictions}
    with form.open(encoding="utf-8", newline="") as file:
        names, *keys = csv.reader(file)
    if header[0] == names[0]:  # it is not restored yet
        partial = submission.with_suffix(".partial")
        write_table(partial, [*names[1:], *header[1:]], ([*key[1:], *by_number[key[0]]] for key in keys))
        partial.replace(submission)


def _header(rows: _Rows, table: UserTable) -> list[str]:
    return [rows.id, *table.header] if rows.is_numbered else list(table.header)


def _cells(
    rows: _Rows,
    table: UserTable,
    is_wanted: Callable[[int], bool] = lambda _: True,
    *,
    answers: bool = True,
    first: int = 0,
) -> Iterator[list[str]]:
    """Yield the wanted rows, after a number if they have no id; `first` is the number of the first row.

    With answers, rows without one are left out: nothing can be learned from them, and they would turn integers into floats.
    """
    targets = [table.header.index(name) for name in rows.targets if name in table.header]
    labels = {table.header.index(name): codes for name, codes in rows.task.labels.items() if name in table.header}
    for number, cells in enumerate(table.rows()):
        if not is_wanted(number) or (answers and targets and not any(cells[i] for i in targets)):
            continue
        for place, codes in labels.items():
            cells[place] = codes.get(cells[place], cells[place])
        row_cells = [cell for place, cell in enumerate(cells) if answers or place not in targets]
        yield [str(first + number), *row_cells] if rows.is_numbered else row_cells


def _answers(rows: _Rows, split: TrainTestSplit) -> Iterator[list[str]]:
    """Yield the id and the target of each withheld row, in the format of predictions."""
    train = rows.files.train
    target_place = train.header.index(rows.target or "")
    for number, cells in enumerate(train.rows()):
        if number not in split.test:
            continue
        key = str(number) if rows.is_numbered else cells[train.header.index(rows.id)]
        value = cells[target_place]
        if rows.task.classes:
            yield [key, *("1" if name == value else "0" for name in rows.task.classes)]
        else:
            yield [key, value if rows.task.metric.input_kind != "number" else _TRUE.get(value.lower(), value)]


def _write_task(rows: _Rows, folder: Path, slug: str, now: datetime) -> None:
    task = rows.task
    manifest = {
        "format": 1,
        "slug": slug,
        "title": slug,
        "metric": {"name": task.metric.name, "direction": task.metric.direction, "params": {}},
        "id_column": rows.id,
        "prediction_columns": list(task.columns),
        "enabled_at": iso(now),
        "deadline": iso(now),
        "collected_at": iso(now),
        "split": rows.split.method if rows.split else "test rows provided by the owner",
        "sources": [rows.files.train.name],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / DESCRIPTION).write_text(_description(rows, slug), encoding="utf-8")


def _description(rows: _Rows, slug: str) -> str:
    task = rows.task
    target_words = f"`{rows.target}`" if rows.target else ", ".join(f"`{name}`" for name in task.columns[:20])
    form_words = {"two classes": "has two classes", "classes": "has several classes", "quantity": "is a quantity"}
    words = f"It {form_words[task.kind]}."
    for name, codes in task.labels.items():
        words += "".join(f" In `{name}`, {code} stands for {label!r}." for label, code in codes.items())
    for value in (value for value in task.classes if value.lower() in NA_WORDS):
        words += (
            f" {value!r} is a class of `{rows.target}`, but pandas reads it as missing without `keep_default_na=False`."
        )
    of_classes = task.metric.of_classes and task.metric.input_kind == "number"
    columns_words = "a probability for each class" if of_classes else "a prediction in each column"
    form = columns_words if len(task.columns) > 1 else "one prediction"
    data_section = f"\n## Data\n\n{rows.files.description}\n" if rows.files.description else ""
    return (
        f"# {slug}\n\nPredict {target_words} for each row of `test.csv`. {words}\n\n"
        f"## Evaluation\n\nPredictions are scored by `{task.metric.name}` ({task.metric.direction} it). `sample_submission.csv` "
        f"shows their format: {form} for each `{rows.id}`.\n{data_section}"
    )
