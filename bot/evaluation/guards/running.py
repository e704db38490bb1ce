"""Runs the guards, each by itself, so that a failing one is reported as such and does not affect the others."""

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bot.evaluation.answers import OtherNode
from bot.evaluation.answers.findings import Finding, not_run
from bot.evaluation.answers.guards import EXECUTION_GUARDS, VIEW_GUARDS
from bot.evaluation.graders.replies import shown
from bot.evaluation.guards.guarded_view import GuardedView
from bot.evaluation.guards.traces import Traces
from scrapers.snapshots.card import TaskCard
from state.errors import BotError

SECONDS = 60.0
"""Seconds after which no further guard starts; the rest count as not run."""


def guard_view(view_dir: Path, labels_dir: Path, card: TaskCard, seconds: float = SECONDS) -> list[Finding]:
    """Look for leaks of the competition itself, as they show on one view of it.

    Args:
        view_dir: the view's `data` folder.
        labels_dir: holds the view's labels.csv.
        card: the task.
        seconds: time after which no further guard starts.

    Returns:
        One finding a guard, in the order of the registry.
    """
    return _run(VIEW_GUARDS, GuardedView(view_dir, labels_dir, card), seconds)


def guard_execution(
    labels_dir: Path,
    view_dir: Path,
    predictions_path: Path,
    submission_path: Path,
    card: TaskCard,
    score: float,
    output: str,
    others: Sequence[OtherNode] = (),
    folds: Sequence[float] = (),
    public: Path | None = None,
    board: Sequence[float] = (),
    seed: int = 0,
    seconds: float = SECONDS,
    grader: Path | None = None,
) -> list[Finding]:
    """Check what an execution left, beside its score.

    Args:
        labels_dir: holds the view's labels.csv.
        view_dir: the view's `data` folder.
        predictions_path: its validation predictions, which have a score.
        submission_path: its submission, which is valid.
        card: the task.
        score: the evaluator's, as the metric gives it.
        output: the script's output.
        others: nodes that were scored earlier on the same view, the baseline included.
        folds: scores of the same script on the fold views, in their order; empty where it was not run on them.
        public: folder with files that public kernels have written, at any depth; None: none is kept.
        board: scores of a leaderboard that may be known, best first; empty: none may.
        seed: of the resampling.
        seconds: time after which no further guard starts.
        grader: the competition's grade.py, for a metric that the registry does not know.

    Returns:
        One finding a guard, in the order of the registry.
    """
    traces = Traces(
        GuardedView(view_dir, labels_dir, card),
        predictions_path,
        submission_path,
        score,
        output,
        tuple(others),
        tuple(folds),
        public,
        tuple(board),
        seed,
        grader,
    )
    with closing(traces):
        return _run(EXECUTION_GUARDS, traces, seconds)


def _run(guards: Mapping[str, str], looked_at: Any, seconds: float) -> list[Finding]:
    began = time.monotonic()
    found = []
    for name, path in guards.items():
        if time.monotonic() - began > seconds:
            found.append(not_run(name, f"no time was left for it within {seconds:g} s"))
        else:
            found.append(_one(name, path, looked_at))
    return found


def _one(name: str, path: str, looked_at: Any) -> Finding:
    module, _, function = path.partition(":")
    guard: Callable[[str, Any], Finding] = getattr(importlib.import_module(module), function)
    try:
        return guard(name, looked_at)
    except BotError as error:
        return not_run(name, f"it could not be run: {shown(error)}")
    except Exception as error:  # a supervision boundary: a guard that cannot run has not passed
        why = f"{type(error).__name__}: {shown(error)}"
        return not_run(name, "it could not be run, by a fault of its own on data like this", error=why)
