"""Scores that scripts print themselves if no labels can be withheld: never mixed with the evaluator's."""

import json
import math
import re
from pathlib import Path

LINE = "validation score"
"""The beginning of the line `validation score: 0.123`; the last such line of the output counts."""
_FILE = "self_reported.json"
_PRINTED_SCORE = re.compile(rf"^{LINE}:[ \t]*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[ \t]*\r?$", re.MULTILINE)


def printed_score(output: str) -> float | None:
    """Return the score that a script prints; None if it prints none, or one that is not finite."""
    printed_numbers = _PRINTED_SCORE.findall(output)
    score = float(printed_numbers[-1]) if printed_numbers else math.nan
    return score if math.isfinite(score) else None


def write_reason(labels_dir: Path, reason: str) -> None:
    """Record, in the place of a view's labels, why there are none."""
    labels_dir.mkdir(parents=True, exist_ok=True)
    (labels_dir / _FILE).write_text(json.dumps({"reason": reason}), encoding="utf-8")


def reason_in(labels_dir: Path) -> str | None:
    """Return why a view has no labels; None if it has."""
    file = labels_dir / _FILE
    return str(json.loads(file.read_text(encoding="utf-8"))["reason"]) if file.is_file() else None
