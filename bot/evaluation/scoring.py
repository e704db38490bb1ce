"""The one way to score predictions: by a metric of the registry, or by the competition's own grade.py."""

import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.graders.marking import is_model_written
from bot.evaluation.graders.process import GraderLimits, GraderProcess, Order
from bot.evaluation.metrics import METRICS, Metric, metric_named
from bot.evaluation.submission_file import read_submission, read_truth
from bot.evaluation.tables import read_table, write_table
from scrapers.card import TaskCard
from state.errors import GraderFailed, GraderStopped, InvalidSubmission

GraderKind = Literal["registry", "competition", "model-written"]
"""Who says what a score is: a metric of ours, the competition's own grade.py, or one that a model wrote."""

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
        if self.process is not None:
            self.process.drop(self.handle)
        if self.file is not None:
            self.file.unlink(missing_ok=True)


class Truth(Protocol):
    """Answers or labels, and the scores of predictions against them."""

    @property
    def ids(self) -> Sequence[str] | None:
        """What tells each row apart (`row_key`), in the order that `rows` counts; None where only whole files can be scored."""
        ...

    @property
    def repeats(self) -> bool:
        """Whether a row may count several times in one score."""
        ...

    def read(self, path: Path) -> Predicted:
        """Read a file of predictions. Raises InvalidSubmission: it has not the form of the sample; the text says why."""
        ...

    def perfect(self, path: Path) -> Predicted:
        """Take a file of answers (the id and the prediction columns, others are left out) as predictions."""
        ...

    def constant(self, cells: Sequence[Any]) -> Predicted:
        """Take one and the same prediction, a cell for each prediction column, for all rows; to be used as a context."""
        ...

    def score(self, predicted: Predicted, rows: Rows | None = None, taken: Rows | None = None) -> float | None:
        """Return the score, of some rows or of all; None where it is no finite number.

        Args:
            predicted: what this truth has read.
            rows: numbers of the rows that count; None: all.
            taken: for each of `rows`, the number of the row whose prediction stands for it; None: its own.

        Raises:
            InvalidSubmission: a grade.py refuses the predictions, fails on them, or does not come to an end with them.
            SnapshotError: the grade.py cannot be used at all.
            InfrastructureFailure: the grade.py takes more than its limits whatever it is given, or does not start.
        """
        ...


class Scorer(AbstractContextManager["Scorer"], Protocol):
    """Scores the predictions of one task; to be closed."""

    @property
    def kind(self) -> GraderKind:
        """Who says what a score is."""
        ...

    @property
    def name(self) -> str:
        """Of the metric, for sentences."""
        ...

    def truth(self, path: Path, sample: Path) -> Truth:
        """Open a file of answers or labels.

        Args:
            path: the file.
            sample: has the ids that predictions are asked for.

        Raises:
            InvalidSubmission: the file cannot serve as the truth.
            SnapshotError: the grade.py cannot be used at all.
            InfrastructureFailure: its process does not start.
        """
        ...

    def close(self) -> None:
        """End what was started; a later score starts it again."""
        ...


def open_scorer(card: TaskCard, grader: Path | None, limits: GraderLimits | None = None) -> Scorer:
    """Return what scores the predictions of a task.

    A metric that the registry knows is computed here, whatever grader there is; for others there is their grade.py.

    Args:
        card: the task.
        grader: the competition's grade.py; None: there is none, as in live runs.
        limits: of the grader's process.

    Raises:
        UsageError: the metric is not known, and there is no grader.
    """
    if card.metric.name in METRICS or grader is None:
        return _RegistryScorer(card, metric_named(card.metric.name))
    return _GraderScorer(card, grader, limits)


@dataclass(frozen=True)
class _RegistryScorer:
    card: TaskCard
    metric: Metric
    kind: GraderKind = "registry"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    @property
    def name(self) -> str:
        return f"metric {self.metric.name}"

    def truth(self, path: Path, sample: Path) -> Truth:
        ids = read_table(sample).keys(self.card.row_columns)
        return _Values(self.card, self.metric, sample, ids, read_truth(path, ids, self.card))

    def close(self) -> None:
        pass


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
        return Predicted(path.name, read_truth(path, self.ids, self.card))

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


class _GraderScorer:
    def __init__(self, card: TaskCard, grade_py: Path, limits: GraderLimits | None) -> None:
        written = is_model_written(grade_py)
        self._card = card
        self._process = GraderProcess(grade_py, limits, must_contain=written)
        self.kind: GraderKind = "model-written" if written else "competition"
        self.name = "model-written grader" if written else "competition's grader"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def truth(self, path: Path, sample: Path) -> Truth:
        card = self._card
        ids = read_table(sample).keys(card.row_columns)
        own = _keys_of(path, card.row_columns)
        # Only one row of answers for each that is asked for can be put in order, or be left out of a part.
        matching = own if own is not None and Counter(own) == Counter(ids) else None
        handle = self._process.load(path, key=() if matching is None else card.row_columns)
        self._process.ordered(handle)
        columns = tuple(name for name in read_table(sample).header if name in card.columns)
        order = None if matching is None else Order(handle, columns)
        return _GraderTruth(card, self._process, sample, matching, handle, order, shy=self.kind == "model-written")

    def close(self) -> None:
        self._process.close()


@dataclass(frozen=True)
class _GraderTruth:
    """The truth as a grade.py takes it: the whole file, rows in the file's order."""

    card: TaskCard
    process: GraderProcess
    sample: Path
    ids: Sequence[str] | None
    answers: int
    order: Order | None
    shy: bool
    """Whether the grader's own words are kept back: it is generated code, and has seen the answers."""
    repeats: bool = False

    def read(self, path: Path) -> Predicted:
        read_submission(path, self.sample, self.card)
        return self.perfect(path)

    def perfect(self, path: Path) -> Predicted:
        key = () if self.order is None else self.card.row_columns
        handle = self.process.load(path, key=key, order=self.order)
        return Predicted(path.name, handle=handle, process=self.process)

    def constant(self, cells: Sequence[Any]) -> Predicted:
        card = self.card
        with tempfile.NamedTemporaryFile(prefix="constant-", suffix=".csv", delete=False) as file:
            path = Path(file.name)
        shown = [str(cell) for cell in cells]
        rows = read_table(self.sample).columns(card.row_columns)
        write_table(path, card.columns, ([*key, *shown] for key in rows))
        made = self.perfect(path)
        return Predicted("a constant", handle=made.handle, process=self.process, file=path)

    def score(self, predicted: Predicted, rows: Rows | None = None, taken: Rows | None = None) -> float | None:
        if rows is not None and len(rows) == 0:
            return None
        try:
            return self.process.score(predicted.handle, self.answers, rows, taken)
        except GraderFailed as error:
            if self.shy:
                raise GraderFailed(f"The model-written grader failed with {error.kind}.") from error
            raise
        except InvalidSubmission as error:
            if self.shy:
                raise InvalidSubmission("The model-written grader refuses it.") from error
            raise
        except GraderStopped as error:
            self._control(rows)
            raise InvalidSubmission(
                f"The grader does not come to an end with {predicted.name}, though it does with {self.sample.name}: {error}"
            ) from error

    def _control(self, rows: Rows | None) -> None:
        """Score the sample, to learn whose fault it is; raises GraderStopped where it is not the predictions'."""
        with self.perfect(self.sample) as sample, suppress(InvalidSubmission):  # a refusal is an end, too
            self.process.score(sample.handle, self.answers, rows)


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


def _keys_of(path: Path, columns: Sequence[str]) -> list[str] | None:
    if path.suffix.lower() == ".jsonl":
        return None
    table = read_table(path)
    return table.keys(columns) if all(table.header.count(name) == 1 for name in columns) else None
