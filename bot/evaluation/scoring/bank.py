"""The bank: predictions that were read once, kept as arrays, so that no file of text is read twice.

Rows are in the order of the view's sample, columns in that of the card. Each array lies under the hash of its content, so that
equal predictions lie there once. Texts are two arrays: the distinct ones, and the place of each cell's among them; a third one
has the numbers that labels were made of, where they are known.
There are no labels in it.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import PredictionKind, prediction_kind
from bot.evaluation.scoring.prediction_file import read_submission, read_truth
from bot.evaluation.tables.csv_table import read_table, write_table
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission

_LARGEST: Mapping[PredictionKind, int] = {"number": 1 << 25, "label": 1 << 22, "text": 0}
"""Most bytes of a file that is cached; in memory, numbers take about as many, labels several times as many."""

Version = tuple[str, int, int, int]
"""Path, inode, time and size of a file; another file under the same name differs in one of them."""


def read_answers(path: Path, sample: Path, card: TaskCard) -> tuple[Sequence[str], NDArray[Any]]:
    """Return the sample's ids and their answers, for reading only; raises as `read_truth`."""
    largest = _LARGEST[prediction_kind(card)]
    # The reader reports missing files.
    if not all(file.is_file() and file.stat().st_size <= largest for file in (path, sample)):
        return _ids_and_answers(path, sample, card)
    return _answers(version(path), version(sample), card.model_dump_json())


def version(path: Path) -> Version:
    """Return what changes when a file does."""
    stat = path.stat()
    return str(path), stat.st_ino, stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=2)
def _answers(path: Version, sample: Version, card: str) -> tuple[Sequence[str], NDArray[Any]]:
    return _ids_and_answers(Path(path[0]), Path(sample[0]), TaskCard.model_validate_json(card))


def _ids_and_answers(path: Path, sample: Path, card: TaskCard) -> tuple[Sequence[str], NDArray[Any]]:
    ids = read_table(sample).keys(card.row_columns)
    return ids, read_truth(path, ids, card)


_SINGLE_PRECISION_CELLS = 5_000_000
"""Numbers behind labels of which each takes two bytes, not four: three digits are enough to combine them."""
_PADDED = 2
"""Characters for each byte of the file, of texts padded to the longest, above which the file itself is kept."""


def keep(values: NDArray[Any] | None, path: Path, bank: Path) -> str:
    """Keep predictions, and return the name of their file in the bank.

    Values are as `read_submission` returns them; None: only the file itself can be scored. The file is copied where they are
    no array of numbers or of short texts.

    Raises OSError: they cannot be written.
    """
    texts = set(values.ravel().tolist()) if values is not None and values.dtype == object else set()
    if values is not None and len(texts) * max(map(len, texts), default=0) <= _PADDED * path.stat().st_size:
        return keep_array(values, bank)
    staging = _staging(bank)
    shutil.copyfile(path, staging)
    return _put_in_place(staging, ".csv")


def keep_array(values: NDArray[Any], bank: Path, numbers: NDArray[Any] | None = None) -> str:
    """Keep predictions as `keep` does, whatever room they take; `numbers` (rows, any) are what labels were made of."""
    staging = _staging(bank)
    with staging.open("wb") as file:
        if values.dtype.kind not in "OU":
            np.save(file, values, allow_pickle=False)
        else:
            # Labels repeat: each is kept once, and read once, and then where it stands.
            places, texts = pd.factorize(values.ravel())
            np.save(file, np.array(texts.tolist(), dtype=str), allow_pickle=False)
            np.save(file, places.astype(np.int32).reshape(values.shape))
            if numbers is not None:
                np.save(file, numbers.astype(np.float32 if numbers.size <= _SINGLE_PRECISION_CELLS else np.float16))
    return _put_in_place(staging, ".npy")


def _staging(bank: Path) -> Path:
    bank.mkdir(parents=True, exist_ok=True)
    # Two processes may keep predictions at a time.
    return bank / f".{os.getpid()}.partial"


def _put_in_place(staging: Path, suffix: str) -> str:
    with staging.open("rb") as file:
        name = hashlib.file_digest(file, "sha256").hexdigest()[:32] + suffix
    staging.replace(staging.with_name(name))
    return name


def read_predicted(path: Path, sample: Path, card: TaskCard) -> NDArray[Any]:
    """Return the values of a file in a bank, or of any prediction file, in the order of the sample.

    Raises InvalidSubmission: it cannot be read; the text gives the reason.
    """
    if path.suffix != ".npy":
        return read_submission(path, sample, card)[1]
    try:
        with path.open("rb") as file:
            values: NDArray[Any] = np.load(file, allow_pickle=False)
            if values.dtype.kind == "U":
                values = values.astype(object)[np.load(file, allow_pickle=False)]
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise InvalidSubmission(f"The stored predictions {path.name} cannot be read: {error}") from error
    return values


def read_numbers(path: Path) -> NDArray[Any] | None:
    """Return the numbers (rows, any) that the labels of a file in a bank were made of; None: they are not known."""
    if path.suffix != ".npy":
        return None
    try:
        with path.open("rb") as file:
            if np.load(file, allow_pickle=False).dtype.kind != "U":
                return None
            np.load(file, allow_pickle=False)
            return np.asarray(np.load(file, allow_pickle=False))
    except (OSError, EOFError, ValueError):
        return None


def write_values(out: Path, values: NDArray[Any], sample: Path, card: TaskCard) -> None:
    """Write predictions (rows, prediction columns) in the form of the sample."""
    table = read_table(sample)
    places = [table.header.index(column) for column in card.prediction_columns]

    def lines() -> Iterator[list[str]]:
        for row, cells in zip(table.rows(), values, strict=True):
            line = list(row)
            for place, cell in zip(places, cells, strict=True):
                line[place] = repr(float(cell)) if isinstance(cell, float) else str(cell)
            yield line

    write_table(out, table.header, lines(), table.delimiter)
