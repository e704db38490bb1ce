"""Medals, median and win rate from a leaderboard: MLE-bench's formulas in plain Python.

Source: openai/mle-bench at commit 783b15a, `mlebench/grade_helpers.py`.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bot.evaluation.answers.findings import GuardFinding, guard_passed, suspicious
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.leaderboard import read_leaderboard as read_scores
from scrapers.snapshots.problems import Problems
from state.errors import SnapshotError

Medal = Literal["gold", "silver", "bronze"]
MEDALS: tuple[Medal, ...] = ("gold", "silver", "bronze")
"""The best first."""

SCORE_DIGITS = 5
"""Scores are rounded to this many digits before they are compared; thresholds are not."""
FEWEST_ENTRIES = 3
"""Entries that a board needs to be meaningful."""
_BEYOND_BOARD = "beyond the leaderboard"


@dataclass(frozen=True)
class Thresholds:
    """The last scores that still earn each medal, and the median score."""

    gold: float
    silver: float
    bronze: float
    median: float


@dataclass(frozen=True)
class MedalStanding:
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

    Raises SnapshotError: the file is missing, empty, has no such column, or holds something that is no finite number.
    """
    problems = Problems()
    scores = read_scores(path.parent, None, problems)
    if not path.is_file():
        problems.add(path.name, "is missing")
    if problems.problems:
        raise SnapshotError(problems.problems)
    return tuple(scores)


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


def standing(scores: Sequence[float], score: float, *, lower_is_better: bool) -> MedalStanding:
    """Return the place of a score (already rounded) on a board.

    Medals are inclusive and each excludes the lower ones; above the median is strict; the win rate is the share of
    entries strictly worse.
    """
    sign = -1.0 if lower_is_better else 1.0
    oriented_score = sign * score
    limits = thresholds(scores)
    gold = oriented_score >= sign * limits.gold
    silver = not gold and oriented_score >= sign * limits.silver
    bronze = not gold and not silver and oriented_score >= sign * limits.bronze
    beaten = sum(sign * entry < oriented_score for entry in scores)
    return MedalStanding(gold, silver, bronze, oriented_score > sign * limits.median, beaten / len(scores))


def beyond_board(score: float, board: Sequence[float], card: TaskCard, noise: float = 0.0) -> str | None:
    """Return a sentence if a score is further beyond a board's best than that is beyond the median; otherwise None.

    A little beyond it is no surprise: a validation part, or a snapshot's test, may be easier than the site's. The board is
    best first; `noise` is the margin by which a score may exceed it by chance.
    """
    if len(board) < FEWEST_ENTRIES:
        return None
    first, middle = board[0], board[len(board) // 2]
    best, median = card.oriented(first), card.oriented(middle)
    if best == median or card.oriented(score) - best <= max(best - median, noise):
        return None
    return (
        f"the score of {score:.6g} beats the leaderboard's best score ({first:.6g}) by more than the best beats the median "
        f"({middle:.6g})"
    )


def board_finding(score: float, board: Sequence[float], card: TaskCard) -> GuardFinding:
    """Compare a hidden score with the real leaderboard, which nobody may know before the end."""
    sentence = beyond_board(score, board, card)
    if sentence is not None:
        return suspicious(_BEYOND_BOARD, sentence, score=score, best=board[0])
    return guard_passed(
        _BEYOND_BOARD, f"the hidden score of {score:.6g} is not far beyond the leaderboard's best ({board[0]:.6g})"
    )
