"""That no file of `data/` gives the answers away."""

import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from scrapers.answers import ANSWERS, Answers, Value, value
from scrapers.archives import BROKEN, is_archive
from scrapers.csv_files import NotCsv, Rows, is_table, open_member, open_table
from scrapers.found import Found
from scrapers.hashes import sha256_of
from scrapers.inside import DATA, walk
from scrapers.row_keys import Repeats, row_key

_ANSWERS_NAME = PurePosixPath(ANSWERS).name


def check_leaks(root: Path, answers: Answers, found: Found, damaged: frozenset[str]) -> None:
    """Look into every table of `data/`, also inside zip archives, for the answers.

    Args:
        root: the snapshot's folder.
        answers: what must not be found.
        found: receives each file that holds them.
        damaged: relative names of archives that cannot be read; they are left out.
    """
    with found.reading(DATA):
        for path in walk(root / DATA):
            name = path.relative_to(root).as_posix()
            if path.is_file() and name not in damaged:
                check_for_answers(path, name, root / ANSWERS, answers, found)


def check_for_answers(path: Path, name: str, answers_file: Path, answers: Answers, found: Found) -> None:
    """Look into one file for the answers: by its name, its bytes, and the columns of the tables in it.

    Args:
        path: the file.
        name: how problems call it.
        answers_file: whose bytes it must not have.
        answers: what it must not hold.
        found: receives what is wrong.

    Raises:
        OSError: it cannot be read.
    """
    if path.name.lower() == _ANSWERS_NAME:
        found.add(name, "has the name of the answers; agents may read data/", kind="answers by name")
    elif _same_bytes(path, answers_file):
        found.add(name, "is a copy of the answers", kind="answers by content")
    elif is_archive(path):
        _check_archive(path, name, answers, found)
    elif is_table(path.name):
        _check_file(path, name, answers, found)


def _same_bytes(path: Path, answers: Path) -> bool:
    return path.stat().st_size == answers.stat().st_size and sha256_of(path) == sha256_of(answers)


def _check_file(path: Path, name: str, answers: Answers, found: Found) -> None:
    if path.stat().st_size == 0:
        found.add(name, "is empty")
        return
    try:
        with open_table(path) as rows:
            _report(given_away(rows, answers), name, "", found)
    except NotCsv as error:
        found.add(name, str(error), error.line)
    except BROKEN as error:  # a damaged .gz
        found.add(name, f"cannot be read to its end: {error}")


def _check_archive(path: Path, name: str, answers: Answers, found: Found) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                place = f"its member {member.filename[:200]!r} "
                if PurePosixPath(member.filename.lower()).name == _ANSWERS_NAME:
                    found.add(name, f"{place}has the name of the answers; agents may read data/")
                elif is_table(member.filename) and not member.filename.lower().endswith(".gz"):
                    with open_member(archive, member) as rows:
                        _report(given_away(rows, answers), name, place, found)
    except NotCsv as error:
        found.add(name, f"a table in it {error}", error.line)
    except BROKEN as error:
        found.add(name, f"cannot be read to its end: {error}")


def _report(columns: list[str], name: str, place: str, found: Found) -> None:
    if columns:
        shown = ", ".join(repr(column) for column in columns[:5])
        message = f"{place}gives the answers away: {shown} is that of {ANSWERS} on all shared ids"
        found.add(name, message, kind="answers by content")


def given_away(rows: Rows, answers: Answers) -> list[str]:
    """Return the columns of a table that hold the answers.

    A prediction column does if it equals that of the answers on all shared ids and is not constant there; any column
    does if it names, on all shared ids, the prediction column whose answer is 1 and all others 0. Where most ids repeat, the
    first row of one is that of its first answer; else those that repeat say nothing. Reading ends as soon as no column can
    any more.

    Raises:
        NotCsv: the table cannot be tokenised.
    """
    header = next(rows, (0, []))[1]
    if not set(answers.rows) <= set(header):
        return []
    places = [header.index(column) for column in answers.rows]
    suspects, repeats = list(_suspects(header, answers)), Repeats()
    for _, cells in rows:
        if not suspects:
            return []
        key = row_key([cells[place] for place in places]) if max(places) < len(cells) else None
        if key in answers.values and answers.numbered:
            key = repeats.numbered(key)
        truth = answers.values.get(key) if key is not None else None
        if truth is not None:
            suspects = [suspect for suspect in suspects if suspect.agrees(cells, truth, answers.columns)]
    return sorted({suspect.column for suspect in suspects if len(suspect.seen) > 1})


class _Suspect:
    """A column that has held the answers so far."""

    def __init__(self, column: str, place: int, target: int | None) -> None:
        self.column = column
        self.place = place
        self.target = target
        """Index of the prediction column that it may equal; None: it may name the one that is 1."""
        self.seen: set[Value] = set()
        """At most two different answers: one is a constant."""

    def agrees(self, cells: list[str], truth: tuple[Value, ...], columns: tuple[str, ...]) -> bool:
        """Whether the column holds this row's answer as well."""
        expected: Value | None = _named(truth, columns) if self.target is None else truth[self.target]
        if expected is None or self.place >= len(cells) or value(cells[self.place]) != expected:
            return False
        if len(self.seen) < 2:
            self.seen.add(expected)
        return True


def _suspects(header: list[str], answers: Answers) -> Iterator[_Suspect]:
    targets = {column: index for index, column in enumerate(answers.columns)}
    for place, column in enumerate(header):
        if column in targets:
            yield _Suspect(column, place, targets[column])
        elif column not in answers.rows and len(targets) > 1:
            yield _Suspect(column, place, None)


def _named(truth: tuple[Value, ...], columns: tuple[str, ...]) -> Value | None:
    """Return the name of the one column that is 1 where all others are 0, as `value` reads it; else None."""
    if truth.count(1.0) == 1 and truth.count(0.0) == len(truth) - 1:
        return value(columns[truth.index(1.0)])
    return None
