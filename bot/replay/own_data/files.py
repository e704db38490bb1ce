"""Which files of a folder are the training rows, the test rows and the sample submission."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.replay.own_data.asked import Asked, Found
from bot.replay.own_data.table import WINDOWS, OwnTable
from scrapers.kaggle.samples import find_samples
from scrapers.snapshots.files import walk
from scrapers.snapshots.tables import is_table
from scrapers.snapshots.unpacking import Unpacking
from state.errors import DownloadFailed, NoRoom, UsageError
from state.words import plural

_OTHER_FORMATS = frozenset(
    (".parquet", ".xlsx", ".xls", ".feather", ".json", ".jsonl", ".h5", ".pkl", ".arff", ".sas7bdat")
)
_NOT_DATA = frozenset((".ipynb", ".py", ".r", ".html", ".pdf"))
DESCRIPTION = "description.md"


@dataclass(frozen=True)
class Sources:
    """The tables of a person's data, and the files beside them."""

    root: Path
    train: OwnTable
    test: OwnTable | None
    sample: OwnTable | None
    others: tuple[Path, ...]
    """Relative to `root`."""
    description: str
    """The person's own words on the data; empty: there are none."""


def locate(source: Path, asked: Asked, out: Path, found: Found) -> Sources | None:
    """Find the tables of a folder, or take a file as the only one; None where a folder has no table.

    What is in `out`, where runs are written, is not read.

    Raises:
        UsageError: there is no such file, it is unclear which table is which, or one cannot be read.
    """
    if source.is_file():
        return _sources(source.parent, source.name, asked.test, None, (), found)
    if not source.is_dir():
        raise UsageError(f"there is no folder or file {source}")
    files = list(_files(source, out))
    tables = [path.as_posix() for path in files if is_table(path.name) and len(path.parts) == 1]
    if not tables and asked.train is None:
        return None
    samples = [name for name in find_samples(tables) if "train" not in name.lower()]
    if len(samples) > 1:
        raise UsageError(f"any of {', '.join(samples)} may be the sample submission: leave one of them in {source}")
    rest = [name for name in tables if name not in samples]
    train = asked.train or _named("train", rest, "training")
    if train is None:
        if len(rest) != 1:
            listed = ", ".join(rest) or "none"
            raise UsageError(
                f"no table of {source} is called train: name the one of the training rows with --train ({listed})"
            )
        train = rest[0]
    test = asked.test or _named("test", [name for name in rest if name != train], "test")
    sample = samples[0] if samples else None
    others = tuple(path for path in files if path.as_posix() not in (train, test, sample, DESCRIPTION))
    return _sources(source, train, test, sample, others, found)


def _sources(
    root: Path, train: str, test: str | None, sample: str | None, others: tuple[Path, ...], found: Found
) -> Sources:
    opened = _open(root, train)
    of_test, of_sample = (None if name is None else _open(root, name) for name in (test, sample))
    if of_test is not None and of_test.delimiter != ",":
        of_test = of_test.with_decimals(opened.decimals)
    found.add("training rows", f"{opened.name}, {plural(opened.length, 'row')}, {plural(len(opened.header), 'column')}")
    if of_test is not None:
        found.add("test rows", f"{of_test.name}, {plural(of_test.length, 'row')}")
    if of_sample is not None:
        found.add("sample", of_sample.name)
    if windows := [one.name for one in (opened, of_test, of_sample) if one is not None and one.encoding == WINDOWS]:
        found.add("encoding", f"not UTF-8, so read as that of Windows, cp1252: {', '.join(windows)}")
    if opened.decimals:
        found.add("numbers", f"decimal commas are read as points in: {', '.join(opened.decimals)}")
    if others:
        shown = ", ".join(path.as_posix() for path in others[:3]) + (", ..." if len(others) > 3 else "")
        found.add("other files", f"{len(others):,}, which scripts may read too: {shown}")
    words = root / DESCRIPTION
    text = words.read_text(encoding="utf-8", errors="replace") if words.is_file() and len(others) < 10**6 else ""
    return Sources(root, opened, of_test, of_sample, others, text)


def _open(root: Path, name: str) -> OwnTable:
    path = root / name
    if not path.is_file():
        path = Path(name)
    if not path.is_file():
        raise UsageError(f"there is no file {name}")
    return OwnTable.read(path)


def _named(word: str, tables: Sequence[str], rows: str) -> str | None:
    """Return the table of that name; raises UsageError if several have the word in theirs and none is called so."""
    plain = [name for name in tables if name.lower().split(".")[0] == word]
    likely = plain or [name for name in tables if word in name.lower()]
    if len(likely) > 1:
        raise UsageError(f"any of {', '.join(likely)} may be the {rows} rows: name the table with --{word}")
    return likely[0] if likely else None


def _files(source: Path, out: Path) -> Iterator[Path]:
    """Yield files below a folder, without hidden ones, code, and what runs have written."""
    runs, within = out.resolve(), source.resolve().is_relative_to(out.resolve())
    for path in walk(source):
        relative = path.relative_to(source)
        hidden = any(part.startswith((".", "__")) for part in relative.parts)
        written = not within and runs in path.resolve().parents
        if not hidden and not written and path.suffix.lower() not in _NOT_DATA and path.is_file():
            yield relative


def refuse_formats(source: Path, out: Path) -> None:
    """Raise UsageError if a folder without tables has such in a folder, or files of a format that is not read."""
    for path in _files(source, out):
        if path.suffix.lower() in _OTHER_FORMATS and len(path.parts) == 1:
            raise UsageError(f"{path.name} is no CSV or TSV, which is all that is read: save it as CSV")
        if is_table(path.name):
            raise UsageError(f"{path} is a table in a folder: name {source / path.parent}")
        if path.suffix.lower() == ".zip":
            raise UsageError(f"{path.name} is packed: unpack it, or name the zip itself")


@contextmanager
def as_folder(source: Path, out: Path) -> Iterator[Path]:
    """Yield the source, or if it is a zip, a folder with its files, which is removed in the end.

    Raises:
        UsageError: the zip is damaged, unsafe or too large.
        OSError: it cannot be read, or its files not be written.
    """
    if not (source.is_file() and source.suffix.lower() == ".zip"):
        yield source
        return
    with tempfile.TemporaryDirectory(prefix=".unpacked-", dir=out) as place:
        try:
            Unpacking(source.name, source, Path(place)).run()
        except (DownloadFailed, NoRoom) as error:
            raise UsageError(str(error)) from error
        yield _inner(Path(place))


def _inner(folder: Path) -> Path:
    """Return the folder in which there is more than another folder: zips often hold one alone."""
    while len(inside := [path for path in folder.iterdir() if path.name[0] not in "._"]) == 1 and inside[0].is_dir():
        folder = inside[0]
    return folder
