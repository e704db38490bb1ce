"""A printed score that differs from the file's: the script claims a score far from what its file reaches."""

import math
import re
from collections.abc import Iterator

from bot.evaluation.answers.findings import Finding, passed, suspicious
from bot.evaluation.guards.traces import Traces
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS

BETTER = 0.5
"""What is printed leaves unexplained at most this share of what the file does."""
WORSE = 10.0
"""What is printed leaves unexplained at least so many times what the file does: folds have fewer rows to learn from, which
makes them worse, in small tables by far, but never better."""
ERRORS = 6.0
_CLAIM = re.compile(
    r"\b(?P<what>validation|valid|val|hold[- ]?out|cv|oof|out[- ]of[- ]fold|cross[- ]validat\w*|final|best|overall|mean|blend)"
    r"\b(?P<words>[^\n:=]{0,60}?)(?:[:=]\s*(?P<value>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\s(?P<bare>-?\d*\.\d+))(?![\d.%])",
    re.IGNORECASE,
)
_VAGUE = frozenset({"final", "best", "overall", "mean"})
"""Words that occur with anything, so that the line must also name a score."""
_OTHERS = frozenset((
    *("accuracy", "acc", "auc", "f1", "r2", "loss", "logloss", "rmse", "rmsle", "mae", "mse", "kappa", "mape", "smape"),
    *("precision", "recall", "time", "seconds", "rows", "epoch", "epochs", "rank", "alpha", "iteration", "iterations"),
    *("error", "shape", "std", "sd", "fold", "folds", "weight", "weights", "threshold", "params", "size", "index"),
))  # fmt: skip
"""Words of lines about something else."""
_SCORE = frozenset({"score", "scores", "metric"})
_WORD = re.compile(r"[a-z0-9]+")


def printed_otherwise(guard: str, traces: Traces) -> Finding:
    """Compare the last score that the script printed for all of its rows with the evaluator's.

    Lines that name another metric, or one fold, are ignored. A script has no labels of the validation rows, so that it
    prints the score on training rows it held back itself: a small difference is normal.
    """
    claims = list(_claims(traces.output, traces.view.card.metric.name))
    if not claims:
        return passed(guard, "the script printed no score that could be compared")
    text, value = claims[-1]
    printed = abs(value) if traces.score >= 0 else value
    own, theirs = traces.unexplained(traces.score), traces.unexplained(printed)
    if own is None or theirs is None:
        return passed(guard, "scores cannot be compared where a blind guess is perfect")
    off = abs(printed - traces.score)
    noise = traces.error or 0.0
    evidence = {"printed": printed, "evaluated": traces.score, "score_error": traces.error}
    if (theirs < BETTER * own or theirs > WORSE * max(own, 0.0)) and off > ERRORS * noise:
        line, how = " ".join(text.split()), "worse" if theirs < own else "better"
        # Without the score itself: labs read the sentence, and are shown scores rounded.
        return suspicious(guard, f"the script printed `{line}`, but its file scores {how}", **evidence)
    return passed(guard, f"the script printed {printed:.6g}, and its file scores {traces.score:.6g}", **evidence)


def _claims(output: str, metric: str) -> Iterator[tuple[str, float]]:
    """Yield the lines that claim a score in the task's metric, with the number."""
    own = _words(metric) | {metric.lower().replace("_", "")}
    known = {name.replace("_", "") for name in METRIC_DIRECTIONS}
    for match in _CLAIM.finditer(output):
        words = _words(match[0])
        if words & ((_OTHERS | known) - own):
            continue
        blank = match["what"].lower() not in _VAGUE and not _words(match["words"])
        value = float(match["value"] or match["bare"])
        if math.isfinite(value) and (blank or words & (own | _SCORE)):
            yield match[0], value


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower().replace("_", " ")))
