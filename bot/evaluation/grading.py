"""Grades a submission as MLE-bench does: score, thresholds, medals; and our win rate."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bot.evaluation.csv_rows import fault_of_place, shown_name
from bot.evaluation.leaderboard import (
    SCORE_DIGITS,
    Standing,
    board_is_lower_better,
    read_leaderboard,
    standing,
    thresholds,
)
from bot.evaluation.metrics import metric_named
from bot.evaluation.submission_file import read_submission, read_truth
from bot.evaluation.tables import read_table
from scrapers.card import TaskCard
from state.clock import Clock, SystemClock
from state.errors import InvalidSubmission, Problem, SnapshotError


@dataclass(frozen=True)
class HiddenTest:
    """A snapshot's answers and leaderboard, read once."""

    card: TaskCard
    sample: Path
    truth: NDArray[Any]
    board: tuple[float, ...]

    def score(self, submission: Path) -> float:
        """Return the official score of a submission, rounded to five digits.

        Raises:
            InvalidSubmission: the file cannot be scored.
            UsageError: the card's metric is not known.
        """
        metric = metric_named(self.card.metric.name)
        _, predicted = read_submission(submission, self.sample, self.card)
        score = metric.score(self.truth, predicted, self.card.metric.params)
        if not math.isfinite(score):
            raise InvalidSubmission(f"{submission.name}: the metric {metric.name} gives no finite score ({score}).")
        return round(score, SCORE_DIGITS)

    def standing(self, score: float) -> Standing:
        """Return where a score stands on the leaderboard, by the card's direction."""
        return standing(self.board, score, lower_is_better=self.card.lower_is_better)


def open_hidden_test(snapshot_dir: Path, card: TaskCard) -> HiddenTest:
    """Read a snapshot's answers and leaderboard.

    Raises:
        SnapshotError: the answers, the sample submission or the leaderboard are missing or unusable.
    """
    sample, answers = snapshot_dir / "data" / "sample_submission.csv", snapshot_dir / "private" / "answers.csv"
    for path in (sample, answers):
        if not path.is_file():
            raise SnapshotError([Problem(f"{path.parent.name}/{path.name}", None, "the file is missing")])
    ids = read_table(sample).column(card.id_column)
    try:
        truth = read_truth(answers, ids, card)
    except InvalidSubmission as error:
        raise SnapshotError([Problem("private/answers.csv", None, str(error))]) from error
    return HiddenTest(card, sample, truth, read_leaderboard(snapshot_dir / "leaderboard.csv"))


def grade(snapshot_dir: Path, card: TaskCard, submission_path: Path, clock: Clock | None = None) -> dict[str, Any]:
    """Grade one submission file against a snapshot.

    Returns:
        MLE-bench's report under its names, with `win_rate` and `n_teams`; `message` says why an invalid file is
        invalid; `note` is there if the board's order contradicts the card's direction, which is the one used.

    Raises:
        SnapshotError: the snapshot cannot be graded against.
        UsageError: the card's metric is not known.
    """
    return _graded(open_hidden_test(snapshot_dir, card), submission_path, clock or SystemClock())


def grade_some(
    snapshot_dir: Path,
    card: TaskCard,
    submission_paths: list[Path | None],
    seconds: float = 10.0,
    clock: Clock | None = None,
) -> list[dict[str, Any]]:
    """Grade the first of many submission files, one at least, and as many as there is time for.

    Args:
        snapshot_dir: the snapshot, opened once.
        card: the task.
        submission_paths: the files; None where a run left none, which MLE-bench writes as "None".
        seconds: after which no further file is begun; four times what opening took, if that is more.
        clock: tells when they were graded.

    Returns:
        A report as of `grade` for each that was graded, in order.

    Raises:
        SnapshotError: the snapshot cannot be graded against.
        UsageError: the card's metric is not known.
    """
    began = time.monotonic()
    test = open_hidden_test(snapshot_dir, card)
    opened = time.monotonic()
    end = opened + max(seconds, 4 * (opened - began))
    reports = []
    for path in submission_paths:
        reports.append(_graded(test, path, clock or SystemClock()))
        if time.monotonic() > end:
            break
    return reports


def _graded(test: HiddenTest, path: Path | None, clock: Clock) -> dict[str, Any]:
    score, message = None, _fault_of_path(path)
    exists = path is not None and message is None
    if path is not None and message is None:
        try:
            score = test.score(path)
        except InvalidSubmission as error:
            message = str(error)
    report = _report(test, score)
    report |= {
        "submission_exists": exists,
        "created_at": clock.now().isoformat(),
        "submission_path": str(path),
    }
    if message is not None:
        report["message"] = message
    return report | _direction_note(test.board, test.card)


def _fault_of_path(path: Path | None) -> str | None:
    """Say why there is no submission at a path, as far as MLE-bench looks; None: there is one."""
    if path is None:
        return "There is no submission."
    if (fault := fault_of_place(path)) is not None:
        return fault
    return None if path.suffix.lower() == ".csv" else f"{shown_name(path)} does not end in .csv."


def _report(test: HiddenTest, score: float | None) -> dict[str, Any]:
    limits = thresholds(test.board)
    stands = Standing() if score is None else test.standing(score)
    return {
        "competition_id": test.card.slug,
        "score": score,
        **{f"{name}_threshold": value for name, value in asdict(limits).items()},
        "any_medal": stands.any_medal,
        **asdict(stands),
        "valid_submission": score is not None,
        "is_lower_better": test.card.lower_is_better,
        "n_teams": len(test.board),
    }


def _direction_note(board: Sequence[float], card: TaskCard) -> dict[str, str]:
    if board_is_lower_better(board) == card.lower_is_better:
        return {}
    if board[0] == board[-1]:
        return {
            "note": "the first and last scores of the leaderboard are equal, so that MLE-bench would take higher ones for better"
        }
    return {
        "note": f"the leaderboard's order contradicts the card's direction ({card.metric.direction}), which is used"
    }
