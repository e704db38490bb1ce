"""A run's own copy of its grade.py, so that later changes of the original change none of the run's scores."""

import ast
import shutil
import symtable
from collections.abc import Mapping
from pathlib import Path

from bot.execution.folder import RunFolder
from state.errors import UsageError

_NAME = "grade"


def keep_grader(grade_py: Path, folder: RunFolder) -> None:
    """Copy a grader and the modules beside it to the evaluator's folder, which generated code cannot read; once.

    Raises:
        OSError: it cannot be read or written.
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
    """Return the text of a grader and of the modules beside it; empty if they cannot be read."""
    try:
        return repr(sorted(_modules(grade_py).items()))
    except OSError:
        return ""


def check_grader(grade_py: Path) -> None:
    """Check a grader without running it.

    Raises:
        UsageError: it cannot be read, is no Python, or defines no `grade(submission, answers)` that can be called.
    """
    try:
        source = _modules(grade_py)[grade_py.name]
        tree, names = ast.parse(source), symtable.symtable(source.decode("utf-8-sig", "replace"), grade_py.name, "exec")
    except (OSError, KeyError) as error:
        raise UsageError(f"{grade_py} cannot be read: {_why(error, grade_py)}") from error
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"{grade_py} is no Python{line}: {error.args[0] if error.args else error}") from error
    nodes = list(ast.walk(tree))
    if any(isinstance(one, ast.AsyncFunctionDef) and one.name == _NAME for one in nodes):
        raise UsageError(f"{grade_py} defines {_NAME} by `async def`, and nobody awaits it: make it a plain function")
    # The symbol table holds all names that a module binds anywhere, except by `import *`.
    bound = {one.get_name() for one in names.get_symbols() if one.is_assigned() or one.is_imported()}
    everything = any(isinstance(one, ast.ImportFrom) and one.names[0].name == "*" for one in nodes)
    if _NAME not in bound and not everything:
        raise UsageError(f"{grade_py} defines no function {_NAME}(submission, answers)")


def _modules(grade_py: Path) -> Mapping[str, bytes]:
    # Not `glob`, to which a folder that may not be listed is an empty one.
    found = sorted(path for path in grade_py.parent.iterdir() if path.suffix == ".py")
    return {module.name: module.read_bytes() for module in found}


def _why(error: OSError | KeyError, grade_py: Path) -> str:
    if isinstance(error, KeyError | FileNotFoundError):
        return "there is no such file"
    where = f"{error.filename}: " if error.filename not in (None, str(grade_py)) else ""
    return f"{where}{error.strerror}"
