"""Grades a submission as MLE-bench does: score, thresholds, medals; with our win rate. It grades the nodes of a run as well."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.evaluation.answers import GradeReport, HiddenScore, HiddenScores
from bot.evaluation.answers.board import (
    SCORE_DIGITS,
    MedalStanding,
    board_is_lower_better,
    read_leaderboard,
    standing,
    thresholds,
)
from bot.evaluation.metrics.ranking import spearman
from bot.evaluation.scoring import Scorer, open_scorer
from bot.evaluation.scoring.truth import Truth
from bot.evaluation.tables.untrusted_csv import fault_of_place, shown_name
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.files import GRADER
from state.clock import Clock, SystemClock
from state.errors import InvalidSubmission, Problem, SnapshotError


@dataclass(frozen=True)
class HiddenTest:
    """A snapshot's answers and leaderboard, read once; to be closed, as a competition's own grader is a process."""

    card: TaskCard
    sample: Path
    truth: Truth
    board: tuple[float, ...]
    scorer: Scorer

    def score(self, submission: Path) -> float:
        """Return the official score of a submission, rounded to five digits.

        Raises:
            InvalidSubmission: the file cannot be scored.
            SnapshotError: the competition's grader cannot be used.
            InfrastructureFailure: the grader exceeds its limits on any file.
        """
        with closing(self.truth.read(submission)) as predictions:
            score = self.truth.score(predictions)
        if score is None:
            raise InvalidSubmission(f"{submission.name}: the {self.scorer.name} returns no finite score.")
        return round(score, SCORE_DIGITS)

    def close(self) -> None:
        """End the grader's process, if there is one; a later score starts another."""
        self.scorer.close()

    def standing(self, score: float) -> MedalStanding:
        """Return the place of a score on the leaderboard, by the card's direction; without one, none."""
        if not self.board:
            return MedalStanding()
        return standing(self.board, score, lower_is_better=self.card.lower_is_better)


def open_hidden_test(snapshot_dir: Path, card: TaskCard) -> HiddenTest:
    """Read a snapshot's answers and leaderboard, which may be missing.

    Raises:
        SnapshotError: the answers or the sample submission are missing, or they, the leaderboard or the grader are unusable.
        UsageError: the card's metric is not known, and there is no grader.
        InfrastructureFailure: the grader's process does not start.
    """
    grader = snapshot_dir / GRADER
    scorer = open_scorer(card, grader if grader.is_file() else None)
    sample, answers = snapshot_dir / "data" / "sample_submission.csv", _answers(snapshot_dir, card, scorer)
    for path in (sample, answers):
        if not path.is_file():
            raise SnapshotError([Problem(f"{path.parent.name}/{path.name}", None, "the file is missing")])
    try:
        truth = scorer.truth(answers, sample)
    except InvalidSubmission as error:
        raise SnapshotError([Problem(f"private/{answers.name}", None, str(error))]) from error
    board = snapshot_dir / "leaderboard.csv"
    # Rows that were withheld of one's own data have answers and no leaderboard.
    own_data = not board.exists()
    return HiddenTest(card, sample, truth, () if own_data else read_leaderboard(board), scorer)


def _answers(snapshot_dir: Path, card: TaskCard, scorer: Scorer) -> Path:
    """Return the answers for the scorer; a grade.py may need more columns, in the file named in `params`."""
    name = "answers.csv" if scorer.kind == "registry" else str(card.metric.params.get("answers", "answers.csv"))
    if name != Path(name).name:
        fault = f"metric.params.answers must be a file name without a folder, not {name!r}"
        raise SnapshotError([Problem("snapshot.json", None, fault)])
    return snapshot_dir / "private" / name


def grade(snapshot_dir: Path, card: TaskCard, submission_path: Path, clock: Clock | None = None) -> GradeReport:
    """Grade one submission file against a snapshot.

    Raises SnapshotError: the snapshot cannot be graded against; UsageError: the card's metric is not known.
    """
    score, message = None, fault_of_place(submission_path)
    if message is None and submission_path.suffix.lower() != ".csv":  # as far as MLE-bench checks
        message = f"{shown_name(submission_path)} does not end in .csv."
    exists = message is None
    with closing(open_hidden_test(snapshot_dir, card)) as test:
        if exists:
            try:
                score = test.score(submission_path)
            except InvalidSubmission as error:
                message = str(error)
    standing = MedalStanding() if score is None else test.standing(score)
    lines = asdict(thresholds(test.board)) if test.board else dict.fromkeys(("gold", "silver", "bronze", "median"))
    return GradeReport(
        competition_id=test.card.slug,
        score=score,
        **{f"{name}_threshold": value for name, value in lines.items()},
        any_medal=standing.any_medal,
        **asdict(standing),
        submission_exists=exists,
        valid_submission=score is not None,
        is_lower_better=test.card.lower_is_better,
        created_at=(clock or SystemClock()).now().isoformat(),
        submission_path=str(submission_path),
        n_teams=len(test.board),
        grader=test.scorer.kind,
        message=message,
        note=_direction_note(test.board, test.card),
    )


def _direction_note(board: Sequence[float], card: TaskCard) -> str | None:
    """Return a note if the board's order contradicts the card's direction, which is the one used."""
    if not board or board_is_lower_better(board) == card.lower_is_better:
        return None
    if board[0] == board[-1]:
        return "the leaderboard's first and last scores are equal, so MLE-bench would assume that higher is better"
    return f"the leaderboard's order contradicts the metric direction in use ({card.metric.direction})"


def grade_nodes(
    snapshot_dir: Path, card: TaskCard, files: Mapping[int, Path], validation: Mapping[int, float]
) -> HiddenScores:
    """Grade every node's submission.

    Nodes without a validation score are graded but not compared.

    Raises:
        SnapshotError: the snapshot cannot be graded against.
        UsageError: the card's metric is not known.
    """
    nodes: dict[int, HiddenScore] = {}
    scores: dict[int, float] = {}
    with closing(open_hidden_test(snapshot_dir, card)) as test:
        for node, path in files.items():
            try:
                score = test.score(path)
            except InvalidSubmission as error:
                nodes[node] = HiddenScore(None, 0.0, str(error))
                continue
            scores[node] = score
            nodes[node] = HiddenScore(score, test.standing(score).win_rate)
    best = max(scores, key=lambda node: card.oriented(scores[node]), default=None)
    common_nodes = [node for node in scores if node in validation]
    return HiddenScores(
        nodes=nodes,
        rank_correlation=rank_correlation([validation[n] for n in common_nodes], [scores[n] for n in common_nodes]),
        compared_count=len(common_nodes),
        best_node=best,
        regret={} if best is None else {node: abs(scores[best] - score) for node, score in scores.items()},
    )


def rank_correlation(validation: list[float], hidden: list[float]) -> float | None:
    """Return Spearman's correlation of two scores of the same items; None if one side has only one value.

    Both are as the metric gives them, so that +1 means that they order alike.
    """
    if len(set(validation)) < 2 or len(set(hidden)) < 2:
        return None
    return spearman(validation, hidden)
