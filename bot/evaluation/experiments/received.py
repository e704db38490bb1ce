"""Reads the arrays of an experiment, makes predictions of them and keeps these in the bank."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers.experiments import Arrays, Role
from bot.evaluation.blending.ordinal import Cuts, cut, fit_cuts, halfway
from bot.evaluation.experiments.array_file import read_array
from bot.evaluation.experiments.form import ArrayFormat
from bot.evaluation.experiments.opened import Opened, TrainingRows, validation_rows
from bot.evaluation.metrics.params import whole_number
from bot.evaluation.metrics.registry import METRICS, metric_named
from bot.evaluation.scoring.bank import keep, keep_array, read_numbers
from bot.evaluation.scoring.prediction_file import read_submission
from state.errors import InvalidSubmission

Values = NDArray[Any]

Decide = Callable[[Values], Values]
"""Takes raw numbers (rows, numbers), and returns texts (rows, 1)."""


_MAGIC = b"\x93NUMPY"
_OTHERS: Mapping[Role, str] = {"validation": "sample_validation.csv", "test": "sample_submission.csv"}
_SHOWN = 5
"""Rows that are named."""


@dataclass(frozen=True)
class Received:
    """An experiment's predictions (rows of the sample, prediction columns), and where they are kept."""

    arrays: Arrays
    oof: Values | None
    """NaN, or empty texts, in folds that are left out."""
    validation: Values | None
    test: Values | None
    folds: tuple[int, ...] | None
    """The folds that it predicts; None: all."""
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Made:
    values: Values
    numbers: Values | None = None
    """What labels were made of, as `Form.numbers_behind` returns it."""


def receive(
    opened: Opened, files: Mapping[Role, Path], bank: Path, seed: int, fitted_on: str | None = None
) -> Received:
    """Read arrays and keep their predictions.

    Args:
        fitted_on: file in the bank with predictions out of fold, on whose rows cut points and thresholds are fitted where
            `files` has none.

    Raises:
        InvalidSubmission: one of them is not what is expected; the text is a sentence.
    """
    form, warnings = opened.form, list[str]()
    made: dict[Role, _Made] = {}
    decide: Decide | None = None
    folds: tuple[int, ...] | None = None
    if "oof" in files and opened.folds is not None and opened.lines is not None:
        sample = opened.folds.data / "sample_validation.csv"
        if _is_array(files["oof"], "oof"):
            raw = _training(form, files["oof"], opened.lines)
            there, folds = _present(raw, opened.lines)
            made["oof"], decide = _decided(opened, raw, there, warnings, seed)
        else:
            made["oof"] = _Made(read_submission(files["oof"], sample, form.card)[1])
    elif fitted_on is not None and (numbers := read_numbers(bank / fitted_on)) is not None:
        _, decide = _decided(opened, numbers, np.isfinite(numbers).all(axis=1), warnings, seed)
    for role, name in _OTHERS.items():
        if role not in files:
            continue
        if not _is_array(files[role], role):
            made[role] = _Made(read_submission(files[role], opened.view.data / name, form.card)[1])
            continue
        expected = [validation_rows(opened.view, name)]
        raw = _two_sided(read_array(files[role], role, partial(form.check, rows=expected, name=role)))
        _check_finite(raw, role)
        made[role] = _converted(form, raw, decide, role, warnings)
    kept = {
        role: _keep(one, files[role], bank, form, is_array=_is_array(files[role], role)) for role, one in made.items()
    }
    values = {role: one.values for role, one in made.items()}
    return Received(
        Arrays(kept.get("oof"), kept.get("validation"), kept.get("test")),
        values.get("oof"),
        values.get("validation"),
        values.get("test"),
        folds,
        tuple(warnings),
    )


def _is_array(path: Path, name: str) -> bool:
    with path.open("rb") as file:
        is_array = file.read(len(_MAGIC)) == _MAGIC
    if not is_array and path.suffix == ".npy":
        raise InvalidSubmission(f"{name} is no array that numpy.save wrote.")
    return is_array


def _two_sided(values: Values) -> Values:
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    return values if values.ndim == 2 else values[:, None]


def _training(form: ArrayFormat, path: Path, lines: TrainingRows) -> Values:
    """Return raw numbers (rows of the sample, numbers) of an array with one row for each line of folds.csv.

    Where a line has several answers, it has them side by side, or the array has one row for each row of the sample.
    """
    rows = [lines.lines, len(lines.line)] if lines.several else [lines.lines]
    answers = int(lines.answer.max()) + 1 if lines.several else 1
    values = _two_sided(read_array(path, "oof", partial(form.check, rows=rows, name="oof", answers=answers)))
    if len(values) != lines.lines:
        return values
    if answers > 1 and values.shape[1] == answers:
        return values[lines.line, lines.answer][:, None]
    return values[lines.line]


def _present(raw: Values, lines: TrainingRows) -> tuple[NDArray[np.bool_], tuple[int, ...] | None]:
    """Return which rows are predicted, and the folds if some are left out; refuse NaN in a part of a fold."""
    if raw.dtype.kind != "f":
        return np.ones(len(raw), dtype=bool), None
    lacking = np.asarray(np.isnan(raw).any(axis=1))
    _refuse(np.asarray(np.isinf(raw).any(axis=1)), "infinity", "oof", lines.line)
    if not lacking.any():
        return ~lacking, None
    folds = np.unique(lines.fold)
    left_out = [fold for fold in folds if np.isnan(raw[lines.fold == fold]).all()]
    _refuse(lacking & ~np.isin(lines.fold, left_out), "NaN", "oof", lines.line)
    there = tuple(int(fold) for fold in folds if fold not in left_out)
    if not there:
        raise InvalidSubmission("oof is NaN in all folds; at least one whole fold is to be predicted.")
    return ~lacking, there


def _check_finite(raw: Values, name: str) -> None:
    if raw.dtype.kind == "f":
        _refuse(np.asarray(~np.isfinite(raw).all(axis=1)), "NaN or infinity", name, np.arange(len(raw)))


def _refuse(wrong: NDArray[np.bool_], what: str, name: str, line: NDArray[np.int64]) -> None:
    if not wrong.any():
        return
    numbers = np.unique(line[wrong])
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (", …" if len(numbers) > _SHOWN else "")
    allowed = "; it is allowed in fold -1 and in whole folds that are left out" if what == "NaN" else ""
    raise InvalidSubmission(f"{name} has {what} in {len(numbers):,} rows (from 0: {shown}){allowed}.")


def _decided(
    opened: Opened, raw: Values, there: NDArray[np.bool_], warnings: list[str], seed: int
) -> tuple[_Made, Decide | None]:
    """Make predictions of training rows; return them with what makes those of others."""
    form, training, lines = opened.form, opened.training, opened.lines
    if form.kind == "numbers" or training is None or lines is None:
        return _converted(form, raw, None, "oof", warnings), None
    rows = np.flatnonzero(there)
    if training.labels is None:
        decide = decision(form, "oof")
        texts = decide(raw[rows])
    else:
        texts, decide = decided(form, raw[rows], training.labels[rows], lines.fold[rows], "oof", seed)
    values: Values = np.full((len(raw), texts.shape[1]), "", dtype=object)
    values[rows] = texts
    return _Made(values, form.numbers_behind(raw)), decide


def _converted(form: ArrayFormat, raw: Values, decide: Decide | None, name: str, warnings: list[str]) -> _Made:
    if form.kind != "numbers":
        # Those behind lists are for thresholds alone, which are fitted out of fold.
        numbers = None if form.kind == "lists" else form.numbers_behind(raw)
        return _Made((decide or decision(form, name))(raw), numbers)
    values, warning = form.numbers(raw.astype(float), name)
    if warning is not None:
        warnings.append(warning)
    return _Made(values)


def _keep(made: _Made, path: Path, bank: Path, form: ArrayFormat, *, is_array: bool) -> str:
    """Keep predictions as arrays; files that take less room, or that only the competition's grader scores, as they came."""
    if is_array:
        return keep_array(made.values, bank, made.numbers)
    return keep(made.values if form.card.metric.name in METRICS else None, path, bank)


_FITTED_ON = 2_000
"""Most rows that numbers are fitted on."""
_THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
_PLACES = {"map_at_k": 5, "top_k_error": 1}
"""Labels of a ranked list unless the task's parameter says otherwise; of another metric all."""


def decided(
    form: ArrayFormat, raw: Values, labels: Values, folds: NDArray[np.int64], name: str, seed: int
) -> tuple[Values, Decide]:
    """Return texts for training rows, and what makes texts of other rows' numbers, as `decision` does.

    Args:
        raw: out of fold (rows, numbers).
        labels: of these rows (rows, 1).
        folds: their folds; those of even number are decided by what is fitted on the others, and the other way round.
    """
    whole = decision(form, name, raw, labels, seed)
    side = folds % 2
    if not _is_fitted(form, raw) or len(np.unique(side)) < 2:
        return whole(raw), whole
    texts: Values = np.empty((len(raw), 1), dtype=object)
    for own in (0, 1):
        other = side != own
        texts[~other] = decision(form, name, raw[other], labels[other], seed)(raw[~other])
    return texts, whole


def decision(
    form: ArrayFormat, name: str, raw: Values | None = None, labels: Values | None = None, seed: int = 0
) -> Decide:
    """Return what makes texts of numbers; without rows to fit on cut points are halfway, and thresholds a half."""
    chosen = None
    if raw is not None and labels is not None and _is_fitted(form, raw):
        rows = np.random.default_rng(seed).permutation(len(raw))[:_FITTED_ON]
        raw, labels = raw[rows], labels[rows]
        chosen = rows
    if form.kind == "ordered":
        return _ordered(form, name, raw if chosen is not None else None, labels)
    if form.kind == "lists":
        return _lists(form, raw if chosen is not None else None, labels)
    return lambda values: form.best_classes(values, name)


def _is_fitted(form: ArrayFormat, raw: Values) -> bool:
    if form.kind == "ordered":
        return form.on_the_scale(raw[:1]) is not None
    return form.kind == "lists" and metric_named(form.card.metric.name).spaces[0] == "share" and raw.dtype.kind == "f"


def _score(form: ArrayFormat, labels: Values) -> Callable[[Values], float]:
    metric, card = metric_named(form.card.metric.name), form.card
    return lambda made: card.oriented(metric.score(labels, made, card.metric.params))


def _ordered(form: ArrayFormat, name: str, raw: Values | None, labels: Values | None) -> Decide:
    cuts: Cuts = halfway(form.levels or [])
    if raw is not None and labels is not None and (means := form.on_the_scale(raw)) is not None:
        cuts = fit_cuts(means, cuts, _score(form, labels))

    def decide(values: Values) -> Values:
        means = form.on_the_scale(values)
        return form.best_classes(values, name) if means is None else cut(means, cuts)

    return decide


def _lists(form: ArrayFormat, raw: Values | None, labels: Values | None) -> Decide:
    names, metric = list(form.classes), metric_named(form.card.metric.name)
    if metric.spaces[0] == "fusion":
        most = _PLACES.get(metric.name, len(names))
        places = min(len(names), whole_number(form.card.metric.params, "k", most, least=1))
        return lambda values: _texts(names, np.argsort(-values, axis=1, kind="stable")[:, :places])

    def above(threshold: float) -> Decide:
        def decide(values: Values) -> Values:
            # The best label is named even where no label is likely.
            chosen = (values > threshold) | (values == values.max(axis=1, keepdims=True)) & (values > 0)
            return _texts(names, [np.flatnonzero(row) for row in chosen])

        return decide

    if raw is None or labels is None:
        return above(0.5)
    score = _score(form, labels)
    return max((above(one) for one in _THRESHOLDS), key=lambda decide: score(decide(raw)))


def _texts(names: Sequence[str], rows: Any) -> Values:
    found: Values = np.empty((len(rows), 1), dtype=object)
    found[:, 0] = [" ".join(names[at] for at in row) for row in rows]
    return found
