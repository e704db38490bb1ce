"""Grades a submission on the public and on the private part of the hidden test; runs off the event loop."""

import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bot.evaluation.answers.board import SCORE_DIGITS
from bot.evaluation.grading.grade import HiddenTest, open_hidden_test
from bot.evaluation.scoring.truth import Predicted, Rows
from bot.evaluation.tables.csv_table import Table, read_table
from scrapers.snapshots.answers import USAGE
from scrapers.snapshots.snapshot import Snapshot
from scrapers.snapshots.tables import Repeats
from state.errors import InvalidSubmission

_DRAWS = 50
"""Public parts that are tried until the metric is defined on both parts (ROC AUC wants both classes in each)."""


@dataclass(frozen=True)
class Grade:
    """What came of a submission: both scores, or why there are none."""

    public: float | None = None
    private: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class Grader:
    """The hidden test, and which of its rows are public and which private; the rest is ignored."""

    test: HiddenTest
    public: Rows | None
    """None: all rows, as of a competition's grader that scores whole files only."""
    private: Rows | None

    def grade(self, content: bytes, name: str) -> Grade:
        """Grade the content of a file of that name; the text of an error is for its author."""
        # A competition's grader is a process: submissions are rare, so that it is not kept.
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder, closing(self.test):
            path = Path(folder) / name
            path.write_bytes(content)
            try:
                with closing(self.test.truth.read(path)) as predicted:
                    return Grade(self._score(predicted, self.public), self._score(predicted, self.private))
            except InvalidSubmission as error:
                return Grade(error=str(error))

    def _score(self, predicted: Predicted, rows: Rows | None) -> float:
        score = self.test.truth.score(predicted, rows)
        if score is None:
            raise InvalidSubmission("Evaluation Exception: the score is not a finite number.")
        return round(score, SCORE_DIGITS)


def open_grader(snapshot: Snapshot, *, seed: int, public_share: float) -> Grader:
    """Read the answers; the public part is Kaggle's own where they say so, and drawn by seed where they do not.

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
            return Grader(test, *(np.flatnonzero([one == part for one in usage]) for part in ("Public", "Private")))
        # Where only the competition's own grader knows what the answers mean, the sample shows which parts it can score.
        whole = snapshot.answers if set(snapshot.card.columns) <= set(answers.header) else test.sample
        return _drawn(test, whole, len(ids), seed, public_share)


def _usage(answers: Table, key: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return of which part each row is, in the order of `ids`."""
    theirs, ours = Repeats(), Repeats()
    known = dict(zip(map(theirs.numbered, answers.keys(key)), answers.column(USAGE), strict=True))
    return [known[ours.numbered(one)] for one in ids]


def _drawn(test: HiddenTest, whole: Path, count: int, seed: int, public_share: float) -> Grader:
    perfect = test.truth.perfect(whole)
    for draw in range(_DRAWS):
        chosen = random.Random(f"{seed}/public/{draw}").sample(range(count), max(1, round(count * public_share)))  # noqa: S311
        public = np.zeros(count, dtype=bool)
        public[chosen] = True
        parts = np.flatnonzero(public), np.flatnonzero(~public)
        if all(_defined(test, perfect, part) for part in parts):
            return Grader(test, *parts)
    return Grader(test, None, None)


def _defined(test: HiddenTest, perfect: Predicted, rows: Rows) -> bool:
    try:
        return len(rows) > 0 and test.truth.score(perfect, rows) is not None
    except InvalidSubmission:
        return False
