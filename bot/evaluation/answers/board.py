"""Medals, median and win rate from a leaderboard: MLE-bench's formulas in plain Python.

Source: openai/mle-bench at commit 783b15a, `mlebench/grade_helpers.py`.
"""

import csv
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scrapers.snapshots.tables import read_number
from state.errors import Problem, SnapshotError

Medal = Literal["gold", "silver", "bronze"]
MEDALS: tuple[Medal, ...] = ("gold", "silver", "bronze")
"""The best first."""

SCORE_DIGITS = 5
"""Scores are rounded to this many digits before they are compared; thresholds are not."""


@dataclass(frozen=True)
class Thresholds:
    """The last scores that still earn each medal, and the median score."""

    gold: float
    silver: float
    bronze: float
    median: float


@dataclass(frozen=True)
class Standing:
    """The place of a score on a board; at most one of the three medals is true."""

    gold_medal: bool = False
    silver_medal: bool = False
    bronze_medal: bool = False
    above_median: bool = False
    win_rate: float = 0.0

    @property
    def any_medal(self) -> bool:
        """Whether it earns a medal at all."""
        return self.gold_medal or self.silver_medal or self.bronze_medal


def read_leaderboard(path: Path) -> tuple[float, ...]:
    """Return the column `score` of a leaderboard, in file order (best first).

    Raises:
        SnapshotError: the file is missing, empty, has no such column, or holds something that is no finite number.
    """
    if not path.is_file():
        raise SnapshotError([Problem(path.name, None, "the leaderboard is missing")])
    scores: list[float] = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if "score" not in (reader.fieldnames or ()):
            raise SnapshotError([Problem(path.name, 1, "the leaderboard must have a column `score`")])
        for row in reader:
            scores.append(_score(row["score"], path.name, reader.line_num))
    if not scores:
        raise SnapshotError([Problem(path.name, None, "the leaderboard has no entries")])
    return tuple(scores)


def _score(text: str | None, file: str, line: int) -> float:
    score = read_number(text or "")
    if score is None or not math.isfinite(score):
        raise SnapshotError([Problem(file, line, f"the score {text!r} is not a finite number")])
    return score


def board_is_lower_better(scores: Sequence[float]) -> bool:
    """Whether smaller is better by the order of a board; a tie of first and last means False."""
    return scores[0] < scores[-1]


def medal_positions(teams: int) -> tuple[int, int, int]:
    """Return the ranks (from 1) of the last gold, silver and bronze among that many teams, by size class."""
    tenth, fifth, two_fifths = (max(1, int(teams * share)) for share in (0.1, 0.2, 0.4))
    if teams < 100:
        return tenth, fifth, two_fifths
    if teams < 250:
        return 10, fifth, two_fifths
    gold = 10 + int(teams * 0.002)
    if teams < 1000:
        return gold, 50, 100
    return gold, max(1, int(teams * 0.05)), tenth


def medal_at(rank: int, teams: int) -> Medal | None:
    """Return the best medal that a rank (from 1) among that many teams earns."""
    places = zip(MEDALS, medal_positions(teams), strict=True)
    return next((medal for medal, last in places if rank <= last), None)


def thresholds(scores: Sequence[float]) -> Thresholds:
    """Return the thresholds of a board (scores best first, not empty)."""
    gold, silver, bronze = (scores[rank - 1] for rank in medal_positions(len(scores)))
    return Thresholds(gold, silver, bronze, statistics.median(scores))


def standing(scores: Sequence[float], score: float, *, lower_is_better: bool) -> Standing:
    """Return the place of a score (already rounded) on a board.

    Medals are inclusive and each excludes the lower ones; above the median is strict; the win rate is the share of
    entries strictly worse.
    """
    sign = -1.0 if lower_is_better else 1.0
    own = sign * score
    limits = thresholds(scores)
    gold = own >= sign * limits.gold
    silver = not gold and own >= sign * limits.silver
    bronze = not gold and not silver and own >= sign * limits.bronze
    beaten = sum(sign * entry < own for entry in scores)
    return Standing(gold, silver, bronze, own > sign * limits.median, beaten / len(scores))
