"""Writes the bundled demo snapshot: a small real competition with a community, for a first run without any download.

Its tables are scikit-learn's handwritten digits, made dim and noisy, split by a seed.
"""

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapers.snapshots.manifest import MANIFEST, hashes_of
from scrapers.snapshots.tables import write_table
from state.errors import UsageError

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

DEMO_SLUG = "demo-dim-digits"
_BUNDLED = Path(__file__).parent / "demo_data"

ID = "id"
LABEL = "digit"
CLASSES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PIXELS = tuple(f"p{row}{column}" for row in range(8) for column in range(8))
_SEED = 20240304
_NOISE = 4.0
"""Standard deviation of the noise added to each pixel, of 16 levels; it leaves room for good ideas."""
_DIMMEST, _BRIGHTEST = 0.6, 1.2
_TEST_SHARE = 5
"""One image in so many of each digit is in the test part."""


def write_demo(path: Path) -> Path:
    """Write the demo snapshot into a new or empty folder, whole or not at all, and return it. Raises UsageError."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(f"{path} is not a folder: choose a new or empty folder for the demo snapshot")
    try:
        if path.is_dir() and any(path.iterdir()):
            raise UsageError(f"the folder {path} is not empty: choose a new or empty folder for the demo snapshot")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".demo-", dir=path.parent) as scratch:
            folder = Path(scratch) / DEMO_SLUG
            _make(folder)
            folder.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write the demo snapshot to {path}: {error.strerror or error}") from error
    return path


def _make(folder: Path) -> None:
    """Copy what is bundled, make the tables, and add their hashes to the manifest."""
    compiled = shutil.ignore_patterns("__pycache__")  # an installer compiles the kernels too
    shutil.copytree(_BUNDLED, folder, copy_function=shutil.copyfile, ignore=compiled)
    _write_tables(folder)
    manifest = folder / MANIFEST
    content = json.loads(manifest.read_text(encoding="utf-8"))
    content["sha256"] = hashes_of(folder)
    manifest.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


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


def _write_tables(folder: Path) -> None:
    train, test = make_digits()
    (folder / "data").mkdir()
    (folder / "private").mkdir()
    labels = [CLASSES[digit] for digit in train.digits]
    rows = ([i, *pixels, label] for i, pixels, label in zip(train.ids, train.images.tolist(), labels, strict=True))
    write_table(folder / "data/train.csv", [ID, *PIXELS, LABEL], rows)
    rows = ([i, *pixels] for i, pixels in zip(test.ids, test.images.tolist(), strict=True))
    write_table(folder / "data/test.csv", [ID, *PIXELS], rows)
    write_table(folder / "data/sample_submission.csv", [ID, *CLASSES], ([i, *[0.1] * len(CLASSES)] for i in test.ids))
    truth = ([int(digit == place) for place in range(len(CLASSES))] for digit in test.digits)
    rows = ([i, *row] for i, row in zip(test.ids, truth, strict=True))
    write_table(folder / "private/answers.csv", [ID, *CLASSES], rows)
