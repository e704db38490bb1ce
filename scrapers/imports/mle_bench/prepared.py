"""One prepared competition on disk: its configuration and every file that an import needs, none a Git LFS pointer."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from scrapers.imports.mle_bench.places import CONFIG, PREPARED, Place
from scrapers.snapshots.fields import sentences
from scrapers.snapshots.files import escapes
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.manifest import DESCRIPTION
from scrapers.snapshots.problems import Problems
from state.errors import Problem, SnapshotError

_LARGEST_CONFIG = 1_000_000  # bytes; real ones have a thousand or two


class _Foreign(BaseModel):
    """A part of another project's file, which may gain fields that we do not use."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Dataset(_Foreign):
    """Paths relative to the data folder: `<id>/prepared/public/...` or `<id>/prepared/private/...`."""

    answers: str
    sample_submission: str
    gold_submission: str | None = None
    """A perfect submission in the sample's columns; if none is named, the answers are one."""


class GraderEntry(_Foreign):
    """The grader's location; its `name` is a label that is sometimes wrong, so it is not read."""

    grade_fn: str | None = None


class Config(_Foreign):
    """The fields of `config.yaml` that an import uses."""

    id: str
    name: str | None = None
    competition_type: str | None = None
    dataset: Dataset
    grader: GraderEntry = GraderEntry()


def read_config(path: Path) -> Config:
    """Read a `config.yaml`, tags of Python objects refused.

    Raises:
        SnapshotError: it is missing, is not YAML, or lacks what an import needs; every fault is named.
    """
    try:
        if path.stat().st_size > _LARGEST_CONFIG:
            raise SnapshotError([Problem(CONFIG, None, "is far too large for a configuration")])
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        why = f"cannot be read from {path.parent}: {error.strerror or error}"
        hint = "name MLE-bench's folder mlebench/competitions with --package, or put it beside prepared/"
        raise SnapshotError([Problem(CONFIG, None, f"{why}; {hint}")]) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise SnapshotError([Problem(CONFIG, line, f"is not YAML: {error.problem}")]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # control characters, not UTF-8, absurd nesting
        raise SnapshotError([Problem(CONFIG, None, f"is not YAML in UTF-8: {type(error).__name__}")]) from error
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        raise SnapshotError([Problem(CONFIG, None, sentence) for sentence in sentences(error)]) from error


_FIRST_LINE = b"version https://git-lfs.github.com/spec/v1"
_LARGEST_POINTER = 1024
"""Bytes; the format's own limit."""

REMEDY = "is a Git LFS pointer, not the file itself: run `git lfs pull` where it comes from"


def is_pointer(path: Path) -> bool:
    """Whether the file is a pointer of Git LFS.

    Raises:
        OSError: it cannot be read.
    """
    if path.stat().st_size > _LARGEST_POINTER:
        return False
    with path.open("rb") as file:
        return file.read(len(_FIRST_LINE)) == _FIRST_LINE


GRADE = "grade.py"
_GRADE_FUNCTION = ".grade:grade"
_ANSWERS_SUFFIXES = (".csv", ".jsonl")
_PACKED = (".zip", ".gz")


@dataclass(frozen=True)
class Prepared:
    """The files of one competition; all exist."""

    slug: str
    config: Config
    public: Path
    private: Path
    answers: Path
    """A `.csv` or `.jsonl`, as `grade.py` takes it."""
    sample: Path
    """The sample submission, wherever it is; a `.zip` or `.gz` if it is packed."""
    gold: Path | None
    """A perfect submission, where that is another file than the answers."""
    grader: Path
    board: Path
    description: Path

    @property
    def sample_is_private(self) -> bool:
        """Whether the sample submission lies beside the answers."""
        return self.sample.is_relative_to(self.private)


def open_prepared(place: Place) -> Prepared:
    """Find a competition's files.

    Raises:
        SnapshotError: it is not prepared, or files are missing, pointers, or lie elsewhere; all of that is named.
    """
    if not (place.prepared / "public").is_dir() or not (place.prepared / "private").is_dir():
        what = f"has no public/ and private/: run `mlebench prepare -c {place.slug}`"
        raise SnapshotError([Problem(PREPARED, None, what)])
    config = read_config(place.package / CONFIG)
    found = Problems()
    if config.id != place.slug:
        found.add(CONFIG, f"is that of {config.id!r}; the folder is called {place.slug!r}")
    grade_fn = config.grader.grade_fn
    if grade_fn is not None and not grade_fn.endswith(_GRADE_FUNCTION):
        found.add(CONFIG, f"`grader.grade_fn` is {grade_fn!r}; only the function `grade` of {GRADE} is called")
    answers = _configured(place, config.dataset.answers, found)
    if answers is not None and answers.suffix.lower() not in _ANSWERS_SUFFIXES:
        found.add(CONFIG, f"`dataset.answers` is {answers.name}; read are {' and '.join(_ANSWERS_SUFFIXES)}")
    sample = _configured(place, config.dataset.sample_submission, found, packed=True)
    gold = None
    if config.dataset.gold_submission is not None:
        gold = _configured(place, config.dataset.gold_submission, found)
    grader, board = (_of_package(place, name, found) for name in (GRADE, LEADERBOARD))
    description = _description(place, found)
    if found.problems or not (answers and sample and grader and board and description):
        raise SnapshotError(found.problems)
    public, private = place.prepared / "public", place.prepared / "private"
    other = gold if gold != answers else None
    return Prepared(place.slug, config, public, private, answers, sample, other, grader, board, description)


def _configured(place: Place, path: str, found: Problems, *, packed: bool = False) -> Path | None:
    """Return the file below `prepared/` that a path of the configuration names."""
    parts = PurePosixPath(path).parts
    below = parts[parts.index(PREPARED) + 1 :] if PREPARED in parts else ()
    if escapes(path) or not below or below[0] not in ("public", "private"):
        found.add(CONFIG, f"names {path!r}, which does not lie in {PREPARED}/public or {PREPARED}/private")
        return None
    wanted = place.prepared.joinpath(*below)
    choices = [wanted, *(wanted.with_name(wanted.name + suffix) for suffix in _PACKED)] if packed else [wanted]
    if packed:
        choices.append(wanted.with_suffix(".zip"))
    file = next((choice for choice in choices if choice.is_file()), None)
    name = "/".join((PREPARED, *below))
    if file is None:
        found.add(name, f"is missing; {CONFIG} names it")
        return None
    return None if _is_unfetched(file, name, found) else file


def _of_package(place: Place, name: str, found: Problems) -> Path | None:
    file = place.package / name
    if not file.is_file():
        found.add(name, f"is missing beside {CONFIG}")
        return None
    return None if _is_unfetched(file, name, found) else file


def _description(place: Place, found: Problems) -> Path | None:
    choices = (place.package / DESCRIPTION, place.prepared / "public" / DESCRIPTION)
    there = [choice for choice in choices if choice.is_file()]
    if not there:
        found.add(DESCRIPTION, f"is neither beside {CONFIG} nor in {PREPARED}/public")
        return None
    fetched = next((choice for choice in there if not is_pointer(choice)), None)
    if fetched is None:
        found.add(DESCRIPTION, REMEDY)
    return fetched


def _is_unfetched(file: Path, name: str, found: Problems) -> bool:
    with found.reading(name):
        if not is_pointer(file):
            return False
        found.add(name, REMEDY)
    return True
