"""Answers or labels as something that predictions are scored against, whoever says what a score is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.graders.process import GraderProcess
from state.errors import GraderStopped, InvalidSubmission

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Predicted:
    """Predictions that were read and are of the right form, for the truth that read them; as a context: until its end."""

    name: str
    values: NDArray[Any] | None = None
    handle: int = 0
    process: GraderProcess | None = None
    file: Path | None = None
    """Written for it, and removed at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.process is not None:
                self.process.drop(self.handle)
        finally:
            if self.file is not None:
                self.file.unlink(missing_ok=True)


class Truth(Protocol):
    """Answers or labels, and the scores of predictions against them."""

    @property
    def ids(self) -> Sequence[str] | None:
        """What tells each row apart (`row_key`), in the order that `rows` counts; None where only whole files can be scored."""

    @property
    def repeats(self) -> bool:
        """Whether a row may count several times in one score."""

    def read(self, path: Path) -> Predicted:
        """Read a file of predictions. Raises InvalidSubmission: it has not the form of the sample; the text says why."""

    def perfect(self, path: Path) -> Predicted:
        """Take a file of answers (the id and the prediction columns, others are left out) as predictions."""

    def constant(self, cells: Sequence[Any]) -> Predicted:
        """Take one and the same prediction, a cell for each prediction column, for all rows; to be used as a context."""

    def score(self, predicted: Predicted, rows: Rows | None = None, taken: Rows | None = None) -> float | None:
        """Return the score, of some rows or of all; None where it is no finite number (`fault` and `why_not` say why).

        Args:
            predicted: what this truth has read.
            rows: numbers of the rows that count; None: all.
            taken: for each of `rows`, the number of the row whose prediction stands for it; None: its own.

        Raises:
            InvalidSubmission: a grade.py refuses the predictions, fails on them, or does not come to an end with them.
            SnapshotError: the grade.py cannot be used at all.
            InfrastructureFailure: the grade.py takes more than its limits whatever it is given, or does not start.
        """

    def fault(self) -> str | None:
        """Say why no predictions at all have a score; None: right ones have one. Raises as `score` does, but no refusal."""

    def why_not(self, predicted: Predicted) -> str:
        """Say why predictions have no finite score, where right ones have one."""


def score_or_nan(truth: Truth, predicted: Predicted, rows: Rows | None = None, taken: Rows | None = None) -> float:
    """Return a score as `Truth.score` does, or NaN where there is none, be it that a grader cannot do with a part.

    Raises:
        SnapshotError: the grade.py cannot be used at all.
        InfrastructureFailure: its process does not start.
    """
    try:
        score = truth.score(predicted, rows, taken)
    except (InvalidSubmission, GraderStopped):
        return math.nan
    return math.nan if score is None else score
