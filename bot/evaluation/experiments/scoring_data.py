"""The rows that an experiment's arrays are of, opened with their labels: training rows with a fold, hold-out, internal test."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.experiments.form import ArrayFormat
from bot.evaluation.metrics.classes import classes_of
from bot.evaluation.metrics.registry import METRICS, metric_per_fold
from bot.evaluation.scoring import Scorer, open_scorer
from bot.evaluation.scoring.bank import Version, read_answers, version
from bot.evaluation.scoring.interval import STRETCHES, held_units
from bot.evaluation.scoring.scored_rows import ScoredRows, open_holdout
from bot.evaluation.scoring.truth import Rows, scored_by_fold
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.build import view_info
from bot.evaluation.views.folds import read_classes
from bot.evaluation.views.opened_view import OpenedView
from bot.evaluation.views.parts import fold_lines
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.times import parse_times
from state.errors import InfrastructureFailure, InvalidSubmission, UnsupportedLayout

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class TrainingRows:
    """Rows of the folds' sample_validation.csv, in its order."""

    lines: int
    """Of folds.csv."""
    line: Numbers
    """The line of folds.csv, from 0, that each row is asked for."""
    answer: Numbers
    """Which of the answers to its line each row is, from 0."""
    fold: Numbers

    @property
    def several(self) -> bool:
        """Whether a line has several answers."""
        return bool(self.answer.any())


def training_rows(folds: LabelledView) -> TrainingRows:
    """Return the rows that are validated."""
    fold = np.array(read_table(folds.data / "folds.csv").column("fold"), dtype=np.int64)
    line = np.array(fold_lines(folds.labels), dtype=np.int64)
    # Answers to one line follow one another.
    first = np.append(True, line[1:] != line[:-1])
    begins = np.flatnonzero(first)
    answer = np.arange(len(line)) - begins[np.cumsum(first) - 1]
    return TrainingRows(len(fold), line, answer, fold[line])


def validation_rows(view: LabelledView, name: str = "sample_validation.csv") -> int:
    """Return the number of rows of a view's sample; counted once."""
    return _rows(version(view.data / name))


@lru_cache(maxsize=4)
def _rows(file: Version) -> int:
    return sum(1 for _ in read_table(Path(file[0])).rows())


def training_units(view: LabelledView, training: TrainingRows) -> Numbers:
    """Return the unit of each training row that is validated: rows of one group or stretch of time have one number."""
    _, column = held_units(view)
    if column is None:
        return np.arange(len(training.line))
    try:
        layout = OpenedView(view.data, view.labels, view.card).layout
        is_feature = column in layout.train.header and column not in layout.id_parts
        values = layout.train.column(column) if is_feature else layout.groups or layout.ids
    except (UnsupportedLayout, ValueError):
        return training.line
    info = view_info(view.labels)
    if info is not None and info.split_kind == "time" and (times := parse_times(values)) is not None:
        order, stretch = np.argsort(np.array(times), kind="stable"), np.empty(len(times), dtype=np.int64)
        for number, rows in enumerate(np.array_split(order, STRETCHES)):
            stretch[rows] = number
        return stretch[training.line]
    return np.asarray(np.unique(np.array(values), return_inverse=True)[1][training.line])


_SAMPLE = "sample_validation.csv"


@dataclass(frozen=True)
class ScoringData:
    """All rows that predictions are scored on."""

    view: LabelledView
    folds: LabelledView | None
    form: ArrayFormat
    holdout: ScoredRows
    final: ScoredRows | None
    training: ScoredRows | None
    lines: TrainingRows | None
    """Of the training rows."""

    @property
    def fold(self) -> NDArray[np.int64]:
        """The fold of each training row."""
        return np.empty(0, dtype=np.int64) if self.lines is None else self.lines.fold

    def of_folds(self, folds: Sequence[int] | None) -> Rows:
        """Return the training rows of some folds; None: of all."""
        return np.arange(len(self.fold)) if folds is None else np.flatnonzero(np.isin(self.fold, list(folds)))

    def all_or(self, rows: Rows) -> Rows | None:
        """Return None for all training rows, and else some as they are."""
        return None if len(rows) == len(self.fold) else rows


def open_rows(folds: LabelledView | None, view: LabelledView, stack: ExitStack) -> ScoringData:
    """Open the labels of both views; `folds` is None where no folds could be cut.

    Raises InfrastructureFailure: the labels cannot be read; SnapshotError: the competition's grader cannot be used.
    """
    if view.card.metric.name in METRICS:
        views = [labelled for labelled in (view, folds) if labelled is not None]
        key = tuple((str(v.data), str(v.labels), version(v.truth), version(v.data / _SAMPLE)) for v in views)
        data = _of_registry(key, view.card.model_dump_json())
        parts = (data.holdout, data.final, data.training)
        holdout, final, training = (None if part is None else replace(part, memory={}) for part in parts)
        return replace(data, holdout=holdout or data.holdout, final=final, training=training)
    scorer = open_scorer(view.card, view.grader)
    stack.callback(scorer.close)
    return _open_rows(view, folds, scorer, stack)


@lru_cache(maxsize=1)
def _of_registry(views: tuple[tuple[str, str, Version, Version], ...], card: str) -> ScoringData:
    task = TaskCard.model_validate_json(card)
    view, folds = [*(LabelledView(Path(data), Path(labels), task) for data, labels, *_ in views), None][:2]
    if view is None:
        raise InfrastructureFailure("No view is open.")
    return _open_rows(view, folds, open_scorer(task, None), ExitStack())


def _open_rows(view: LabelledView, folds: LabelledView | None, scorer: Scorer, stack: ExitStack) -> ScoringData:
    card = view.card
    try:
        holdout, final = open_holdout(view, scorer, stack)
        labels = read_answers(view.truth, holdout.sample, card)[1] if scorer.kind == "registry" else None
        form = ArrayFormat(card, _classes(folds, view, labels))
        if folds is None:
            return ScoringData(view, None, form, holdout, final, None, None)
        lines, sample = training_rows(folds), folds.data / _SAMPLE
        truth = scored_by_fold(scorer.truth(folds.truth, sample), lines.fold, card)
        training_labels = read_answers(folds.truth, sample, card)[1] if scorer.kind == "registry" else None
        by_fold = lines.fold if metric_per_fold(card) else None
        units, rows = training_units(view, lines), np.arange(len(lines.fold))
        training = ScoredRows(card, truth, rows, sample, training_labels, units, by_fold, stack)
    except InvalidSubmission as error:
        raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error
    return ScoringData(view, folds, form, holdout, final, training, lines)


def _classes(folds: LabelledView | None, view: LabelledView, labels: NDArray[Any] | None) -> list[str]:
    """Return the classes that a view's code wrote, or else those of the labels that are known."""
    for labelled in (view, folds):
        if labelled is not None and (classes := read_classes(labelled.data)):
            return classes
    return classes_of(view.card, [] if labels is None else labels.astype(str).ravel().tolist())
