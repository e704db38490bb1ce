"""A run's own copy of the grade.py that scores it: what the original becomes later changes no score of the run."""

import ast
import shutil
from collections.abc import Mapping
from pathlib import Path

from bot.runs.folder import RunFolder
from state.errors import UsageError

__all__ = ["check_grader", "grader_text", "keep_grader"]

_NAME = "grade"


def keep_grader(grade_py: Path, folder: RunFolder) -> None:
    """Copy a grader, and modules beside it, to the evaluator's folder, where no generated code sees it; once.

    Raises:
        OSError: it cannot be read, or not be written.
    """
    kept = folder.grader.parent
    if kept.exists():
        return
    partial = kept.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for name, content in _modules(grade_py).items():
        (partial / name).write_bytes(content)
    partial.rename(kept)


def grader_text(grade_py: Path) -> str:
    """Return all that a grader computes by, itself and the modules beside it; nothing where it cannot be read."""
    try:
        return repr(sorted(_modules(grade_py).items()))
    except OSError:
        return ""


def check_grader(grade_py: Path) -> None:
    """Look at a grader without running it.

    Raises:
        UsageError: it cannot be read, is no Python, or defines no `grade(submission, answers)`.
    """
    try:
        tree = ast.parse(_modules(grade_py)[grade_py.name])
    except (OSError, KeyError) as error:
        said = error.strerror if isinstance(error, OSError) else "there is no such file"
        raise UsageError(f"{grade_py} cannot be read: {said}") from error
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"{grade_py} is no Python{line}: {error.args[0] if error.args else error}") from error
    if not any(_NAME in _names(statement) for statement in tree.body):
        raise UsageError(f"{grade_py} defines no function {_NAME}(submission, answers)")


def _modules(grade_py: Path) -> Mapping[str, bytes]:
    return {module.name: module.read_bytes() for module in sorted(grade_py.parent.glob("*.py"))}


def _names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module may bind."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
