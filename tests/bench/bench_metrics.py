"""How much time of a processor metrics take on files of MLE-bench's sizes: for each 1000 rows, and for a whole file."""

import time
from collections.abc import Callable

import numpy as np

from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import METRICS

ROWS = 20_000


def main() -> None:
    """Time a metric of each kind."""
    rng = np.random.default_rng(0)
    for name, make, whole in CASES:
        truth, predicted = make(rng), make(rng)
        began = time.process_time()
        METRICS[name].score(truth, predicted, {})
        each = (time.process_time() - began) / ROWS
        print(f"{name:26} {1e6 * each:8.2f} ms per 1000 rows, {whole * each:7.1f} s for {whole:,} rows")


def _numbers(rng: np.random.Generator) -> Values:
    return rng.random((ROWS, 1))


def _labels(rng: np.random.Generator) -> Values:
    return rng.integers(0, 50, (ROWS, 1)).astype(str).astype(object)


def _texts(letters: int) -> Callable[[np.random.Generator], Values]:
    def make(rng: np.random.Generator) -> Values:
        cells = ["".join(map(chr, row)) for row in rng.integers(97, 123, (ROWS, letters))]
        return np.array(cells, dtype=object)[:, None]

    return make


def _lists(rng: np.random.Generator) -> Values:
    return np.array([" ".join(map(str, row)) for row in rng.integers(0, 500, (ROWS, 12))], dtype=object)[:, None]


def _masks(rng: np.random.Generator) -> Values:
    starts = np.sort(rng.integers(1, 10_000, (ROWS, 20)), axis=1)
    return np.array([" ".join(f"{start} 9" for start in row) for row in starts], dtype=object)[:, None]


CASES: tuple[tuple[str, Callable[[np.random.Generator], Values], int], ...] = (
    ("rmse", _numbers, 5_000_000),
    ("spearman", _numbers, 1_000_000),
    ("gini", _numbers, 1_000_000),
    ("macro_f1", _labels, 500_000),
    ("quadratic_weighted_kappa", _labels, 100_000),
    ("map_at_k", _lists, 1_400_000),
    ("multilabel_micro_f1", _lists, 600_000),
    ("levenshtein", _texts(150), 300_000),
    ("mask_map_iou", _masks, 18_000),
)

if __name__ == "__main__":
    main()
