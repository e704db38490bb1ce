"""Runs the built-in model's scripts: each in a process of its own, forked where the libraries are loaded already."""

import multiprocessing
import os
import runpy
import sys
from contextlib import suppress
from pathlib import Path

import pytest

__all__ = ["run_script"]

LIBRARIES = [
    *("numpy", "pandas", "scipy.sparse", "scipy.special", "PIL.Image", "sklearn.ensemble", "sklearn.linear_model"),
    *("sklearn.svm", "sklearn.neighbors", "sklearn.naive_bayes", "sklearn.discriminant_analysis", "sklearn.compose"),
    *("sklearn.decomposition", "sklearn.feature_extraction.text", "sklearn.model_selection", "sklearn.multiclass"),
]
"""What takes the scripts a second of a core to import, each time."""


def run_script(folder: Path, code: str, seconds: float) -> str:
    """Run a script in a folder, with two cores and so much time; return what it printed.

    It fails where the script does, or takes longer by more than a minute.
    """
    (folder / "solution.py").write_text(code)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    process = context.Process(target=_run, args=(folder, {"BOT_TIME_LIMIT": str(seconds), "BOT_CPUS": "2"}))
    with pytest.MonkeyPatch.context() as patch:
        for library in ("OMP", "OPENBLAS", "MKL"):
            patch.setenv(f"{library}_NUM_THREADS", "1")  # as a script does before it loads them
        process.start()
    process.join(seconds + 60)
    late = process.is_alive()
    process.kill()
    process.join()
    said = (folder / "output.txt").read_text()
    if late or process.exitcode != 0:
        pytest.fail(f"{'it took too long' if late else f'exit status {process.exitcode}'}: {said}")
    return said


def _run(folder: Path, environment: dict[str, str]) -> None:
    """Become the script; whatever was loaded for it, it starts as `python solution.py` would."""
    os.chdir(folder)
    os.environ.update(environment)
    output = os.open("output.txt", os.O_WRONLY | os.O_CREAT)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    sys.argv, sys.path[0] = ["solution.py"], str(folder)
    with suppress(SystemExit):
        runpy.run_path("solution.py", run_name="__main__")
    sys.stdout.flush()
