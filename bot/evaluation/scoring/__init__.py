"""The one way to score predictions: by a metric of the registry, or by the competition's own grade.py."""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bot.evaluation.answers import LabelledView
from bot.evaluation.graders import GraderKind
from bot.evaluation.graders.process import GraderLimits, GraderProcess, Order
from bot.evaluation.metrics.registry import METRICS, metric_named
from bot.evaluation.scoring.prediction_file import read_submission
from bot.evaluation.scoring.registry_scorer import RegistryScorer
from bot.evaluation.scoring.truth import PartOfTruth, PredictionSet, Rows, Truth, score_or_nan
from bot.evaluation.tables.csv_table import read_table, write_table
from bot.evaluation.views.parts import final_places
from scrapers.snapshots.card import TaskCard
from state.errors import GraderStopped, InfrastructureFailure, InvalidSubmission


class GraderScorer:
    """Scores the predictions of one task by its grade.py; to be closed."""

    kind: GraderKind = "competition"
    name = "competition's grader"
    """For sentences."""

    def __init__(self, card: TaskCard, grade_py: Path, limits: GraderLimits | None) -> None:
        self._card = card
        self._process = GraderProcess(grade_py, limits)

    def truth(self, path: Path, sample: Path) -> Truth:
        """Open a file of answers or labels; `sample` has the ids of the rows to predict.

        Raises:
            InvalidSubmission: the file cannot serve as the truth.
            SnapshotError: the grade.py cannot be used at all.
            InfrastructureFailure: its process does not start.
        """
        card = self._card
        ids = read_table(sample).keys(card.row_columns)
        table = None if path.suffix.lower() == ".jsonl" else read_table(path)
        has_keys = table is not None and all(table.header.count(name) == 1 for name in card.row_columns)
        own_keys = table.keys(card.row_columns) if table is not None and has_keys else None
        # Only one row of answers for each that is asked for can be put in order, or be left out of a part.
        matching = own_keys if own_keys is not None and Counter(own_keys) == Counter(ids) else None
        handle = self._process.load(path, key=() if matching is None else card.row_columns)
        self._process.ordered(handle)
        columns = tuple(name for name in read_table(sample).header if name in card.columns)
        order = None if matching is None else Order(handle, columns)
        return _GraderTruth(card, self._process, path, sample, matching, handle, order)

    def close(self) -> None:
        """End its process; a later score starts it again."""
        self._process.close()


@dataclass(frozen=True)
class _GraderTruth:
    """The truth as a grade.py takes it: the whole file, rows in the file's order."""

    card: TaskCard
    process: GraderProcess
    path: Path
    sample: Path
    ids: Sequence[str] | None
    answers: int
    order: Order | None
    repeats: bool = False

    def read(self, path: Path) -> PredictionSet:
        read_submission(path, self.sample, self.card)
        return self.perfect(path)

    def perfect(self, path: Path) -> PredictionSet:
        key = () if self.order is None else self.card.row_columns
        handle = self.process.load(path, key=key, order=self.order)
        predictions = PredictionSet(path.name, handle=handle)
        predictions.resources.callback(self.process.drop, handle)
        return predictions

    def constant(self, cells: Sequence[Any]) -> PredictionSet:
        card = self.card
        with tempfile.NamedTemporaryFile(prefix="constant-", suffix=".csv", delete=False) as file:
            path = Path(file.name)
        texts = [str(cell) for cell in cells]
        rows = read_table(self.sample).columns(card.row_columns)
        write_table(path, card.columns, ([*key, *texts] for key in rows))
        predictions = self.perfect(path)
        predictions.resources.callback(path.unlink, missing_ok=True)
        return predictions

    def score(self, predictions: PredictionSet, rows: Rows | None = None, donors: Rows | None = None) -> float | None:
        if rows is not None and len(rows) == 0:
            return None
        try:
            return self.process.score(predictions.handle, self.answers, rows, donors)
        except GraderStopped as error:
            self._control(rows)
            raise InvalidSubmission(
                f"The grader did not finish on {predictions.name}, although it did on {self.sample.name}: {error}"
            ) from error

    def draws(self, predictions: PredictionSet) -> Callable[[Rows], float]:
        return lambda rows: score_or_nan(self, predictions, rows)

    def fault(self, rows: Rows | None = None) -> str | None:
        with closing(self.perfect(self.path)) as right:
            try:
                return None if self.score(right, rows) is not None else "even correct predictions get no score"
            except InvalidSubmission as error:
                return f"it rejects even correct predictions: {str(error).rstrip('.')}"

    def why_not(self, predictions: PredictionSet, rows: Rows | None = None) -> str:
        return "the metric is undefined for these predictions"

    def _control(self, rows: Rows | None) -> None:
        """Score the sample, to learn whose fault it is; raises GraderStopped where it is not the predictions'."""
        with closing(self.perfect(self.sample)) as sample, suppress(InvalidSubmission):  # a refusal is an end, too
            self.process.score(sample.handle, self.answers, rows)


Scorer = RegistryScorer | GraderScorer


def open_scorer(card: TaskCard, grader: Path | None, limits: GraderLimits | None = None) -> Scorer:
    """Return the scorer of a task's predictions: the registry's for its metrics, else the competition's grade.py.

    Raises UsageError: the metric is not in the registry, and there is no grader.
    """
    if card.metric.name in METRICS or grader is None:
        return RegistryScorer(card, metric_named(card.metric.name))
    return GraderScorer(card, grader, limits)


def sample_of(view: LabelledView) -> Path:
    """Return the sample of the rows whose labels a view withholds; if these replace the test rows, there is only one."""
    validation_sample = view.data / "sample_validation.csv"
    return validation_sample if validation_sample.is_file() else view.data / "sample_submission.csv"


def labels_of(view: LabelledView, scorer: Scorer) -> Truth:
    """Open a view's labels without those of `final`; raises as `readable_parts`."""
    return readable_parts(view, scorer)[0]


def readable_parts(view: LabelledView, scorer: Scorer) -> tuple[Truth, Truth | None]:
    """Open a view's labels as `parts_of` does, where they must be readable.

    Raises InfrastructureFailure: they cannot be read.
    """
    try:
        return parts_of(view, scorer)
    except InvalidSubmission as error:
        raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error


def parts_of(view: LabelledView, scorer: Scorer) -> tuple[Truth, Truth | None]:
    """Open a view's labels: those for the search's score, and those of `final`, None if no rows are scored apart.

    Both parts score predictions that either has read.

    Raises InvalidSubmission: they cannot be read.
    """
    truth, final_rows = scorer.truth(view.truth, sample_of(view)), sorted(final_places(view.labels))
    if not final_rows:
        return truth, None
    if truth.ids is None:
        raise InvalidSubmission("they do not match the rows to predict, so they cannot be scored in parts.")
    final = np.array(final_rows, dtype=np.int64)
    holdout_rows = np.setdiff1d(np.arange(len(truth.ids)), final)
    return PartOfTruth(truth, holdout_rows), PartOfTruth(truth, final)
