"""Scores by a competition's own grade.py, in a process of its own."""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.evaluation.graders import GraderKind
from bot.evaluation.graders.process import GraderLimits, GraderProcess, Order
from bot.evaluation.scoring.prediction_file import read_submission
from bot.evaluation.scoring.truth import PredictionSet, Rows, Truth, score_or_nan
from bot.evaluation.tables.csv_table import read_table, write_table
from scrapers.snapshots.card import TaskCard
from state.errors import GraderStopped, InvalidSubmission


class GraderScorer:
    """A `Scorer`."""

    kind: GraderKind = "competition"
    name = "competition's grader"

    def __init__(self, card: TaskCard, grade_py: Path, limits: GraderLimits | None) -> None:
        self._card = card
        self._process = GraderProcess(grade_py, limits)

    def truth(self, path: Path, sample: Path) -> Truth:
        """Open a file of answers or labels; see `Scorer.truth`."""
        card = self._card
        ids = read_table(sample).keys(card.row_columns)
        own_keys = _keys_of(path, card.row_columns)
        # Only one row of answers for each that is asked for can be put in order, or be left out of a part.
        matching = own_keys if own_keys is not None and Counter(own_keys) == Counter(ids) else None
        handle = self._process.load(path, key=() if matching is None else card.row_columns)
        self._process.ordered(handle)
        columns = tuple(name for name in read_table(sample).header if name in card.columns)
        order = None if matching is None else Order(handle, columns)
        return _GraderTruth(card, self._process, path, sample, matching, handle, order)

    def close(self) -> None:
        """End what was started."""
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
                f"The grader does not finish on {predictions.name}, though it does on {self.sample.name}: {error}"
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


def _keys_of(path: Path, columns: Sequence[str]) -> list[str] | None:
    if path.suffix.lower() == ".jsonl":
        return None
    table = read_table(path)
    return table.keys(columns) if all(table.header.count(name) == 1 for name in columns) else None
