"""A list of submissions, one line of JSON each, in MLE-bench's format; importable without numpy."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from state.errors import Problem, UsageError

_COMMENTS = ("#", "//")


@dataclass(frozen=True)
class SubmissionListItem:
    """One submission: its competition, and the path of its file (None: the run left none)."""

    line: int
    competition_id: str
    path: Path | None


def read_list(path: Path) -> list[SubmissionListItem]:
    """Read a list: objects with `competition_id` and `submission_path` (or null), relative to the list's folder.

    Other keys are ignored; blank lines and those that begin with # or // are skipped.

    Raises:
        UsageError: the list cannot be read; every fault is named with its line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name} cannot be read: {error}.") from error
    problems: list[Problem] = []
    items: list[SubmissionListItem] = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith(_COMMENTS):
            try:
                items.append(_entry(number, text, path.parent))
            except ValueError as error:
                problems.append(Problem(path.name, number, str(error)))
    if problems:
        raise UsageError("\n".join(map(str, problems)))
    if not items:
        raise UsageError(f"{path.name} lists no submissions.")
    return items


def _entry(number: int, text: str, folder: Path) -> SubmissionListItem:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("this is no JSON object")
    competition, file = value.get("competition_id"), value.get("submission_path")
    # It becomes the name of a folder.
    if not isinstance(competition, str) or competition in ("", ".", "..") or {"/", "\\", "\0"} & set(competition):
        raise ValueError("`competition_id` must be a competition's name")
    if "submission_path" not in value or not (file is None or isinstance(file, str)):
        raise ValueError("`submission_path` must be a file's path, or null")
    return SubmissionListItem(number, competition, folder / file if file else None)
