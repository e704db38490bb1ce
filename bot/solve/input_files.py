"""Find the training rows, the test rows and the sample submission among a person's files."""

import json
import math
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, time
from itertools import product
from pathlib import Path
from typing import Any

from bot.solve.solve_options import Confidence, DetectedTask, SolveOptions
from bot.solve.tables.cell_formats import DateFormat, NumberFormat
from bot.solve.tables.text_records import TEXT_SUFFIXES, TableError, is_table
from bot.solve.tables.user_table import UserTable
from scrapers.kaggle.samples import find_samples
from scrapers.snapshots.files import walk
from scrapers.snapshots.tables import write_table
from scrapers.snapshots.unpacking import ZipExtractor
from state.errors import DownloadFailed, NoRoom, UsageError
from state.words import plural

_CODE = frozenset((".ipynb", ".py", ".r", ".html", ".pdf"))
_WORKBOOKS = frozenset((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"))
_CONVERTED = _WORKBOOKS | {".parquet", ".pq", ".jsonl", ".ndjson", ".json"}
_UNREADABLE = frozenset(
    (".feather", ".arrow", ".h5", ".hdf5", ".pkl", ".arff", ".sas7bdat", ".dta", ".sav", ".db", ".rar", ".sql")
)
_MAX_DEPTH = 3
"""Of archives within archives."""
_MAX_TABLES = 50
"""In a folder with more tables, roles must be named."""
_READING_SHARE = 1 / 8
"""Share of the command's time that reading a table may take; rows are left out of one that takes longer."""
_TRAIN, _TEST = frozenset(("train", "training", "learn")), frozenset(("test", "testing", "unseen", "predict"))
_LABELS = frozenset(("label", "labels", "target", "targets", "y", "values", "answers"))
DESCRIPTION = "description.md"


@dataclass(frozen=True)
class InputFiles:
    """The tables of a person's data, and the files beside them."""

    train: UserTable
    test: UserTable | None
    sample: UserTable | None
    other_files: Mapping[str, Path]
    """By path within the data."""
    description: str
    """What the person wrote about the data; may be empty."""


@dataclass(frozen=True)
class CollectedFiles:
    """All files of a person's data."""

    source: Path
    """As named on the command line."""
    files: Mapping[str, Path]
    """By path within the data: archives unpacked, other formats as CSV."""
    root: Path
    """The folder of the data, or of the unpacked archive."""
    scratch: Path
    """An empty folder for tables that are joined from others."""


def find_tables(collected: CollectedFiles, options: SolveOptions, detected: DetectedTask) -> InputFiles | None:
    """Find the tables among a folder's files, by name or by contents; None: the folder has no table.

    Raises UsageError: it is unclear which table is which, or one cannot be read.
    """
    files, source = collected.files, collected.source
    tables = _Tables(files, options)
    if not tables.names and options.train is None:
        return None
    samples = [] if len(tables.names) == 1 else _samples(tables, options)
    names = [name for name in tables.names if name not in samples]
    sample = tables.read(options.choose("sample submission", "", samples, source)) if samples else None
    test_names = [options.test] if options.test else [name for name in names if _tokens(name) & _TEST]
    train_names = [options.train] if options.train else [name for name in names if _tokens(name) & _TRAIN]
    test_names = [name for name in test_names if name not in train_names]
    answers = {name for name in test_names if _tokens(name) & _LABELS}  # y_test.csv
    answers = answers if len(answers) < len(test_names) else set()
    test_names = [name for name in test_names if name not in answers]
    if not train_names and options.target is not None:
        with_target = [name for name in names if options.target in tables.header(name) and name not in test_names]
        train_names = with_target if len(with_target) == 1 else []
    if not train_names:
        train_names, test_names = _by_contents(tables, names, test_names)
    if not train_names and len(names) == 1:
        train_names = names
    train, training_names = _training_table(tables, train_names or names, collected, options, detected)
    if not test_names:
        columns_of = {name: set(tables.header(name)) for name in names if name not in training_names}
        likely_names = [name for name, columns in columns_of.items() if 2 <= len(columns) == len(train.header) - 1]
        test_names = [name for name in likely_names if columns_of[name] < {*train.header}][:2]
    test_name = options.choose("test", "test", test_names, source) if test_names else None
    test = None
    if test_name is not None:
        test = tables.read(test_name, like=train)
        if date_formats := _dates_of_test(train, tables.read(test_name)):
            train = train.with_formats(date_formats)
            test = tables.read(test_name, like=train)
        spellings = {name.lower(): name for name in train.header if name not in test.header}
        for name in (name for name in test.header if name not in train.header and name.lower() in spellings):
            detected.add("note", f"`{name}` in {test.name} is `{spellings[name.lower()]}` in {train.name}", "likely")
            test = test.with_name(name, spellings[name.lower()])
    if sample is not None:
        sample = tables.read(sample.name, like=train)
        if test is not None:
            train, test, sample = _with_key_of_sample(train, test, sample, detected)
    if answers:
        detected.add("left out", f"{', '.join(sorted(answers))}: scripts must not see the answers for the test rows")
    roles = {*training_names, *answers, test_name, *samples, DESCRIPTION}
    other_files = {name: path for name, path in files.items() if name not in roles}
    description_file = files.get(DESCRIPTION)
    text = "" if description_file is None else description_file.read_text(encoding="utf-8", errors="replace")
    is_guess = len(training_names) == 1 < len(train_names or names) or len(test_names) > 1
    input_files = InputFiles(train, test, sample, other_files, text)
    _describe(input_files, " and ".join(training_names), detected, "a guess" if is_guess else "sure")
    return input_files


def _describe(files: InputFiles, training_names: str, detected: DetectedTask, confidence: Confidence) -> None:
    """Add lines on the tables, and on what was rewritten or left out when they were read."""
    train, test, sample = files.train, files.test, files.sample
    size = f"{plural(train.length, 'row')}, {plural(len(train.header), 'column')}"
    detected.add("training rows", f"{training_names}, {size}", confidence)
    if test is not None:
        detected.add("test rows", f"{test.name}, {plural(test.length, 'row')}", confidence)
    if sample is not None:
        detected.add("sample", sample.name)
    for table in (table for table in (train, test, sample) if table is not None):
        for note in table.notes:
            detected.add("note", f"{table.name}: {note}" if table.name not in note else note)
    if rewritten := [name for name, f in train.formats.items() if isinstance(f, NumberFormat) and f.thousands]:
        detected.add("numbers", f"converted from formats such as 1.234,5, $1,234 or 7 kg: {', '.join(rewritten)}")
    forms = {name: f.form for name, f in train.formats.items() if isinstance(f, DateFormat)}
    if dates := [f"{name} ({'with UTC offsets' if form == 'iso' else form})" for name, form in forms.items()]:
        detected.add("dates", f"rewritten in the format 2019-04-21 for scripts: {', '.join(dates)}")


def _dates_of_test(train: UserTable, test: UserTable) -> dict[str, DateFormat]:
    """Return date formats that are ambiguous in the training table and clear in the test table."""
    return {
        name: test_form
        for name, form in train.formats.items()
        if isinstance(form, DateFormat)
        and isinstance(test_form := test.formats.get(name), DateFormat)
        and test_form == form.swapped
        and not any(map(form.reads, test.without_formats([name]).column(name)))
        and all(map(test_form.reads, filter(None, train.without_formats([name]).column(name))))
    }


def _with_key_of_sample(
    train: UserTable, test: UserTable, sample: UserTable, detected: DetectedTask
) -> tuple[UserTable, UserTable, UserTable]:
    """Return the tables with their id column named as in the sample, and the sample without row numbers."""
    if sample.header[0].startswith("Unnamed: ") and len(sample.header) > 2 and sample.header[1] in test.header:
        sample = sample.without_columns(sample.header[:1])
    key = sample.header[0]
    if key in (*test.header, *train.header):
        return train, test, sample
    ids = set(sample.column(key))
    same_name = [name for name in test.header if name.lower() == key.lower()]
    matches = same_name or [name for name in test.header if name not in sample.header and set(test.column(name)) == ids]
    if not matches:
        return train, test, sample
    detected.add("id", f"`{key}` in {sample.name} is `{matches[0]}` in {test.name}", "likely")
    return train.with_name(matches[0], key), test.with_name(matches[0], key), sample


class _Tables:
    """The tables at the top level of a folder, read when needed."""

    def __init__(self, files: Mapping[str, Path], options: SolveOptions) -> None:
        self._files = files
        self._options = options
        self._read: dict[str, UserTable] = {}
        self.names = [name for name in files if "/" not in name and is_table(name)]
        texts = [name for name in files if "/" not in name and is_table(name, TEXT_SUFFIXES)]
        # Beside tables a text file is a README; alone it may be a table of several columns.
        named_by_role = [name for name in texts if _tokens(name) & (_TRAIN | _TEST)]
        self.names += named_by_role if self.names else [name for name in texts if len(self.header(name)) > 1]

    def read(self, name: str, *, like: UserTable | None = None, is_whole: bool = False) -> UserTable:
        """Return a table by its path, within the data or elsewhere; raises UsageError.

        A table read `like` another one has its formats and, as with `is_whole`, all its rows, however long that takes.
        """
        path = self._files.get(name, Path(name))
        if not path.is_file():
            raise UsageError(f"no such file: {name}")
        is_whole |= like is not None
        if name not in self._read or like is not None or (is_whole and self._read[name].is_part):
            header, formats = self._options.header, None if like is None else like.formats
            seconds = math.inf if is_whole else _READING_SHARE * self._options.seconds
            try:
                self._read[name] = UserTable.read(path, has_header=header, formats=formats, max_seconds=seconds)
            except TableError as error:
                raise UsageError(str(error)) from error
        return self._read[name]

    def header(self, name: str) -> tuple[str, ...]:
        """Return a table's column names; empty if it cannot be read, as only tables in use must be readable."""
        try:
            return self.read(name).header
        except UsageError:
            return ()


def _tokens(name: str) -> set[str]:
    """Return the words of a file's name without its suffixes: train, data and v for `trainData_v2.csv`."""
    stem = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", Path(name).name.split(".")[0])
    return set(re.findall(r"[a-z]+", stem.lower()))


def _samples(tables: _Tables, options: SolveOptions) -> list[str]:
    """Return the tables that are named like a sample submission, and not used as training or test rows."""
    roles = (options.train, options.test)
    candidates = [name for name in tables.names if name not in roles and not _tokens(name) & _TRAIN]
    as_csv = {name if name.endswith(".csv") else f"{Path(name).stem}.csv": name for name in candidates}
    return [as_csv[name] for name in find_samples(tuple(as_csv)) if len(tables.header(as_csv[name])) > 1]


def _by_contents(tables: _Tables, names: Sequence[str], tests: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the training and the test table if exactly one table has all columns of another, and more."""
    if len(names) > _MAX_TABLES:
        return [], list(tests)
    headers = {name: set(tables.header(name)) for name in names}
    pairs = [(a, b) for a, b in product(names, tests or names) if len(headers[b]) >= 2 and headers[b] < headers[a]]
    return ([pairs[0][0]], [pairs[0][1]]) if len(pairs) == 1 else ([], list(tests))


def _training_table(
    tables: _Tables, names: Sequence[str], collected: CollectedFiles, options: SolveOptions, detected: DetectedTask
) -> tuple[UserTable, list[str]]:
    """Return the training table and its files: one, or features and labels, which are joined."""
    if len(names) == 2:
        tests = [name for name in tables.names if _tokens(name) & _TEST and not _tokens(name) & _LABELS]
        known_features = {column for name in tests if name not in names for column in tables.header(name)}
        for features, labels in (names, names[::-1]):
            if _tokens(features) & _LABELS and not _tokens(labels) & _LABELS:
                continue
            out = collected.scratch / "train.csv"
            feature_table, label_table = (tables.read(name, is_whole=True) for name in (features, labels))
            joined = _join(feature_table, label_table, known_features, out, detected)
            if joined is not None:
                return joined, [features, labels]
    sizes = {name: collected.files[name].stat().st_size if name in collected.files else 0 for name in names}
    largest_first = sorted(names, key=lambda name: -sizes[name])
    name = options.choose("training", "train", largest_first, collected.source)
    return tables.read(name), [name]


def _join(
    features: UserTable, labels: UserTable, known_features: Set[str], out: Path, detected: DetectedTask
) -> UserTable | None:
    """Write each row of features with its labels; None: rows cannot be matched.

    Rows are matched by shared columns; without these, tables of equal length are joined in order (`X_train.csv`,
    `y_train.csv`). `known_features` are the columns of test tables, which cannot be labels.
    """
    index_columns = [name for name in labels.header if name.startswith("Unnamed: ")]
    key = [name for name in features.header if name in labels.header and name not in index_columns]
    added = [name for name in labels.header if name not in key and name not in index_columns]
    if not added or len(key) == len(features.header) or not known_features.isdisjoint(added):
        return None
    if not key and (features.length != labels.length or not _tokens(labels.name) & _LABELS):
        return None
    by_key: dict[tuple[str, ...], list[str]] = {}
    for row_key, cells in zip(_row_keys(labels, key), labels.columns(added), strict=True):
        if row_key in by_key:
            return None
        by_key[row_key] = cells
    keys = _row_keys(features, key)
    labelled_count = sum(row_key in by_key for row_key in keys)
    if len(set(keys)) < len(keys) or labelled_count < max(len(keys), len(by_key)) / 2:
        return None
    no_labels = [""] * len(added)
    rows = ([*cells, *by_key.get(row_key, no_labels)] for row_key, cells in zip(keys, features.rows(), strict=True))
    write_table(out, [*features.header, *added], rows)
    join_words = f"by {', '.join(key)}" if key else "row by row"
    lost = f"; {plural(len(keys) - labelled_count, 'row')} without a label" if labelled_count < len(keys) else ""
    detected.add("joined", f"{features.name} and {labels.name} {join_words}{lost}", "likely")
    return UserTable.read(out, has_header=True)


def _row_keys(table: UserTable, key: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what identifies each row: its key, or else its number."""
    return [tuple(cells) for cells in table.columns(key)] if key else [(str(row),) for row in range(table.length)]


@contextmanager
def collect_files(source: Path, out: Path) -> Iterator[CollectedFiles]:
    """Yield a folder's files, or the one named file; unpacked files are deleted at the end.

    Files in `out`, where runs are written, are left out.

    Raises:
        UsageError: there is no such file, an archive is damaged, unsafe or too large, or a file cannot be converted.
        OSError: a file cannot be read, or not be written.
    """
    if not source.exists():
        raise UsageError(f"no such file or folder: {source}")
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=out) as place:
        unpacked_folder, scratch = Path(place) / "unpacked", Path(place) / "made"
        unpacked_folder.mkdir()
        scratch.mkdir()
        root = source
        if source.is_file() and _is_packed(source):
            _unpack(source, folder := Path(tempfile.mkdtemp(dir=unpacked_folder)))
            root = _innermost(folder)
        path_of = {root.name: root} if root.is_file() else {p.as_posix(): root / p for p in _files(root, out)}
        expanded = [name for name, path in path_of.items() if "/" not in name and _is_expanded(path)]
        files = {name: path for name, path in path_of.items() if name not in expanded}
        for name in expanded:
            for inner, path in _expanded(path_of[name], unpacked_folder, depth=1):
                files.setdefault(inner, path)
        yield CollectedFiles(source, dict(sorted(files.items())), root, scratch)


def _is_expanded(path: Path) -> bool:
    return _is_packed(path) or path.suffix.lower() in _CONVERTED


def _is_packed(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith((".zip", ".7z", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"))


def _expanded(path: Path, scratch: Path, *, depth: int) -> Iterator[tuple[str, Path]]:
    """Yield the contents of a packed or converted file, by path."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    if not _is_packed(path):
        for table in _as_csv(path, folder):
            yield table.name, table
        return
    _unpack(path, folder)
    inner = _innermost(folder)
    for member in walk(inner):
        name = member.relative_to(inner).as_posix()
        if any(part.startswith((".", "__")) for part in Path(name).parts):
            continue
        if "/" not in name and depth < _MAX_DEPTH and _is_expanded(member):
            yield from _expanded(member, scratch, depth=depth + 1)
        else:
            yield name, member


def _unpack(path: Path, folder: Path) -> None:
    try:
        if path.suffix.lower() == ".zip":
            ZipExtractor(path.name, path, folder).run()
        elif path.suffix.lower() == ".7z":
            _unpack_7z(path, folder)
        else:
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
    except (DownloadFailed, NoRoom) as error:
        raise UsageError(str(error)) from error
    except (tarfile.TarError, EOFError) as error:
        raise UsageError(f"{path.name} cannot be unpacked: {error}") from error


def _unpack_7z(path: Path, folder: Path) -> None:
    import py7zr  # only where there is a 7z: it loads ten libraries

    try:
        with py7zr.SevenZipFile(path) as archive:
            size = sum(member.uncompressed for member in archive.list())
            if size > shutil.disk_usage(folder).free // 2:
                raise UsageError(f"{path.name} unpacks to {size:,} bytes, more than half of the free disk space")
            archive.extractall(folder)  # noqa: S202 (py7zr refuses members that leave the folder)
    except py7zr.exceptions.ArchiveError as error:
        raise UsageError(f"{path.name} cannot be unpacked: {error}") from error


def _as_csv(path: Path, folder: Path) -> Iterator[Path]:
    """Write a workbook's sheets, Parquet or JSON as CSV; JSON that is not a table is yielded unchanged."""
    suffix = path.suffix.lower()
    try:
        if suffix in _WORKBOOKS:
            yield from _sheets(path, folder)
        elif suffix in (".parquet", ".pq"):
            from fastparquet import ParquetFile  # type: ignore[import-untyped]  # it takes a third of a second

            out = folder / f"{path.stem}.csv"
            with path.open("rb") as file:
                ParquetFile(file).to_pandas().to_csv(out, index=False)
            yield out
        else:
            records = _json_records(path)
            yield path if records is None else _write_records(folder / f"{path.stem}.csv", records)
    except (ValueError, TypeError, OSError, KeyError, RecursionError) as error:
        raise UsageError(f"{path.name} cannot be read as a table: {str(error)[:200]}") from error


def _sheets(path: Path, folder: Path) -> Iterator[Path]:
    from bs4 import BeautifulSoup
    from python_calamine import CalamineError, CalamineWorkbook

    if not (content := path.read_bytes()).startswith((b"PK", b"\xd0\xcf")):  # text, as web pages export tables
        out = folder / f"{path.stem}.csv"
        if b"<" in content[:2000]:
            tags = BeautifulSoup(content, "html.parser").find_all("tr")
            header, *lines = ([cell.get_text(" ", strip=True) for cell in tag.find_all(["th", "td"])] for tag in tags)
            write_table(out, header, lines)
        else:
            out.write_bytes(content)
        yield out
        return
    try:
        book = CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except CalamineError as error:
        raise UsageError(f"{path.name} cannot be read as a workbook: {error}") from error
    not_empty = {name: rows for name, rows in sheets.items() if rows}
    for name, rows in not_empty.items():
        stem = path.stem if len(not_empty) == 1 else re.sub(r"[^\w.-]+", "_", name)
        out = folder / f"{stem}.csv"
        write_table(out, [_cell(value) for value in rows[0]], ([_cell(value) for value in row] for row in rows[1:]))
        yield out


def _cell(value: object) -> str:
    """Return a workbook's value as text: whole numbers without a point, times in ISO 8601."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def _json_records(path: Path) -> list[dict[str, Any]] | None:
    """Return the objects of a JSON array, of JSON lines, or of a table by columns; None: it is something else."""
    text = path.read_text(encoding="utf-8-sig")
    content: Any = None
    with suppress(ValueError):
        content = json.loads(text)
    if content is None:
        content = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, dict):
        content = _records_of(content)
    is_table_of = isinstance(content, list) and content and all(isinstance(record, dict) for record in content)
    return [_flat(record) for record in content] if is_table_of else None


def _records_of(content: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records of an object: a list within it, as in API responses; or columns, as pandas writes them."""
    if {"columns", "data"} <= content.keys() <= {"columns", "data", "index"}:
        return [dict(zip(content["columns"], row, strict=True)) for row in content["data"]]
    lists = [value for value in content.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(lists) == 1:
        return lists[0]
    columns = list(content.values())
    if columns and all(isinstance(column, dict) for column in columns):
        is_alike = all(column.keys() == columns[0].keys() for column in columns)
        columns = [list(column.values()) for column in columns] if is_alike else []
    if not columns or not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        return None
    return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the values of nested objects under names such as `profile.age`."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inner = _flat(value) if isinstance(value, dict) else {}
        flat |= {f"{name}.{key}": cell for key, cell in inner.items()} or {name: value}
    return flat


def _write_records(out: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    names = list(dict.fromkeys(name for record in records for name in record))
    values = ([record.get(name) for name in names] for record in records)
    write_table(
        out, names, ([json.dumps(v, ensure_ascii=False) if isinstance(v, list) else v for v in r] for r in values)
    )
    return out


def _files(source: Path, out: Path) -> Iterator[Path]:
    """Yield files below a folder, except hidden ones, code, and the output of runs."""
    runs, within = out.resolve(), source.resolve().is_relative_to(out.resolve())
    for path in walk(source):
        relative = path.relative_to(source)
        hidden = any(part.startswith((".", "__")) for part in relative.parts)
        is_output = not within and runs in path.resolve().parents
        if not hidden and not is_output and path.suffix.lower() not in _CODE and path.is_file():
            yield relative


def refuse_formats(collected: CollectedFiles) -> None:
    """Raise UsageError if a folder without tables has tables in a subfolder, or files of an unsupported format."""
    for name, path in collected.files.items():
        if path.suffix.lower() in _UNREADABLE and "/" not in name:
            raise UsageError(f"{name} has an unsupported format: save it as CSV, Excel or Parquet")
        if is_table(name):
            raise UsageError(f"{name} is a table in a subfolder: pass {collected.source / Path(name).parent}")


def _innermost(folder: Path) -> Path:
    """Return the outermost folder that holds more than one folder, as archives often hold a single one."""
    while len(items := [path for path in folder.iterdir() if path.name[0] not in "._"]) == 1 and items[0].is_dir():
        folder = items[0]
    return folder
