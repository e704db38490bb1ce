"""Scores by a metric of the registry, on arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import Metric
from bot.evaluation.scoring.prediction_file import read_submission, read_truth
from bot.evaluation.scoring.truth import Predicted, Rows, Truth
from bot.evaluation.scoring.undefined import fault_of_predictions, fault_of_truth
from bot.evaluation.tables.csv_table import read_table
from scrapers.snapshots.card import TaskCard

__all__ = ["RegistryScorer"]


@dataclass(frozen=True)
class RegistryScorer:
    """A `Scorer`."""

    card: TaskCard
    metric: Metric
    kind: Literal["registry"] = "registry"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    @property
    def name(self) -> str:
        """Of the metric, for sentences."""
        return f"metric {self.metric.name}"

    def truth(self, path: Path, sample: Path) -> Truth:
        """Open a file of answers or labels; see `Scorer.truth`."""
        ids = read_table(sample).keys(self.card.row_columns)
        return _Values(self.card, self.metric, sample, ids, read_truth(path, ids, self.card))

    def close(self) -> None:
        """Do nothing: nothing was started."""


@dataclass(frozen=True)
class _Values:
    """The truth as an array, rows in the order of the sample."""

    card: TaskCard
    metric: Metric
    sample: Path
    ids: Sequence[str]
    values: NDArray[Any]
    repeats: bool = True

    def read(self, path: Path) -> Predicted:
        return Predicted(path.name, read_submission(path, self.sample, self.card)[1])

    def perfect(self, path: Path) -> Predicted:
        return Predicted(path.name, self.metric.perfect(read_truth(path, self.ids, self.card)))

    def constant(self, cells: Sequence[Any]) -> Predicted:
        row: NDArray[Any] = np.empty((1, len(cells)), dtype=self.values.dtype)
        row[0] = cells
        return Predicted("a constant", np.repeat(row, len(self.values), axis=0))

    def score(self, predicted: Predicted, rows: Rows | None = None, taken: Rows | None = None) -> float | None:
        values = predicted.values
        assert values is not None  # noqa: S101 - read by this class
        truth = self.values
        if rows is not None:
            truth, values = truth[rows], values[rows if taken is None else taken]
        score = self.metric.score(truth, values, self.card.metric.params) if len(truth) else np.nan
        return float(score) if np.isfinite(score) else None

    def fault(self) -> str | None:
        return fault_of_truth(self.metric, self.values, self.card.metric.params, self.card.prediction_columns)

    def why_not(self, predicted: Predicted) -> str:
        assert predicted.values is not None  # noqa: S101 - read by this class
        return fault_of_predictions(predicted.values, self.card.prediction_columns)
