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
from bot.evaluation.experiments.scoring_data import ScoringData, TrainingRows, validation_rows
from bot.evaluation.metrics.params import whole_number
from bot.evaluation.metrics.registry import METRICS, metric_named
from bot.evaluation.scoring.bank import keep, keep_array, read_numbers
from bot.evaluation.scoring.prediction_file import read_submission
from state.errors import InvalidSubmission

Values = NDArray[Any]

Decide = Callable[[Values], Values]
"""Takes raw numbers (rows, numbers), and returns texts (rows, 1)."""


_MAGIC = b"\x93NUMPY"
_SAMPLE_FILES: Mapping[Role, str] = {"validation": "sample_validation.csv", "test": "sample_submission.csv"}
_MAX_SHOWN = 5
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
class _RoleValues:
    values: Values
    numbers: Values | None = None
    """What labels were made of, as `Form.numbers_behind` returns it."""


def receive(
    data: ScoringData, files: Mapping[Role, Path], bank: Path, seed: int, fitted_on: str | None = None
) -> Received:
    """Read arrays and keep their predictions.

    Args:
        fitted_on: file in the bank with predictions out of fold, on whose rows cut points and thresholds are fitted where
            `files` has none.

    Raises InvalidSubmission: one of them is not what is expected; the text is a sentence.
    """
    form, warnings = data.form, list[str]()
    by_role: dict[Role, _RoleValues] = {}
    decide: Decide | None = None
    folds: tuple[int, ...] | None = None
    if "oof" in files and data.folds is not None and data.lines is not None:
        sample = data.folds.data / "sample_validation.csv"
        if _is_array(files["oof"], "oof"):
            raw = _training(form, files["oof"], data.lines)
            is_present, folds = _present(raw, data.lines)
            by_role["oof"], decide = _decided(data, raw, is_present, warnings, seed)
        else:
            by_role["oof"] = _RoleValues(read_submission(files["oof"], sample, form.card)[1])
    elif fitted_on is not None and (numbers := read_numbers(bank / fitted_on)) is not None:
        _, decide = _decided(data, numbers, np.isfinite(numbers).all(axis=1), warnings, seed)
    for role, name in _SAMPLE_FILES.items():
        if role not in files:
            continue
        if not _is_array(files[role], role):
            by_role[role] = _RoleValues(read_submission(files[role], data.view.data / name, form.card)[1])
            continue
        expected = [validation_rows(data.view, name)]
        raw = _two_sided(read_array(files[role], role, partial(form.check, rows=expected, name=role)))
        _check_finite(raw, role)
        by_role[role] = _converted(form, raw, decide, role, warnings)
    kept_files = {
        role: _keep(values, files[role], bank, form, is_array=_is_array(files[role], role))
        for role, values in by_role.items()
    }
    values = {role: entry.values for role, entry in by_role.items()}
    return Received(
        Arrays(kept_files.get("oof"), kept_files.get("validation"), kept_files.get("test")),
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
        raise InvalidSubmission(f"{name} is not a file written by numpy.save.")
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
    lacks_values = np.asarray(np.isnan(raw).any(axis=1))
    _refuse(np.asarray(np.isinf(raw).any(axis=1)), "infinity", "oof", lines.line)
    if not lacks_values.any():
        return ~lacks_values, None
    folds = np.unique(lines.fold)
    absent_folds = [fold for fold in folds if np.isnan(raw[lines.fold == fold]).all()]
    _refuse(lacks_values & ~np.isin(lines.fold, absent_folds), "NaN", "oof", lines.line)
    present_folds = tuple(int(fold) for fold in folds if fold not in absent_folds)
    if not present_folds:
        raise InvalidSubmission("oof is NaN in all folds; predict at least one whole fold.")
    return ~lacks_values, present_folds


def _check_finite(raw: Values, name: str) -> None:
    if raw.dtype.kind == "f":
        _refuse(np.asarray(~np.isfinite(raw).all(axis=1)), "NaN or infinity", name, np.arange(len(raw)))


def _refuse(wrong: NDArray[np.bool_], value_name: str, name: str, line: NDArray[np.int64]) -> None:
    if not wrong.any():
        return
    numbers = np.unique(line[wrong])
    shown_rows = ", ".join(map(str, numbers[:_MAX_SHOWN])) + (", …" if len(numbers) > _MAX_SHOWN else "")
    allowed = "; NaN is allowed only in fold -1 and in folds that are left out entirely" if value_name == "NaN" else ""
    raise InvalidSubmission(f"{name} has {value_name} in {len(numbers):,} rows (0-based: {shown_rows}){allowed}.")


def _decided(
    data: ScoringData, raw: Values, is_present: NDArray[np.bool_], warnings: list[str], seed: int
) -> tuple[_RoleValues, Decide | None]:
    """Make predictions of training rows; return them with what makes those of others."""
    form, training, lines = data.form, data.training, data.lines
    if form.kind == "numbers" or training is None or lines is None:
        return _converted(form, raw, None, "oof", warnings), None
    rows = np.flatnonzero(is_present)
    if training.labels is None:
        decide = decision(form, "oof")
        texts = decide(raw[rows])
    else:
        texts, decide = decided(form, raw[rows], training.labels[rows], lines.fold[rows], "oof", seed)
    values: Values = np.full((len(raw), texts.shape[1]), "", dtype=object)
    values[rows] = texts
    return _RoleValues(values, form.numbers_behind(raw)), decide


def _converted(form: ArrayFormat, raw: Values, decide: Decide | None, name: str, warnings: list[str]) -> _RoleValues:
    if form.kind != "numbers":
        # Those behind lists are for thresholds alone, which are fitted out of fold.
        numbers = None if form.kind == "lists" else form.numbers_behind(raw)
        return _RoleValues((decide or decision(form, name))(raw), numbers)
    values, warning = form.numbers(raw.astype(float), name)
    if warning is not None:
        warnings.append(warning)
    return _RoleValues(values)


def _keep(predictions: _RoleValues, path: Path, bank: Path, form: ArrayFormat, *, is_array: bool) -> str:
    """Keep predictions as arrays; files that take less room, or that only the competition's grader scores, as they came."""
    if is_array:
        return keep_array(predictions.values, bank, predictions.numbers)
    return keep(predictions.values if form.card.metric.name in METRICS else None, path, bank)


_FITTED_ON = 2_000
"""Most rows that numbers are fitted on."""
_THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
_PLACES = {"map_at_k": 5, "top_k_error": 1}
"""Labels of a ranked list unless the task's parameter says otherwise; of another metric all."""


def decided(
    form: ArrayFormat, raw: Values, labels: Values, folds: NDArray[np.int64], name: str, seed: int
) -> tuple[Values, Decide]:
    """Return texts for training rows, and what makes texts of other rows' numbers, as `decision` does.

    The numbers `raw` are out of fold. Folds of even number are decided by what is fitted on the others, and the other way
    round.
    """
    decide_all = decision(form, name, raw, labels, seed)
    side = folds % 2
    if not _is_fitted(form, raw) or len(np.unique(side)) < 2:
        return decide_all(raw), decide_all
    texts: Values = np.empty((len(raw), 1), dtype=object)
    for parity in (0, 1):
        other_side = side != parity
        texts[~other_side] = decision(form, name, raw[other_side], labels[other_side], seed)(raw[~other_side])
    return texts, decide_all


def decision(
    form: ArrayFormat, name: str, raw: Values | None = None, labels: Values | None = None, seed: int = 0
) -> Decide:
    """Return what makes texts of numbers; without rows to fit on cut points are halfway, and thresholds a half."""
    known_rows = None
    if raw is not None and labels is not None and _is_fitted(form, raw):
        rows = np.random.default_rng(seed).permutation(len(raw))[:_FITTED_ON]
        raw, labels = raw[rows], labels[rows]
        known_rows = rows
    if form.kind == "ordered":
        return _decide_levels(form, name, raw if known_rows is not None else None, labels)
    if form.kind == "lists":
        return _lists(form, raw if known_rows is not None else None, labels)
    return lambda values: form.best_classes(values, name)


def _is_fitted(form: ArrayFormat, raw: Values) -> bool:
    if form.kind == "ordered":
        return form.on_the_scale(raw[:1]) is not None
    return form.kind == "lists" and metric_named(form.card.metric.name).spaces[0] == "share" and raw.dtype.kind == "f"


def _score(form: ArrayFormat, labels: Values) -> Callable[[Values], float]:
    metric, card = metric_named(form.card.metric.name), form.card
    return lambda decided_labels: card.oriented(metric.score(labels, decided_labels, card.metric.params))


def _decide_levels(form: ArrayFormat, name: str, raw: Values | None, labels: Values | None) -> Decide:
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
        max_places = _PLACES.get(metric.name, len(names))
        places = min(len(names), whole_number(form.card.metric.params, "k", max_places, minimum=1))
        return lambda values: _texts(names, np.argsort(-values, axis=1, kind="stable")[:, :places])

    def labels_above(threshold: float) -> Decide:
        def decide(values: Values) -> Values:
            # The best label is named even where no label is likely.
            is_label = (values > threshold) | (values == values.max(axis=1, keepdims=True)) & (values > 0)
            return _texts(names, [np.flatnonzero(row) for row in is_label])

        return decide

    if raw is None or labels is None:
        return labels_above(0.5)
    score = _score(form, labels)
    return max((labels_above(threshold) for threshold in _THRESHOLDS), key=lambda decide: score(decide(raw)))


def _texts(names: Sequence[str], rows: Any) -> Values:
    texts: Values = np.empty((len(rows), 1), dtype=object)
    texts[:, 0] = [" ".join(names[column] for column in row) for row in rows]
    return texts
