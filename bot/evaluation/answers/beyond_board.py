"""A score further beyond a leaderboard's best than honest work gets; importable without numpy."""

from collections.abc import Sequence

from bot.evaluation.answers.findings import Finding, passed, suspicious
from scrapers.snapshots.card import TaskCard

NAME = "beyond the leaderboard"
FEWEST = 3
"""Entries that a board needs to be meaningful."""


def beyond_board(score: float, board: Sequence[float], card: TaskCard, noise: float = 0.0) -> str | None:
    """Return a sentence if a score is further beyond a board's best than that is beyond the median; otherwise None.

    A little beyond it is no surprise: a validation part, or a snapshot's test, may be easier than the site's.

    Args:
        score: as the metric gives it.
        board: its scores, best first.
        card: the task.
        noise: margin by which a score may exceed it by chance.
    """
    if len(board) < FEWEST:
        return None
    first, middle = board[0], board[len(board) // 2]
    best, median = card.oriented(first), card.oriented(middle)
    if best == median or card.oriented(score) - best <= max(best - median, noise):
        return None
    return (
        f"the score of {score:.6g} is further beyond the leaderboard's best of {first:.6g} than that is beyond the median of "
        f"{middle:.6g}"
    )


def board_finding(score: float, board: Sequence[float], card: TaskCard) -> Finding:
    """Compare a hidden score with the real leaderboard, which nobody may know before the end."""
    sentence = beyond_board(score, board, card)
    if sentence is not None:
        return suspicious(NAME, sentence, score=score, best=board[0])
    return passed(NAME, f"the hidden score of {score:.6g} is not far beyond the leaderboard's best of {board[0]:.6g}")
