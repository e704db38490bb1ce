"""Replies of a grader's process: a result, or our error for a failure."""

import json
from pathlib import Path
from typing import Any

from state.errors import GraderFailed, InvalidSubmission, Problem, SnapshotError

_MAX_SHOWN = 300
"""Characters of a grader's own words that are shown."""


def result_of(grade_py: Path, reply: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that holds a result.

    Raises:
        InvalidSubmission: the grader refused the submission.
        GraderFailed: it raised something else.
        SnapshotError: it needs a module that is missing.
    """
    if "invalid" in reply:
        raise InvalidSubmission(f"The grader refuses it: {shorten(reply['invalid'])}")
    failed = reply.get("failed")
    if failed is None:
        return reply
    if failed["module"] is not None:
        raise unusable(grade_py, failed)
    raise GraderFailed(failed["kind"], shorten(failed["text"]), failed["line"])


def unusable(grade_py: Path, failed: dict[str, Any]) -> SnapshotError:
    """Return the error for a grade.py that cannot be used, whatever the submission."""
    name = f"{grade_py.parent.name}/{grade_py.name}"
    fault = f"cannot be loaded: {failed['kind']}: {shorten(failed['text'])}"
    if failed["module"] is not None:
        fault = f"needs {failed['module']!r}, which is not available: {shorten(failed['text'])}"
    return SnapshotError([Problem(name, failed["line"], fault)])


def parsed(message: bytes) -> dict[str, Any]:
    """Return an answer; anything else in the socket was written by the grader, and is not an answer."""
    try:
        reply = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}


def shorten(text: object) -> str:
    """Return foreign words in one line of bounded length."""
    words = " ".join(str(text).split())
    return words if len(words) <= _MAX_SHOWN else f"{words[:_MAX_SHOWN]}…"
