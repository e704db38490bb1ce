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

    Raises OSError: it cannot be read or written.
    """
    target = folder.grader.parent
    if target.exists():
        return
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    for name, content in _modules(grade_py).items():
        (partial / name).write_bytes(content)
    partial.rename(target)


def grader_text(grade_py: Path) -> str:
    """Return the text of a grader and of the modules beside it; empty if they cannot be read."""
    try:
        return repr(sorted(_modules(grade_py).items()))
    except OSError:
        return ""


def check_grader(grade_py: Path) -> None:
    """Check a grader without running it.

    Raises UsageError: it cannot be read, is not valid Python, or defines no `grade(submission, answers)` that can be called.
    """
    try:
        source = _modules(grade_py)[grade_py.name]
        tree, names = ast.parse(source), symtable.symtable(source.decode("utf-8-sig", "replace"), grade_py.name, "exec")
    except (FileNotFoundError, KeyError) as error:
        raise UsageError(f"{grade_py} cannot be read: no such file") from error
    except OSError as error:
        location = f"{error.filename}: " if error.filename not in (None, str(grade_py)) else ""
        raise UsageError(f"{grade_py} cannot be read: {location}{error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"{grade_py}{line}: invalid Python: {error.args[0] if error.args else error}") from error
    nodes = list(ast.walk(tree))
    if any(isinstance(n, ast.AsyncFunctionDef) and n.name == _NAME for n in nodes):
        raise UsageError(f"{grade_py} defines {_NAME} with `async def`: make it a regular function")
    # The symbol table holds all names that a module binds anywhere, except by `import *`.
    bound = {name.get_name() for name in names.get_symbols() if name.is_assigned() or name.is_imported()}
    imports_all = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in nodes)
    if _NAME not in bound and not imports_all:
        raise UsageError(f"{grade_py} does not define a function {_NAME}(submission, answers)")


def _modules(grade_py: Path) -> Mapping[str, bytes]:
    # Not `glob`, to which a folder that may not be listed is an empty one.
    files = sorted(path for path in grade_py.parent.iterdir() if path.suffix == ".py")
    return {module.name: module.read_bytes() for module in files}
