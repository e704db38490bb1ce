"""The demo competition's tables: scikit-learn's handwritten digits, made dim and noisy, split by a seed.

Imports numpy and scikit-learn within its functions: only a child process of the bot runs it.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

ID = "id"
LABEL = "digit"
CLASSES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PIXELS = tuple(f"p{row}{column}" for row in range(8) for column in range(8))
_SEED = 20240304
_NOISE = 4.0
"""Standard deviation of what is added to each pixel, of 16 levels; it leaves good ideas something to gain."""
_DIMMEST, _BRIGHTEST = 0.6, 1.2
_TEST_SHARE = 5
"""One image in so many of each digit is in the test part."""


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 integers from 0 to 16, their digits, and their ids."""

    images: "NDArray[int64]"
    """Shape (n, 64), row by row from the top."""
    digits: "NDArray[int64]"
    ids: tuple[str, ...]


def make_digits() -> tuple[Digits, Digits]:
    """Return the training part (about 80 %) and the test part, every digit in both; always the same ones."""
    import numpy as np
    from sklearn.datasets import load_digits

    random = np.random.RandomState(_SEED)  # the legacy generator's stream is frozen across numpy's versions
    source = load_digits()
    count = len(source.target)
    light = random.uniform(_DIMMEST, _BRIGHTEST, size=(count, 1))
    noisy = source.data * light + random.normal(0.0, _NOISE, size=source.data.shape)
    images = np.clip(np.rint(noisy), 0, 16).astype(np.int64)
    ids = 10_000 + random.permutation(count)
    order = random.permutation(count)
    rank = np.zeros(count, dtype=np.int64)  # of each image among those of its digit, in the shuffled order
    for digit in range(len(CLASSES)):
        members = order[source.target[order] == digit]
        rank[members] = np.arange(len(members))
    test = order[rank[order] % _TEST_SHARE == 0]
    train = order[rank[order] % _TEST_SHARE != 0]

    def part(rows: "NDArray[int64]") -> Digits:
        return Digits(images[rows], source.target[rows], tuple(f"img{ids[row]}" for row in rows))

    return part(train), part(test)


def write_tables(folder: Path) -> None:
    """Write `data/` and `private/answers.csv` into the folder."""
    train, test = make_digits()
    (folder / "data").mkdir()
    (folder / "private").mkdir()
    labels = [CLASSES[digit] for digit in train.digits]
    rows = ([i, *pixels, label] for i, pixels, label in zip(train.ids, train.images.tolist(), labels, strict=True))
    _write(folder / "data/train.csv", [ID, *PIXELS, LABEL], rows)
    rows = ([i, *pixels] for i, pixels in zip(test.ids, test.images.tolist(), strict=True))
    _write(folder / "data/test.csv", [ID, *PIXELS], rows)
    _write(folder / "data/sample_submission.csv", [ID, *CLASSES], ([i, *[0.1] * len(CLASSES)] for i in test.ids))
    truth = ([int(digit == one) for one in range(len(CLASSES))] for digit in test.digits)
    rows = ([i, *row] for i, row in zip(test.ids, truth, strict=True))
    _write(folder / "private/answers.csv", [ID, *CLASSES], rows)


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
