"""A fold far from the others: a part of the rows on which the model behaves differently."""

import math
import statistics
from collections.abc import Sequence

import numpy as np

from bot.evaluation.answers.findings import Finding, nothing_to_compare, passed, suspicious
from bot.evaluation.guards.traces import Traces

BLOCKS = 5
FEWEST_FOLDS = 3
ROWS = 50
"""Rows of a block, fewer of which vary too much."""
ERRORS = 5.0
"""Standard errors of one fold's score, above what it may differ from the middle of the others by chance."""
FACTOR = 2.0
"""How many times as much, or as little, as the others a fold leaves unexplained."""


def fold_far_from_others(guard: str, traces: Traces) -> Finding:
    """Compare the folds that the evaluator scored; without folds, blocks of validation rows in the order of their ids.

    Blocks show other things than folds do, such as ids for which a script lost its predictions, and the finding names them.
    """
    if len(traces.folds) >= FEWEST_FOLDS:
        found, what, rows = list(traces.folds), "fold", len(traces.ids)
    else:
        found, rows = _blocks(traces)
        what = "block of validation rows"
    if len(found) < FEWEST_FOLDS:
        why = (
            "no folds were scored, and the validation rows are too few, or of too few kinds, for blocks to be compared"
        )
        return nothing_to_compare(guard, why, rows=len(traces.ids))
    place, others, far = _farthest(traces, found, rows)
    sentence = f"{what} {place + 1} of {len(found)} scores {found[place]:.6g}, the others {others:.6g} in the middle"
    evidence = {"fold": place + 1, "score": found[place], "others": others}
    return suspicious(guard, sentence, **evidence) if far else passed(guard, sentence, **evidence)


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
