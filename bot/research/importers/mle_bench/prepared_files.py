"""Prepared competitions on disk: where they lie, their configuration, and the files of an import, none a Git LFS pointer."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from scrapers.snapshots.fields import sentences
from scrapers.snapshots.files import escapes
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.manifest import DESCRIPTION
from scrapers.snapshots.problems import Problems
from state.errors import Problem, SnapshotError, UsageError

DATA_FOLDER = "prepared"
CONFIG = "config.yaml"


@dataclass(frozen=True)
class PreparedCompetition:
    """One competition: its id, `prepared/` (which may be missing), and the folder with its `config.yaml` and `grade.py`."""

    slug: str
    folder: Path
    package: Path


def find_places(folders: Sequence[Path], package: Path | None, slugs: Sequence[str] = ()) -> list[PreparedCompetition]:
    """Find the competitions below some folders, by id.

    A folder may hold data (`<id>/prepared/`), or be a competition's `<id>/` or its `<id>/prepared/`. The package is
    `mlebench/competitions`; without it, or a folder for an id in it, `config.yaml` and other files are beside `prepared/`.
    In a data folder, an id that the package knows counts, prepared or not.

    Raises:
        UsageError: a folder does not exist or holds no competition, an id is in two places, or a wanted one in none.
    """
    if package is not None and not package.is_dir():
        raise UsageError(f"--package: no such folder: {package}")
    place_of: dict[str, PreparedCompetition] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"no such folder: {folder}")
        places = list(_places_below(Path(os.path.abspath(folder)), package))  # noqa: PTH100 -- a link's own name is the id
        if not places:
            raise UsageError(f"{folder} contains no competition: expected a folder <id>/{DATA_FOLDER}/")
        for place in places:
            if place_of.setdefault(place.slug, place) != place:
                raise UsageError(f"{place.slug} is in both {place_of[place.slug].folder} and {place.folder}")
    if unknown := sorted(set(slugs) - set(place_of)):
        raise UsageError(f"not found: {', '.join(unknown)}; available: {', '.join(sorted(place_of)[:20])}")
    return [place_of[slug] for slug in sorted(place_of) if not slugs or slug in slugs]


def _places_below(folder: Path, package: Path | None) -> Iterator[PreparedCompetition]:
    if folder.name == DATA_FOLDER and ((folder / "public").is_dir() or (folder / "private").is_dir()):
        yield _place(folder.parent, package)
    elif (folder / DATA_FOLDER).is_dir():
        yield _place(folder, package)
    else:
        for child in sorted(folder.iterdir()):
            in_package = package is not None and (package / child.name / CONFIG).is_file()
            if child.is_dir() and ((child / DATA_FOLDER).is_dir() or in_package):
                yield _place(child, package)


def _place(folder: Path, package: Path | None) -> PreparedCompetition:
    description_folder = folder if package is None or not (package / folder.name).is_dir() else package / folder.name
    return PreparedCompetition(folder.name, folder / DATA_FOLDER, description_folder)


_MAX_CONFIG_BYTES = 1_000_000  # bytes; real ones have a thousand or two


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
    """Read a `config.yaml`, tags of Python objects refused. Raises SnapshotError, which names every fault."""
    try:
        if path.stat().st_size > _MAX_CONFIG_BYTES:
            raise SnapshotError([Problem(CONFIG, None, "is too large for a configuration file")])
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"cannot be read from {path.parent}: {error.strerror or error}"
        hint = "pass MLE-bench's folder mlebench/competitions with --package, or put the file next to prepared/"
        raise SnapshotError([Problem(CONFIG, None, f"{reason}; {hint}")]) from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise SnapshotError([Problem(CONFIG, line, f"is not valid YAML: {error.problem}")]) from error
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:  # such as odd tags
        raise SnapshotError([Problem(CONFIG, None, f"is not valid UTF-8 YAML: {type(error).__name__}")]) from error
    try:
        return Config.model_validate(content)
    except ValidationError as error:
        raise SnapshotError([Problem(CONFIG, None, sentence) for sentence in sentences(error)]) from error


_FIRST_LINE = b"version https://git-lfs.github.com/spec/v1"
_MAX_POINTER_BYTES = 1024
"""Bytes; the format's own limit."""

REMEDY = "is a Git LFS pointer instead of the file itself: run `git lfs pull` in its repository"


def is_pointer(path: Path) -> bool:
    """Whether the file is a pointer of Git LFS. Raises OSError."""
    if path.stat().st_size > _MAX_POINTER_BYTES:
        return False
    with path.open("rb") as file:
        return file.read(len(_FIRST_LINE)) == _FIRST_LINE


GRADE = "grade.py"
_GRADE_FUNCTION = ".grade:grade"
_ANSWERS_SUFFIXES = (".csv", ".jsonl")


@dataclass(frozen=True)
class PreparedFiles:
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


def open_prepared(place: PreparedCompetition) -> PreparedFiles:
    """Find a competition's files. Raises SnapshotError, which names all that are missing, pointers, or elsewhere."""
    if not (place.folder / "public").is_dir() or not (place.folder / "private").is_dir():
        reason = f"has no public/ or private/ folder: run `mlebench prepare -c {place.slug}`"
        raise SnapshotError([Problem(DATA_FOLDER, None, reason)])
    config = read_config(place.package / CONFIG)
    problems = Problems()
    if config.id != place.slug:
        problems.add(CONFIG, f"has the id {config.id!r}, but its folder is named {place.slug!r}")
    grade_fn = config.grader.grade_fn
    if grade_fn is not None and not grade_fn.endswith(_GRADE_FUNCTION):
        problems.add(CONFIG, f"`grader.grade_fn` is {grade_fn!r}; only `grade` in {GRADE} is supported")
    answers = _configured(place, config.dataset.answers, problems)
    if answers is not None and answers.suffix.lower() not in _ANSWERS_SUFFIXES:
        problems.add(
            CONFIG, f"`dataset.answers` is {answers.name}; only {' and '.join(_ANSWERS_SUFFIXES)} are supported"
        )
    sample = _configured(place, config.dataset.sample_submission, problems, packed=True)
    gold = None
    if config.dataset.gold_submission is not None:
        gold = _configured(place, config.dataset.gold_submission, problems)
    grader, board = (_of_package(place, name, problems) for name in (GRADE, LEADERBOARD))
    description = _description(place, problems)
    if problems.problems or not (answers and sample and grader and board and description):
        raise SnapshotError(problems.problems)
    public, private = place.folder / "public", place.folder / "private"
    other_gold = gold if gold != answers else None
    return PreparedFiles(place.slug, config, public, private, answers, sample, other_gold, grader, board, description)


def _configured(place: PreparedCompetition, path: str, problems: Problems, *, packed: bool = False) -> Path | None:
    """Return the file below `prepared/` that a path of the configuration names."""
    parts = PurePosixPath(path).parts
    parts_below = parts[parts.index(DATA_FOLDER) + 1 :] if DATA_FOLDER in parts else ()
    if escapes(path) or not parts_below or parts_below[0] not in ("public", "private"):
        problems.add(CONFIG, f"names {path!r}, which is not in {DATA_FOLDER}/public or {DATA_FOLDER}/private")
        return None
    path_wanted = place.folder.joinpath(*parts_below)
    choices = [path_wanted]
    if packed:
        choices += [path_wanted.with_name(path_wanted.name + suffix) for suffix in (".zip", ".gz")]
        choices.append(path_wanted.with_suffix(".zip"))
    file = next((choice for choice in choices if choice.is_file()), None)
    name = "/".join((DATA_FOLDER, *parts_below))
    if file is None:
        problems.add(name, f"is missing, but {CONFIG} names it")
        return None
    return None if _is_unfetched(file, name, problems) else file


def _of_package(place: PreparedCompetition, name: str, problems: Problems) -> Path | None:
    file = place.package / name
    if not file.is_file():
        problems.add(name, f"is missing beside {CONFIG}")
        return None
    return None if _is_unfetched(file, name, problems) else file


def _description(place: PreparedCompetition, problems: Problems) -> Path | None:
    choices = (place.package / DESCRIPTION, place.folder / "public" / DESCRIPTION)
    existing = [choice for choice in choices if choice.is_file()]
    if not existing:
        problems.add(DESCRIPTION, f"not found next to {CONFIG} or in {DATA_FOLDER}/public")
        return None
    fetched = next((choice for choice in existing if not is_pointer(choice)), None)
    if fetched is None:
        problems.add(DESCRIPTION, REMEDY)
    return fetched


def _is_unfetched(file: Path, name: str, problems: Problems) -> bool:
    with problems.reading(name):
        if not is_pointer(file):
            return False
        problems.add(name, REMEDY)
    return True
