"""The header by which a grader that a model wrote is known wherever it is used."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

GraderKind = Literal["registry", "competition", "model-written"]
"""Who says what a score is: a metric of ours, the competition's own grade.py, or one that a model wrote."""

MARK = "# kaggle-bot: written by a model, admitted after self-tests"
_HASH, _RECORD = "# sha256: ", "# record: "
_HEAD = 8192


def mark(source: str, record: Mapping[str, Any]) -> str:
    """Return a grader's text below its header: the mark, the hash of the text, and the record of its self-tests."""
    text = source.strip("\n") + "\n"
    return f"{MARK}\n{_HASH}{_digest(text)}\n{_RECORD}{json.dumps(record, sort_keys=True)}\n{text}"


def is_model_written(grade_py: Path) -> bool:
    """Whether a grader has the header, in whatever state."""
    try:
        with grade_py.open("rb") as file:
            return file.read(_HEAD).startswith(MARK.encode())
    except OSError:
        return False


def kind_of(grade_py: Path | None) -> GraderKind:
    """Return who scores where this is the grader; None: there is none, and the registry does."""
    if grade_py is None:
        return "registry"
    return "model-written" if is_model_written(grade_py) else "competition"


def record_of(grade_py: Path) -> Mapping[str, Any] | None:
    """Return the record of its self-tests; None where it has none, or the text was changed since."""
    lines = grade_py.read_text(encoding="utf-8", errors="replace").split("\n", 3)
    if len(lines) < 4 or lines[0] != MARK or not lines[2].startswith(_RECORD):
        return None
    if lines[1] != f"{_HASH}{_digest(lines[3])}":
        return None
    try:
        record = json.loads(lines[2].removeprefix(_RECORD))
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
