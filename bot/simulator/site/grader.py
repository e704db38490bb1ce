"""Grades a submission on the public and the private part of the hidden test; runs off the event loop."""

import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bot.evaluation.answers.board import SCORE_DIGITS
from bot.evaluation.grading.grade import HiddenTest, open_hidden_test
from bot.evaluation.scoring.truth import PredictionSet, Rows
from bot.evaluation.tables.csv_table import Table, read_table
from scrapers.snapshots.answers import USAGE
from scrapers.snapshots.snapshot import Snapshot
from scrapers.snapshots.tables import Repeats
from state.errors import InvalidSubmission

_DRAWS = 50
"""Draws of a public part until the metric is defined on both parts (ROC AUC needs both classes in each)."""


@dataclass(frozen=True)
class Grade:
    """The result of grading a submission: both scores, or why there are none."""

    public: float | None = None
    private: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class Grader:
    """The hidden test, and which of its rows are public and which private; other rows are ignored."""

    test: HiddenTest
    public: Rows | None
    """None: all rows, as a competition's grader may score whole files only."""
    private: Rows | None

    def grade(self, content: bytes, name: str) -> Grade:
        """Grade the content of a file of that name; the text of an error is for its author."""
        # A competition's grader is a process, which is not kept running, as submissions are rare.
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder, closing(self.test):
            path = Path(folder) / name
            path.write_bytes(content)
            try:
                with closing(self.test.truth.read(path)) as predictions:
                    return Grade(self._score(predictions, self.public), self._score(predictions, self.private))
            except InvalidSubmission as error:
                return Grade(error=str(error))

    def _score(self, predictions: PredictionSet, rows: Rows | None) -> float:
        score = self.test.truth.score(predictions, rows)
        if score is None:
            raise InvalidSubmission("Evaluation Exception: the score is not a finite number.")
        return round(score, SCORE_DIGITS)


def open_grader(snapshot: Snapshot, *, seed: int, public_share: float) -> Grader:
    """Read the answers; the public part is Kaggle's own if they mark it, else drawn by seed.

    Raises:
        SnapshotError: the answers cannot be used, or the competition's grader cannot.
        InfrastructureFailure: the grader's process does not start.
    """
    test = open_hidden_test(snapshot.path, snapshot.card)
    with closing(test):
        ids = test.truth.ids
        if ids is None:
            return Grader(test, None, None)
        answers = read_table(snapshot.answers)
        if USAGE in answers.header:
            usage = _usage(answers, snapshot.card.row_columns, ids)
            return Grader(test, *(np.flatnonzero([p == part for p in usage]) for part in ("Public", "Private")))
        # If only the competition's own grader understands the answers, the sample shows which parts it can score.
        perfect = snapshot.answers if set(snapshot.card.columns) <= set(answers.header) else test.sample
        return _draw_parts(test, perfect, len(ids), seed, public_share)


def _usage(answers: Table, key: Sequence[str], ids: Sequence[str]) -> list[str]:
    numbered_answers, numbered_ids = Repeats(), Repeats()
    usage_of = dict(zip(map(numbered_answers.numbered, answers.keys(key)), answers.column(USAGE), strict=True))
    return [usage_of[numbered_ids.numbered(id)] for id in ids]


def _draw_parts(test: HiddenTest, answers: Path, count: int, seed: int, public_share: float) -> Grader:
    perfect = test.truth.perfect(answers)
    for draw in range(_DRAWS):
        public_rows = random.Random(f"{seed}/public/{draw}").sample(range(count), max(1, round(count * public_share)))  # noqa: S311
        public = np.zeros(count, dtype=bool)
        public[public_rows] = True
        parts = np.flatnonzero(public), np.flatnonzero(~public)
        if all(_defined(test, perfect, part) for part in parts):
            return Grader(test, *parts)
    return Grader(test, None, None)


def _defined(test: HiddenTest, perfect: PredictionSet, rows: Rows) -> bool:
    try:
        return len(rows) > 0 and test.truth.score(perfect, rows) is not None
    except InvalidSubmission:
        return False
