"""`prepared/public` as a snapshot's `data/`: linked or copied file by file, without any that gives the answers away."""

import errno
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapers.imports.mle_bench.pointers import REMEDY, is_pointer
from scrapers.imports.mle_bench.prepared import Prepared
from scrapers.snapshots.answers import ANSWERS, SAMPLE, Answers
from scrapers.snapshots.archives import check_archive, is_archive
from scrapers.snapshots.found import Found
from scrapers.snapshots.hashes import sha256_of
from scrapers.snapshots.inside import DATA, walk
from scrapers.snapshots.leaks import check_for_answers
from scrapers.snapshots.manifest import DESCRIPTION
from state.errors import Problem, SnapshotError

_NO_LINK = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
"""Another file system, one without hard links, or a kernel that protects the files of others."""
_TOLD_EACH = 1_000


@dataclass(frozen=True)
class LeftOut:
    """A file of `public/` that is not in `data/`, and why."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name} {self.why}"


def take(source: Path, target: Path) -> None:
    """Give `target` the content of `source`: as a second name of the same file where that is possible, else a copy.

    Raises:
        OSError: the source cannot be read or the target not be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copyfile(source, target)


def put_sample(prepared: Prepared, sample: Path, folder: Path) -> None:
    """Put the sample submission into `data/`; from `private/` and from archives it is copied, and nothing beside it."""
    target = folder / SAMPLE
    target.parent.mkdir(parents=True, exist_ok=True)
    if sample == prepared.sample and not prepared.sample_is_private:
        take(sample.resolve(), target)
    else:
        shutil.copyfile(sample, target)


def lay_out(prepared: Prepared, folder: Path, answers: Answers, told: Callable[[int], None]) -> list[LeftOut]:
    """Bring the files of `public/` into `data/` under their own names, and return those that stay out.

    The sample submission is there already, and `description.md` has a place of its own; neither is brought.

    Args:
        prepared: the competition's files.
        folder: the snapshot, with its answers and sample submission.
        answers: what no file may hold.
        told: receives the number of files so far, now and then.

    Raises:
        SnapshotError: files are pointers of Git LFS, or the sample submission itself is the answers.
        OSError: a file cannot be read or written.
    """
    left: list[LeftOut] = []
    pointers = Found()
    forbidden = _Forbidden(prepared, folder / ANSWERS, answers)
    if why := forbidden.reason(folder / SAMPLE, SAMPLE):
        raise SnapshotError([Problem(prepared.sample.name, None, f"as the sample submission {why}")])
    for number, (source, name) in enumerate(_files(prepared, left), start=1):
        if number % _TOLD_EACH == 0:
            told(number)
        if is_pointer(source):
            pointers.add(f"public/{name}", REMEDY, kind="pointers")
        elif f"{DATA}/{name}" == SAMPLE:
            left.append(LeftOut(name, f"is not the sample submission that is graded, {prepared.sample.name}"))
        elif why := forbidden.reason(source, name):
            left.append(LeftOut(name, why))
        else:
            take(source, folder / DATA / name)
    if pointers.problems:
        raise SnapshotError(pointers.problems)
    return left


def _files(prepared: Prepared, left: list[LeftOut]) -> Iterator[tuple[Path, str]]:
    """Yield each plain file of `public/`, links followed, and its name there."""
    own = (prepared.sample, prepared.public / DESCRIPTION)
    private = prepared.private.resolve()
    for path in walk(prepared.public):
        name = path.relative_to(prepared.public).as_posix()
        if path in own:
            continue
        source = path.resolve() if path.is_symlink() else path
        if not source.exists():
            left.append(LeftOut(name, "is a link to nothing"))
        elif path.is_symlink() and source.is_relative_to(private):
            left.append(LeftOut(name, "is a link into private/"))
        elif source.is_dir():
            left.append(LeftOut(name, "is a link to a folder"))
        elif not stat.S_ISREG(source.stat().st_mode):
            left.append(LeftOut(name, "is no plain file"))
        else:
            yield source, name


class _Forbidden:
    """What no file of `data/` may be: the answers, a perfect submission, or a table with their columns."""

    def __init__(self, prepared: Prepared, answers_file: Path, answers: Answers) -> None:
        self._answers_file, self._answers = answers_file, answers
        self._secret = {path: path.stat().st_size for path in (prepared.answers, prepared.gold) if path is not None}
        self._hashes: dict[Path, str] = {}

    def reason(self, path: Path, name: str) -> str | None:
        """Say why a file must not be in `data/`, or cannot be known to be harmless; None: it may be."""
        size = path.stat().st_size
        for secret in (one for one, its_size in self._secret.items() if its_size == size):
            if sha256_of(path) == self._hash(secret):
                return f"is a copy of private/{secret.name}"
        found = Found()
        if not is_archive(path) or check_archive(path, name, found):
            check_for_answers(path, name, self._answers_file, self._answers, found)
        return _joined(found.problems)

    def _hash(self, secret: Path) -> str:
        if secret not in self._hashes:
            self._hashes[secret] = sha256_of(secret)
        return self._hashes[secret]


def _joined(problems: Sequence[Problem]) -> str | None:
    return "; ".join(problem.message for problem in problems[:3]) or None
