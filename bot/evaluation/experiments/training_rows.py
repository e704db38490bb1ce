"""The training rows that are validated: their folds, the lines of an array that predict them, and which belong together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.scoring.interval import STRETCHES, clusters_of
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.build import view_info
from bot.evaluation.views.opened_view import OpenedView
from bot.evaluation.views.parts import final_places, fold_lines
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.times import parse_times
from state.errors import UnsupportedLayout

Numbers = NDArray[np.int64]
Version = tuple[str, int, int]
"""Path, inode and time of a file, by which what was read of it is cached."""


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
    """The fold of each row."""

    @property
    def several(self) -> bool:
        """Whether a line has several answers."""
        return bool(self.answer.any())


def version(path: Path) -> Version:
    """Return what changes when a file does."""
    stat = path.stat()
    return str(path), stat.st_ino, stat.st_mtime_ns


def training_rows(folds: LabelledView) -> TrainingRows:
    """Return the rows that are validated; read once."""
    return _training_rows(version(folds.data / "folds.csv"), str(folds.labels))


@lru_cache(maxsize=2)
def _training_rows(file: Version, labels: str) -> TrainingRows:
    fold = np.array(read_table(Path(file[0])).column("fold"), dtype=np.int64)
    line = np.array(fold_lines(Path(labels)), dtype=np.int64)
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


def unit_numbers(view: LabelledView, folds: LabelledView | None) -> tuple[Numbers, Numbers | None, str | None]:
    """Return which rows belong together, in groups or stretches of time; found once.

    Returns:
        The unit of each hold-out row, that of each training row that is validated, and by what; None: each row stands alone.
    """
    of_folds = ("", "") if folds is None else (str(folds.data), str(folds.labels))
    return _unit_numbers(version(view.truth), str(view.data), *of_folds, view.card.model_dump_json())


@lru_cache(maxsize=1)
def _unit_numbers(
    truth: Version, data: str, folds_data: str, folds_labels: str, card: str
) -> tuple[Numbers, Numbers | None, str | None]:
    task = TaskCard.model_validate_json(card)
    view = LabelledView(Path(data), Path(truth[0]).parent, task)
    keys = read_table(view.data / "sample_validation.csv").keys(task.row_columns)
    apart = final_places(view.labels)
    units, column = clusters_of(view, [key for place, key in enumerate(keys) if place not in apart])
    held = np.empty(sum(map(len, units)), dtype=np.int64)
    for number, rows in enumerate(units):
        held[rows] = number
    if not folds_data:
        return held, None, column
    training = _training_rows(version(Path(folds_data) / "folds.csv"), folds_labels)
    if column is None:
        return held, np.arange(len(training.line)), None
    try:
        values = _values(OpenedView(view.data, view.labels, task), column)
    except (UnsupportedLayout, ValueError):
        return held, training.line, column
    info = view_info(view.labels)
    if info is not None and info.split_kind == "time" and (times := parse_times(values)) is not None:
        order, stretch = np.argsort(np.array(times), kind="stable"), np.empty(len(times), dtype=np.int64)
        for number, rows in enumerate(np.array_split(order, STRETCHES)):
            stretch[rows] = number
        return held, stretch[training.line], column
    return held, np.unique(np.array(values), return_inverse=True)[1][training.line], column


def _values(opened: OpenedView, column: str) -> Sequence[str]:
    layout = opened.layout
    if column in layout.train.header and column not in layout.id_parts:
        return layout.train.column(column)
    return layout.together or layout.ids
