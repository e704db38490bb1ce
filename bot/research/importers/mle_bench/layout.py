"""The files that a snapshot takes from a prepared competition: data that leak no answers, the answers, the grader."""

import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from bot.research.importers.mle_bench.columns import SubmissionColumns
from bot.research.importers.mle_bench.prepared_files import GRADE, REMEDY, PreparedFiles, is_pointer
from bot.research.importers.mle_bench.tables import table_rows, written_table
from scrapers.snapshots.answers import ANSWERS, SAMPLE, Answers, Value, value
from scrapers.snapshots.archives import check_archive, is_archive
from scrapers.snapshots.files import DATA, walk
from scrapers.snapshots.leaks import check_for_answers
from scrapers.snapshots.linking import link_or_copy
from scrapers.snapshots.manifest import DESCRIPTION
from scrapers.snapshots.problems import Problems
from state.errors import Problem, SnapshotError
from state.files import sha256_of

_TOLD_EACH = 1_000


def put_sample(files: PreparedFiles, sample: Path, folder: Path) -> None:
    """Put the sample submission into `data/`; from `private/` and from archives it alone is copied."""
    target = folder / SAMPLE
    target.parent.mkdir(parents=True, exist_ok=True)
    if sample == files.sample and not files.sample_is_private:
        link_or_copy(sample.resolve(), target)
    else:
        shutil.copyfile(sample, target)


def lay_out(files: PreparedFiles, folder: Path, answers: Answers, progress: Callable[[int], None]) -> list[str]:
    """Bring the files of `public/` into `data/` under their own names, and return those that are left out.

    The sample submission is there already, and `description.md` has a place of its own; neither is brought.

    Raises:
        SnapshotError: files are pointers of Git LFS, or the sample submission itself is the answers.
        OSError: a file cannot be read or written.
    """
    omitted: list[str] = []
    pointers = Problems()
    forbidden = _Forbidden(files, folder / ANSWERS, answers)
    if reason := forbidden.reason(folder / SAMPLE, SAMPLE):
        raise SnapshotError([Problem(files.sample.name, None, f"cannot be the sample submission because it {reason}")])
    for number, (source, name) in enumerate(_files(files, omitted), start=1):
        if number % _TOLD_EACH == 0:
            progress(number)
        if is_pointer(source):
            pointers.add(f"public/{name}", REMEDY, kind="pointers")
        elif f"{DATA}/{name}" == SAMPLE:
            omitted.append(f"{name} is not the graded sample submission ({files.sample.name})")
        elif reason := forbidden.reason(source, name):
            omitted.append(f"{name} {reason}")
        else:
            link_or_copy(source, folder / DATA / name)
    if pointers.problems:
        raise SnapshotError(pointers.problems)
    return omitted


def _files(files: PreparedFiles, omitted: list[str]) -> Iterator[tuple[Path, str]]:
    """Yield each plain file of `public/`, links followed, and its name there."""
    own_files = (files.sample, files.public / DESCRIPTION)
    private = files.private.resolve()
    for path in walk(files.public):
        name = path.relative_to(files.public).as_posix()
        if path in own_files:
            continue
        source = path.resolve() if path.is_symlink() else path
        if not source.exists():
            omitted.append(f"{name} is a broken link")
        elif path.is_symlink() and source.is_relative_to(private):
            omitted.append(f"{name} is a link into private/")
        elif source.is_dir():
            omitted.append(f"{name} is a link to a folder")
        elif not stat.S_ISREG(source.stat().st_mode):
            omitted.append(f"{name} is not a regular file")
        else:
            yield source, name


class _Forbidden:
    """What no file of `data/` may be: the answers, a perfect submission, or a table with their columns."""

    def __init__(self, files: PreparedFiles, answers_file: Path, answers: Answers) -> None:
        self._answers_file, self._answers = answers_file, answers
        secret = [path for path in (files.answers, files.gold) if path is not None]
        self._sizes = {path.stat().st_size for path in secret}
        self._secret = {(path.stat().st_size, sha256_of(path)): path.name for path in secret}

    def reason(self, path: Path, name: str) -> str | None:
        """Return why a file must not be in `data/`, or cannot be shown to be harmless; None if it may."""
        size = path.stat().st_size
        if size in self._sizes and (secret := self._secret.get((size, sha256_of(path)))):
            return f"is a copy of private/{secret}"
        problems = Problems()
        if not is_archive(path) or check_archive(path, name, problems):
            check_for_answers(path, name, self._answers_file, self._answers, problems)
        return "; ".join(problem.message for problem in problems.problems[:3]) or None


def write_answers(columns: SubmissionColumns, sample: Path, target: Path) -> int:
    """Write the true values in the source's order, and return the number of rows.

    Cells are written as they are read, ids as the sample spells them. Raises SnapshotError for a row with more or fewer
    cells than the header.
    """
    spelled = _spellings(columns, sample) if columns.respelled else None
    with table_rows(columns.source) as rows, written_table(target) as writer:
        header = next(rows, (0, []))[1]
        names = (*columns.rows, *columns.labels)
        places = [header.index(name) for name in names]
        writer.write(names)
        count = 0
        for line, cells in rows:
            if len(cells) != len(header):
                reason = f"the row has {len(cells)} cells, but the header has {len(header)}"
                raise SnapshotError([Problem(columns.source.name, line, reason)])
            values = [cells[place] for place in places]
            if spelled is not None:
                width = len(columns.rows)
                values[:width] = spelled[tuple(map(value, values[:width]))]
            writer.write(values)
            count += 1
    return count


def _spellings(columns: SubmissionColumns, sample: Path) -> dict[tuple[Value, ...], list[str]]:
    with table_rows(sample) as rows:
        header = next(rows)[1]
        places = [header.index(name) for name in columns.rows]
        sample_keys = ([cells[place] for place in places] for _, cells in rows if len(cells) > max(places))
        return {tuple(map(value, key)): key for key in sample_keys}


_PREPARER = "prepare.py"


def keep_grader(files: PreparedFiles, private: Path) -> dict[str, str]:
    """Copy `grade.py`, the Python modules beside it, and the whole answers into `private/`.

    Graders import from the modules beside them (`from .classes import CLASSES`), and take columns and kinds of files that
    `answers.csv` does not hold. Return the metric's parameter `answers`, the name of the whole answers in `private/`.
    Raises SnapshotError if a module is a pointer of Git LFS.
    """
    for module in sorted(files.grader.parent.glob("*.py")):
        if module.name == _PREPARER or not module.is_file():
            continue
        if is_pointer(module):
            raise SnapshotError([Problem(module.name, None, REMEDY)])
        shutil.copyfile(module, private / module.name)
    used_names = {Path(ANSWERS).name, GRADE}
    name = files.answers.name
    if name in used_names:
        name = f"whole_{name}"
    shutil.copyfile(files.answers, private / name)
    return {"answers": name}
