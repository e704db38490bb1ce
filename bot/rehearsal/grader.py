"""Grades a submission on the public and on the private part of the hidden test; runs off the event loop."""

import math
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.grading import HiddenTest, open_hidden_test
from bot.evaluation.leaderboard import SCORE_DIGITS
from bot.evaluation.metrics import metric_named
from bot.evaluation.submission_file import read_submission
from bot.evaluation.tables import read_table
from scrapers.answers import USAGE
from scrapers.snapshot import Snapshot
from state.errors import InvalidSubmission

_DRAWS = 50
"""Public parts that are tried until the metric is defined on both parts (ROC AUC wants both classes in each)."""

Mask = NDArray[np.bool_]


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
    public: Mask
    private: Mask

    def grade(self, content: bytes, name: str) -> Grade:
        """Grade the content of a file of that name; the text of an error is for its author."""
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            try:
                _, predicted = read_submission(path, self.test.sample, self.test.card)
                return Grade(self._score(predicted, self.public), self._score(predicted, self.private))
            except InvalidSubmission as error:
                return Grade(error=str(error))

    def _score(self, predicted: NDArray[Any], mask: Mask) -> float:
        score = _score(self.test, predicted, mask)
        if not math.isfinite(score):
            raise InvalidSubmission("Evaluation Exception: the score is not a finite number.")
        return round(score, SCORE_DIGITS)


def open_grader(snapshot: Snapshot, *, seed: int, public_share: float) -> Grader:
    """Read the answers; the public part is Kaggle's own where they say so, and drawn by seed where they do not.

    Raises:
        SnapshotError: the answers cannot be used.
    """
    test = open_hidden_test(snapshot.path, snapshot.card)
    answers = read_table(snapshot.answers)
    if USAGE in answers.header:
        usage: dict[str, str] = dict(zip(answers.column(snapshot.card.id_column), answers.column(USAGE), strict=True))
        uses = [usage[one] for one in read_table(test.sample).column(snapshot.card.id_column)]
        return Grader(test, np.array([use == "Public" for use in uses]), np.array([use == "Private" for use in uses]))
    count = len(test.truth)
    for draw in range(_DRAWS):
        chosen = random.Random(f"{seed}/public/{draw}").sample(range(count), max(1, round(count * public_share)))  # noqa: S311
        public = np.zeros(count, dtype=bool)
        public[chosen] = True
        if all(math.isfinite(_score(test, test.truth, part)) for part in (public, ~public)):
            return Grader(test, public, ~public)
    return Grader(test, np.ones(count, dtype=bool), np.ones(count, dtype=bool))


def _score(test: HiddenTest, predicted: NDArray[Any], mask: Mask) -> float:
    if not mask.any():
        return math.nan
    metric = metric_named(test.card.metric.name)
    return metric.score(test.truth[mask], predicted[mask], test.card.metric.params)
