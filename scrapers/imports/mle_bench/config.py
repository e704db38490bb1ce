"""What a competition's `config.yaml` says: its name, and which files are the answers and the sample submission."""

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from scrapers.snapshots.fields import sentences
from state.errors import Problem, SnapshotError

CONFIG = "config.yaml"
_LARGEST = 1_000_000  # bytes; real ones have a thousand


class _Foreign(BaseModel):
    """A part of a file of another project, which may grow fields that are none of our business."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Dataset(_Foreign):
    """Paths relative to the data folder: `<id>/prepared/public/...` or `<id>/prepared/private/...`."""

    answers: str
    sample_submission: str
    gold_submission: str | None = None
    """A perfect submission in the sample's columns; none: the answers are one."""


class GraderEntry(_Foreign):
    """How the grader is found; its `name` is a label that is sometimes wrong, so it is not read."""

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
        SnapshotError: it is missing, no YAML, or lacks what an import needs; all of it is named.
    """
    try:
        if path.stat().st_size > _LARGEST:
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
