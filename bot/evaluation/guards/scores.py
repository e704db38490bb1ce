"""Scores that cannot be believed: too good, constant, or other than the script printed; and splits unlike the test."""

import math
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.answers import OtherNode
from bot.evaluation.answers.board import beyond_board
from bot.evaluation.answers.findings import GuardFinding, guard_passed, not_run, spoiling, suspicious
from bot.evaluation.guards.leaks import as_numbers
from bot.evaluation.guards.targets import GuardedView
from bot.evaluation.guards.traces import Traces
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.views.build import view_info
from bot.evaluation.views.timeline import train_stretches
from scrapers.snapshots.times import parse_times


def split_unlike_the_test(guard: str, view: GuardedView) -> GuardFinding:
    """Report where the split could not follow how the test rows were split off, as the view's builder found it."""
    info = view_info(view.labels)
    if info is None:
        return not_run(guard, "how the rows were split is unknown")
    if info.unlike:
        return suspicious(guard, "; ".join(info.unlike))
    return guard_passed(guard, f"no sign that the test rows were split differently ({info.split_kind})")


MAX_FUTURE_SHARE = 0.1
"""Share of validation rows that may have training rows after them although no test row has."""
_VALUES = 3
"""Different values that a column of times has at least."""

_TIME = re.compile(
    r"(?:^|[^a-z])(?:time|date|day|week|month|quarter|year|hour|minute|second|epoch)(?:s|$|[^a-z])", re.IGNORECASE
)
"""A column of that name numbers times, not groups, though whole ones of them are withheld."""

Numbers = NDArray[np.float64]


def trained_on_the_future(guard: str, view: GuardedView) -> GuardFinding:
    """For each column of time by which the test rows were split off, check the split of the validation rows.

    In such a column no test row comes before the last training row, or training and test rows alternate in long
    stretches. The id counts if it is a time, not if it is a number: test rows are often numbered last.
    """
    time_column = None
    for name in [view.card.id_column, *view.features]:
        columns = _columns(view, name)
        if columns is None or not _parts(*columns):
            continue
        train, validation, test, _ = columns
        share = _with_future(train, validation, test)
        if share > MAX_FUTURE_SHARE and (_TIME.search(name) or not _share_no_values(train, validation)):
            return suspicious(
                guard,
                f"{name!r} separates test rows from training rows in time, but {share:.0%} of the validation rows have training "
                "rows after them: scripts can learn from the future, which they cannot do for the test rows",
                share=round(share, 4),
                column=name,
            )
        time_column = time_column or name
    if time_column is None:
        return guard_passed(guard, "no column separates training and test rows by time")
    sentence = f"{time_column!r} separates validation rows from training rows in time, just as it separates test rows"
    return guard_passed(guard, sentence)


def latest_row(view: GuardedView) -> int | None:
    """Return the latest training row by a column of times after which all validation and test rows are; None: there is none."""
    for name in [view.card.id_column, *view.features]:
        columns = _columns(view, name)
        if columns is not None and columns[3] and min(columns[1].min(), columns[2].min()) > columns[0].max():
            return int(columns[0].argmax())
    return None


def _parts(train: Numbers, validation: Numbers, test: Numbers, are_times: bool) -> bool:
    """Whether test rows come last, or alternate with all others in long stretches of time."""
    if test.min() >= max(train.max(), validation.max()):
        return True
    return are_times and train_stretches([*train, *validation], test.tolist()) is not None


def _with_future(train: Numbers, validation: Numbers, test: Numbers) -> float:
    """Return the share of validation rows that lie before or among training rows although no test row does."""
    if test.min() >= train.max():
        return float(np.mean(validation < train.max()))
    return 0.0 if train_stretches(train.tolist(), validation.tolist()) is not None else 1.0


def _columns(view: GuardedView, name: str) -> tuple[Numbers, Numbers, Numbers, bool] | None:
    """Return a column of training, validation and test rows as numbers, and whether they are times; None if it has neither."""
    if name == view.card.id_column:
        sides: list[list[str]] = [view.train_ids, view.ids, view.test_ids]
    elif not len(view.test):
        return None
    else:
        sides = [part[name].tolist() for part in (view.train, view.validation, view.test)]
    times = [parse_times(side) for side in sides]
    if all(times_of_side is not None for times_of_side in times):
        return *(np.array(times_of_side, dtype=float) for times_of_side in times), True  # type: ignore[return-value]  # three of them
    if name == view.card.id_column:
        return None
    numbers = [as_numbers(pd.Series(side, dtype=object)) for side in sides]
    if any(side_numbers is None or np.isnan(side_numbers).any() or not len(side_numbers) for side_numbers in numbers):
        return None
    train, validation, test = (side_numbers for side_numbers in numbers if side_numbers is not None)
    if len(np.unique(train)) < _VALUES or len(np.unique(test)) < 2:
        return None
    return train, validation, test, False


def _share_no_values(train: Numbers, validation: Numbers) -> bool:
    """Whether no value is on both sides though values repeat, as in a column that numbers groups."""
    train_values, validation_values = set(train.tolist()), set(validation.tolist())
    return not train_values & validation_values and len(train_values) * 2 < len(train)


MAX_REMAINDER = 0.05
"""Share of what the best other node leaves unexplained; a node that leaves less has found something hidden from the others."""
HARD = 0.1
"""Share that the best other node leaves unexplained at least, or the task is so easy that a perfect score may be honest."""
ERRORS = 6.0
"""Standard errors of the difference that must be exceeded."""
PERFECT = 1e-6
"""Share left unexplained that is none."""
ROWS = 100
"""Validation rows, on fewer of which a perfect score may be luck."""


def too_good(guard: str, traces: Traces) -> GuardFinding:
    """Compare with the best earlier node, and with the leaderboard if that may be known.

    Without either only a perfect score is doubted. All comparisons use the share of a blind guess's errors that remain, so
    that they are the same for every metric.
    """
    share = traces.unexplained(traces.score)
    if share is None:
        return guard_passed(guard, "a constant prediction scores as well as the labels, so no score can be too good")
    best = max(traces.earlier_nodes, key=lambda node: traces.oriented(node.score), default=None)
    noise = ERRORS * (traces.error or 0.0)
    if (words := beyond_board(traces.score, traces.board, traces.view.card, noise)) is not None:
        return suspicious(guard, words, unexplained=round(share, 6), noise=traces.error)
    doubt = _beyond_others(guard, traces, share, best) if best else _perfect(guard, traces, share)
    if doubt is not None:
        return doubt
    sentence = f"{share:.1%} of the constant baseline's error remains"
    return guard_passed(guard, sentence, unexplained=round(share, 6), blind=traces.blind, score_error=traces.error)


def _beyond_others(guard: str, traces: Traces, share: float, best: OtherNode) -> GuardFinding | None:
    best_share = traces.unexplained(best.score)
    if best_share is None or best_share < HARD or share > MAX_REMAINDER * best_share:
        return None
    noise = traces.gain_error(best.predictions) or 0.0
    gain = traces.oriented(traces.score) - traces.oriented(best.score)
    if gain <= ERRORS * noise:
        return None
    sentence = (
        f"{share:.2%} of the constant baseline's error remains, compared with {best_share:.0%} for the previous best, node "
        f"{best.node}; the gain of {gain:.3g} is more than {ERRORS:g} standard errors ({noise:.2g} each)"
    )
    return suspicious(guard, sentence, unexplained=round(share, 6), best_other=round(best_share, 6), noise=noise)


def _perfect(guard: str, traces: Traces, share: float) -> GuardFinding | None:
    if share > PERFECT or len(traces.ids) < ROWS:
        return None
    if traces.board and traces.unexplained(traces.board[:10][-1]) == 0:
        return None
    sentence = f"the score of {traces.score:.6g} is perfect on {len(traces.ids)} rows, and there is no other score yet"
    return suspicious(guard, sentence, unexplained=round(share, 6))


BETTER = 0.5
"""What is printed leaves unexplained at most this share of what the file does."""
WORSE = 10.0
"""What is printed leaves unexplained at least so many times what the file does: folds have fewer rows to learn from, which
makes them worse, in small tables by far, but never better."""
_CLAIM = re.compile(
    r"\b(?P<what>validation|valid|val|hold[- ]?out|cv|oof|out[- ]of[- ]fold|cross[- ]validat\w*|final|best|overall|mean|blend)"
    r"\b(?P<words>[^\n:=]{0,60}?)(?:[:=]\s*(?P<value>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\s(?P<bare>-?\d*\.\d+))(?![\d.%])",
    re.IGNORECASE,
)
_VAGUE = frozenset({"final", "best", "overall", "mean"})
"""Words that occur with anything, so that the line must also name a score."""
_OTHER_WORDS = frozenset((
    *("accuracy", "acc", "auc", "f1", "r2", "loss", "logloss", "rmse", "rmsle", "mae", "mse", "kappa", "mape", "smape"),
    *("precision", "recall", "time", "seconds", "rows", "epoch", "epochs", "rank", "alpha", "iteration", "iterations"),
    *("error", "shape", "std", "sd", "fold", "folds", "weight", "weights", "threshold", "params", "size", "index"),
))  # fmt: skip
"""Words of lines about something else."""
_SCORE = frozenset({"score", "scores", "metric"})
_WORD = re.compile(r"[a-z0-9]+")


def printed_otherwise(guard: str, traces: Traces) -> GuardFinding:
    """Compare the last score that the script printed for all of its rows with the evaluator's.

    Lines that name another metric, or one fold, are ignored. A script has no labels of the validation rows, so that it
    prints the score on training rows it held back itself: a small difference is normal.
    """
    claims = list(_claims(traces.output, traces.view.card.metric.name))
    if not claims:
        return guard_passed(guard, "the script printed no comparable score")
    text, value = claims[-1]
    claim = abs(value) if traces.score >= 0 else value
    file_share, claim_share = traces.unexplained(traces.score), traces.unexplained(claim)
    if file_share is None or claim_share is None:
        return guard_passed(guard, "scores cannot be compared because a constant prediction is perfect")
    off = abs(claim - traces.score)
    noise = traces.error or 0.0
    evidence = {"printed": claim, "evaluated": traces.score, "score_error": traces.error}
    if (claim_share < BETTER * file_share or claim_share > WORSE * max(file_share, 0.0)) and off > ERRORS * noise:
        line, comparison = " ".join(text.split()), "worse" if claim_share < file_share else "better"
        # Without the score itself: labs read the sentence, and are shown scores rounded.
        return suspicious(guard, f"the script printed `{line}`, but its file scores {comparison}", **evidence)
    return guard_passed(guard, f"the script printed {claim:.6g}, and its file scores {traces.score:.6g}", **evidence)


def _claims(output: str, metric: str) -> Iterator[tuple[str, float]]:
    """Yield the lines that claim a score in the task's metric, with the number."""
    metric_words = _words(metric) | {metric.lower().replace("_", "")}
    metric_names = {name.replace("_", "") for name in METRIC_DIRECTIONS}
    for match in _CLAIM.finditer(output):
        words = _words(match[0])
        if words & ((_OTHER_WORDS | metric_names) - metric_words):
            continue
        blank = match["what"].lower() not in _VAGUE and not _words(match["words"])
        value = float(match["value"] or match["bare"])
        if math.isfinite(value) and (blank or words & (metric_words | _SCORE)):
            yield match[0], value


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower().replace("_", " ")))


FEWEST = 10
"""Rows that any model distinguishes."""
_CLOSE = 1e-9


def constant_predictions(guard: str, traces: Traces) -> GuardFinding:
    """Look for a file, for the test or the validation rows, whose rows are all alike although the labels are not.

    Of later rows the last value that is known may be the best forecast.
    """
    if _nearly_constant(traces.truth):
        return guard_passed(guard, "all labels are the same")
    if repeats_latest(traces):
        return guard_passed(guard, "all rows have the same value as the latest training row")
    for name, values in (("submission", traces.submitted), ("validation predictions", traces.prediction_values)):
        if len(values) >= FEWEST and _nearly_constant(values):
            return spoiling(guard, f"all {len(values)} rows of the {name} have the same value", rows=len(values))
    return guard_passed(guard, "predictions differ from row to row")


def repeats_latest(traces: Traces) -> bool:
    """Whether all rows have the label of the latest training rows, where validation rows are later ones."""
    view, values = traces.view, np.concatenate([traces.prediction_values, traces.submitted])
    row = None if values.dtype == object or not _nearly_constant(values) else latest_row(view)
    truth = None if row is None or not view.layout.has_label(row) else view.layout.truth(row)
    return truth is not None and bool(np.allclose(np.array(truth, dtype=float), values[0].astype(float), rtol=_CLOSE))


def _nearly_constant(values: Values) -> bool:
    if values.dtype == object:
        return len({tuple(row) for row in values.tolist()}) <= 1
    numbers: NDArray[np.float64] = values.astype(float)
    return bool((np.ptp(numbers, axis=0) <= _CLOSE * np.maximum(1.0, np.abs(numbers).max(axis=0))).all())
