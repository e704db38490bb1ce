"""What a competition's own grader needs beside it: its modules, and the answers as they were prepared."""

import shutil
from pathlib import Path

from scrapers.imports.mle_bench.pointers import REMEDY, is_pointer
from scrapers.imports.mle_bench.prepared import GRADE, Prepared
from scrapers.snapshots.answers import ANSWERS
from state.errors import Problem, SnapshotError

_PREPARER = "prepare.py"


def keep_grader(prepared: Prepared, private: Path) -> dict[str, str]:
    """Copy `grade.py`, the Python modules beside it, and the whole answers into `private/`.

    Graders import from the modules beside them (`from .classes import CLASSES`), and take columns and kinds of files that
    `answers.csv` does not hold.

    Returns:
        Parameters of the metric: `answers`, the name of the whole answers in `private/`.

    Raises:
        SnapshotError: a module is a pointer of Git LFS.
    """
    for module in sorted(prepared.grader.parent.glob("*.py")):
        if module.name == _PREPARER or not module.is_file():
            continue
        if is_pointer(module):
            raise SnapshotError([Problem(module.name, None, REMEDY)])
        shutil.copyfile(module, private / module.name)
    taken = {Path(ANSWERS).name, GRADE}
    name = prepared.answers.name
    if name in taken:
        name = f"whole_{name}"
    shutil.copyfile(prepared.answers, private / name)
    return {"answers": name}
