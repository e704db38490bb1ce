"""Runs the guards, each by itself, so that a failing one is reported as such and does not affect the others."""

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bot.evaluation.answers import LabelledView, OtherNode
from bot.evaluation.answers.findings import EXECUTION_GUARDS, VIEW_GUARDS, GuardFinding, not_run
from bot.evaluation.graders.process import shorten
from bot.evaluation.guards.targets import GuardedView
from bot.evaluation.guards.traces import Traces
from state.errors import BotError

SECONDS = 60.0
"""Seconds after which no further guard starts; the rest count as not run."""


def guard_view(view: LabelledView, seconds: float = SECONDS) -> tuple[GuardFinding, ...]:
    """Look for leaks of the competition itself, as they show on one view of it; one finding a guard, as they are registered."""
    return _run(VIEW_GUARDS, GuardedView(view.data, view.labels, view.card), seconds)


def guard_execution(
    view: LabelledView,
    predictions: Path,
    submission: Path,
    score: float,
    output: str,
    earlier_nodes: Sequence[OtherNode] = (),
    board: Sequence[float] = (),
    seed: int = 0,
    seconds: float = SECONDS,
) -> tuple[GuardFinding, ...]:
    """Check what an execution left, beside its score; one finding a guard, as they are registered.

    Args:
        predictions: for the validation rows; they have the score.
        submission: a valid one.
        earlier_nodes: nodes that were scored earlier on the same view, the baseline included.
        board: scores of a leaderboard that may be known, best first; empty: none may.
    """
    with closing(Traces(view, predictions, submission, score, output, earlier_nodes, board, seed)) as traces:
        return _run(EXECUTION_GUARDS, traces, seconds)


def _run(guards: Mapping[str, str], looked_at: Any, seconds: float) -> tuple[GuardFinding, ...]:
    start = time.monotonic()
    findings = []
    for name, path in guards.items():
        if time.monotonic() - start > seconds:
            findings.append(not_run(name, f"skipped: the limit of {seconds:g} s was reached"))
        else:
            findings.append(_run_guard(name, path, looked_at))
    return tuple(findings)


def _run_guard(name: str, path: str, looked_at: Any) -> GuardFinding:
    module, _, function = path.partition(":")
    guard: Callable[[str, Any], GuardFinding] = getattr(importlib.import_module(module), function)
    try:
        return guard(name, looked_at)
    except BotError as error:
        return not_run(name, f"it failed: {shorten(error)}")
    except Exception as error:  # a supervision boundary: a guard that cannot run has not passed
        reason = f"{type(error).__name__}: {shorten(error)}"
        return not_run(name, "it failed on this data", error=reason)
