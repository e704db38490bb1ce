"""Tables of images, texts or other files in one folder per class: one row per file."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bot.solve.input_files import InputFiles
from bot.solve.solve_options import DetectedTask
from bot.solve.tables.user_table import UserTable
from scrapers.snapshots.linking import link_or_copy
from scrapers.snapshots.tables import is_table, write_table
from state.errors import UsageError
from state.words import plural

ID, LABEL, TEXT = "id", "label", "text"
_TEXTS = frozenset((".txt", ".md"))
_TRAIN, _TEST = frozenset(("train", "training")), frozenset(("test", "testing"))
_DIGITS = 16
"""Hexadecimal digits of a file's new name: its own might name the class."""


def index_folders(source: Path, staging: Path, detected: DetectedTask) -> InputFiles | None:
    """Write tables of the files in a folder's subfolders, and give each training file a name that does not reveal its class.

    The source holds a folder for each class, or `train/` with these, and perhaps `test/` with files to predict; the tables are
    None if there are fewer than two class folders. The tables are written to the empty folder `staging`. Texts become a column
    of the tables; other files are put beside them, in `train/` and `test/`.

    Raises:
        UsageError: a text is not UTF-8.
        OSError: a file cannot be read, or not be written.
    """
    classes, test = _folders(source)
    if len(classes) < 2:
        return None
    names = [folder.name for folder in classes]
    labelled = [(path, folder.name) for folder in classes for path in _plain_files(folder)]
    tested = [] if test is None else list(_plain_files(test))
    suffix = Counter(path.suffix.lower() for path, _ in labelled).most_common(1)[0][0]
    if is_table(suffix):
        return None
    train = [(path, label) for path, label in labelled if path.suffix.lower() == suffix or suffix not in _TEXTS]
    file_names = _write(staging, train, tested, as_texts=suffix in _TEXTS)
    names_shown = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
    detected.add("classes", f"the folders {names_shown} with `{suffix}` files")
    detected.add("training rows", f"{plural(len(train), 'file')} in {plural(len(names), 'folder')}")
    if test is not None and tested:
        detected.add("test rows", f"{plural(len(tested), 'file')} in {test.name}/")
    of_test = UserTable.read(staging / "test.csv", has_header=True) if tested else None
    other_files = {path.as_posix(): staging / path for path in file_names}
    return InputFiles(UserTable.read(staging / "train.csv", has_header=True), of_test, None, other_files, "")


def _folders(source: Path) -> tuple[list[Path], Path | None]:
    dirs = {path.name.lower(): path for path in sorted(source.iterdir()) if path.is_dir() and path.name[0] not in "._"}
    train = next((dirs[name] for name in dirs if name in _TRAIN), None)
    test = next((dirs[name] for name in dirs if name in _TEST), None)
    root = train or source
    folders = [path for path in sorted(root.iterdir()) if path.is_dir() and path != test and path.name[0] not in "._"]
    return [path for path in folders if any(_plain_files(path))], test


def _plain_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))


def _write(staging: Path, train: Sequence[tuple[Path, str]], test: Sequence[Path], *, as_texts: bool) -> list[Path]:
    """Write the tables; return the files beside them, relative to the staging folder."""
    repeats, rows = Counter[str](), list[tuple[str, str | None, Path]]()
    for name, label, path in sorted((_neutral_name(path), label, path) for path, label in train):
        repeats[name] += 1
        stem = name if repeats[name] == 1 else f"{name}_{repeats[name]}"
        rows.append((f"{stem}{path.suffix.lower()}", label, path))
    file_names = _table(staging / "train.csv", rows, as_texts=as_texts)
    if test:
        file_names += _table(staging / "test.csv", [(path.name, None, path) for path in test], as_texts=as_texts)
    return file_names


def _table(out: Path, rows: Sequence[tuple[str, str | None, Path]], *, as_texts: bool) -> list[Path]:
    labelled = rows[0][1] is not None
    header = [ID, *([TEXT] if as_texts else []), *([LABEL] if labelled else [])]
    cells = ([name, *([_text(path)] if as_texts else []), *([label] if labelled else [])] for name, label, path in rows)
    write_table(out, header, cells)
    if as_texts:
        return []
    path_of = {Path(out.stem) / name: path for name, _, path in rows}
    for relative, path in path_of.items():
        link_or_copy(path, out.parent / relative)
    return list(path_of)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path.name} is not UTF-8 ({error.reason}): save it as UTF-8") from error


def _neutral_name(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]
