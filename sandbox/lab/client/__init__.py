"""The module `lab`, for Python inside a lab, and the command of the same name: both ask the engine, over the lab's socket.

    from lab import log
    print(log("trees", oof=oof, validation=val, test=test, note="what was tried"))

This folder needs nothing but Python 3.9 or later and its standard library; arrays need numpy, which made them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .arrays import features, predictions
from .protocol import LabError, call
from .sources import named_sources, running_sources

__all__ = ["LabError", "Score", "board", "fit", "log", "note", "status", "wait", "withdraw"]


@dataclass(frozen=True)
class Score:
    """What the engine says of an experiment; printing it shows the whole answer."""

    value: float
    """Out of fold, by the competition's metric; NaN: unknown."""
    gain: float
    """Over the best experiment, or what it was compared to; above 0 is better. NaN: there is nothing to compare with."""
    std_error: float
    """Of the gain; NaN: unknown."""
    name: str
    """Under which the experiment is known now."""
    text: str

    def __str__(self) -> str:
        return self.text


def log(
    name: str,
    oof: Any = None,
    validation: Any = None,
    test: Any = None,
    note: str = "",
    files: Iterable[str | os.PathLike[str]] | None = None,
    retrain: str | None = None,
    uses: str | Iterable[str] = (),
    compare_to: str | None = None,
    seconds: float | None = None,
    check: bool = False,
    verbose: bool = False,
) -> Score:
    """Log an experiment by its predictions; return how good it is.

    Predictions are a numpy array, nested lists, an object of pandas, torch or scipy.sparse, or the path of a file.

    Args:
        name: Of the experiment.
        oof: Predictions of the training rows, out of fold, in the order of folds.csv; NaN where a fold is left out.
        validation: Of the rows of validation.csv.
        test: Of the rows of the sample submission.
        note: What was tried.
        files: The sources that made it; None: the running script, and the modules that it imported from its folder.
        retrain: A command that makes the test predictions from all labelled rows.
        uses: Experiments that it is built on.
        compare_to: The experiment to compare it with, instead of the best.
        seconds: Time that it took; None: that of this process so far, which is what a retraining takes.
        check: Whether to check it against leaks in any case.
        verbose: Whether the text is to tell scores by column.

    Raises:
        LabError: The engine does not take it.
    """
    arrays = {"oof": oof, "validation": validation, "test": test}
    parts = [predictions(role, value) for role, value in arrays.items() if value is not None]
    parts += running_sources() if files is None else named_sources(files)
    arguments = {
        "name": name,
        "note": note,
        "retrain": retrain or "",
        "uses": _as_list(uses),
        "compare_to": compare_to or "",
        "seconds": _seconds_of_process() if seconds is None else float(seconds),
        "check": bool(check),
        "verbose": bool(verbose),
    }
    answer = call("log", arguments, parts)
    data = answer.get("data") or {}
    value, gain, std_error = (
        float("nan") if data.get(key) is None else data[key] for key in ("score", "gain", "std_error")
    )
    return Score(value, gain, std_error, data.get("name") or name, answer["text"].rstrip("\n"))


def fit(
    name: str,
    train: Any,
    validation: Any,
    test: Any,
    categories: str | Iterable[str] = (),
    encode: str | Iterable[str] = (),
    note: str = "",
) -> str:
    """Have the engine fit its portfolio on features, in idle time; return what it says.

    Args:
        name: Of the fit; its models are `NAME/...`.
        train: Features of the training rows, in the order of folds.csv: an array, a sparse matrix, a data frame, whose
            columns of text become categories, or a path.
        validation: The same of the rows of validation.csv.
        test: The same of the rows of the sample submission.
        categories: Columns that hold categories, by name or number.
        encode: Columns to be replaced by the target's mean, within folds.
        note: What the features are.

    Raises:
        LabError: The engine does not take it.
    """
    parts, category_columns = features({"train": train, "validation": validation, "test": test})
    names = [str(column) for column in train.columns] if hasattr(train, "columns") else []

    def numbers(columns: Iterable[str]) -> list[str]:
        return [str(names.index(column)) if column in names else column for column in dict.fromkeys(columns)]

    arguments = {
        "name": name,
        "note": note,
        "categories": numbers([*_as_list(categories), *category_columns]),
        "encode": numbers(_as_list(encode)),
    }
    return str(call("fit", arguments, parts)["text"])


def wait(name: str = "") -> str:
    """Wait for a fit or an experiment of this name, or for all; return what came of it."""
    return str(call("wait", {"name": name})["text"])


def status() -> str:
    """Return what is left of time, money and turns, the best score, and the ensemble."""
    return str(call("status", {})["text"])


def board(all: bool = False) -> str:
    """Return the experiments of the run, the best of them or all."""
    return str(call("board", {"all": bool(all)})["text"])


def note(text: str) -> str:
    """Leave a line that other labs see."""
    return str(call("note", {"text": text})["text"])


def withdraw(name: str, note: str = "") -> str:
    """Take an experiment out of the ensemble and the final choice, as one whose score is known to be too good."""
    return str(call("withdraw", {"name": name, "note": note})["text"])


def _seconds_of_process() -> float:
    start_ticks = int(Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start_ticks / os.sysconf("SC_CLK_TCK")


def _as_list(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names]
