"""A cache of labels that were read, in the worker's memory: score, noise and guards read the same ones one after another."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bot.evaluation.metrics.registry import PredictionKind, prediction_kind
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.tables.csv_table import read_table
from scrapers.snapshots.card import TaskCard

_LARGEST: Mapping[PredictionKind, int] = {"number": 1 << 25, "label": 1 << 22, "text": 0}
"""Most bytes of a file that is cached; in memory, numbers take about as many, labels several times as many."""

_Version = tuple[str, int, int, int]
"""Path, inode, time and size of a file; another file under the same name differs in one of them."""


def read_answers(path: Path, sample: Path, card: TaskCard) -> tuple[Sequence[str], NDArray[Any]]:
    """Return the sample's ids and their answers, for reading only; raises as `read_truth`."""
    if not _may_be_cached(path, sample, card):
        return _ids_and_answers(path, sample, card)
    return _answers(_version(path), _version(sample), card.model_dump_json())


def _may_be_cached(path: Path, sample: Path, card: TaskCard) -> bool:
    # The reader reports missing files.
    largest = _LARGEST[prediction_kind(card)]
    return all(file.is_file() and file.stat().st_size <= largest for file in (path, sample))


def _version(path: Path) -> _Version:
    stat = path.stat()
    return str(path), stat.st_ino, stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=2)
def _answers(path: _Version, sample: _Version, card: str) -> tuple[Sequence[str], NDArray[Any]]:
    return _ids_and_answers(Path(path[0]), Path(sample[0]), TaskCard.model_validate_json(card))


def _ids_and_answers(path: Path, sample: Path, card: TaskCard) -> tuple[Sequence[str], NDArray[Any]]:
    ids = read_table(sample).keys(card.row_columns)
    return ids, read_truth(path, ids, card)
