"""A fold far from the others: a part of the rows on which the model does something else altogether."""

import math
import re
import statistics
from collections.abc import Sequence

import numpy as np

from bot.evaluation.guards.findings import Finding, passed, suspicious
from bot.evaluation.guards.traces import Traces

BLOCKS = 5
FEWEST_FOLDS = 3
ROWS = 50
"""Rows of a block, fewer of which vary too much."""
ERRORS = 5.0
"""Standard errors of one fold's score, above what it may differ from the middle of the others by chance."""
FACTOR = 2.0
"""How many times as much, or as little, as the others a fold leaves unexplained."""
_FOLD = re.compile(
    r"\bfold[\s_#:=]*(\d{1,2})(?:\s*/\s*\d+)?\b[^\n\d-]{0,40}?(-?\d*\.\d+(?:[eE][+-]?\d+)?)", re.IGNORECASE
)


def fold_far_from_others(guard: str, traces: Traces) -> Finding:
    """Compare folds: those that the evaluator scored, else those the script printed, else blocks of the validation rows.

    Blocks are runs of rows in the order of the ids. Scores that were printed count only if they lie around the evaluator's.
    """
    printed = _printed(traces)
    if len(traces.folds) >= FEWEST_FOLDS:
        found, what, rows = list(traces.folds), "fold", len(traces.ids)
    elif printed:
        found, what, rows = printed, "printed fold", len(traces.ids)
    else:
        found, rows = _blocks(traces)
        what = "block of validation rows"
    if len(found) < FEWEST_FOLDS:
        return passed(guard, "there are no folds, and too few validation rows to make blocks of", rows=len(traces.ids))
    place, others, far = _farthest(traces, found, rows)
    told = f"{what} {place + 1} of {len(found)} scores {found[place]:.6g}, the others {others:.6g} in the middle"
    evidence = {"fold": place + 1, "score": found[place], "others": others}
    return suspicious(guard, told, **evidence) if far else passed(guard, told, **evidence)


def _farthest(traces: Traces, found: Sequence[float], rows: int) -> tuple[int, float, bool]:
    """Return the fold that is farthest from the median of the others, that median, and whether it is too far."""
    middles = [statistics.median([*found[:at], *found[at + 1 :]]) for at in range(len(found))]
    place = max(range(len(found)), key=lambda at: abs(found[at] - middles[at]))
    own, others = traces.unexplained(found[place]), traces.unexplained(middles[place])
    if own is None or others is None or traces.error is None:
        return place, middles[place], False
    error = traces.error * math.sqrt(len(traces.ids) / rows)
    off = abs(found[place] - middles[place])
    unlike = max(own, others) > FACTOR * max(min(own, others), 0.0)
    # Folds that differ as much among themselves are those of a task whose rows do.
    rest = [value for at, value in enumerate(found) if at != place]
    spread = max(error, statistics.stdev(rest) if len(rest) > 1 else 0.0)
    return place, middles[place], unlike and off > ERRORS * spread


def _blocks(traces: Traces) -> tuple[list[float], int]:
    rows = len(traces.ids) // BLOCKS
    if rows < ROWS:
        return [], rows
    order = np.array(sorted(range(len(traces.ids)), key=lambda at: (len(traces.ids[at]), traces.ids[at])))
    scores = [traces.scored(part) for part in np.array_split(order, BLOCKS)]
    return [score for score in scores if score is not None], rows


def _printed(traces: Traces) -> list[float]:
    """Return the last table of folds that the script printed, one score a fold."""
    table: dict[int, float] = {}
    for number, score in _FOLD.findall(traces.output):
        if int(number) in table and int(number) <= min(table):
            table = {}
        table[int(number)] = abs(float(score)) if traces.score >= 0 else float(score)
    scores = list(table.values())
    if len(scores) < FEWEST_FOLDS:
        return []
    own, theirs = traces.unexplained(traces.score), traces.unexplained(statistics.median(scores))
    near = own is not None and theirs is not None and max(own, theirs) <= FACTOR * min(own, theirs)
    return scores if near else []
