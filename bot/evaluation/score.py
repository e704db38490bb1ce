"""Scores one execution: its validation predictions against the withheld labels, and the form of its submission."""

from pathlib import Path
from typing import Any

from bot.evaluation.scoring import open_scorer
from bot.evaluation.scoring.prediction_file import read_submission
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission, UnsupportedLayout


def score_execution(
    labels_dir: Path,
    view_dir: Path,
    predictions_path: Path | None,
    submission_path: Path | None,
    card: TaskCard,
    grader: Path | None = None,
) -> dict[str, Any]:
    """Score what one execution wrote.

    The score and the validity do not depend on each other: a node is worth something only if it has both. On the
    view `full` the score is one of training rows and says nothing.

    Args:
        labels_dir: holds the view's labels.csv.
        view_dir: the view's `data` folder.
        predictions_path: the execution's validation predictions; None if it wrote none.
        submission_path: its submission; None if it wrote none.
        card: the task.
        grader: the competition's grade.py, for a metric that the registry does not know.

    Returns:
        `score` (finite, or None), `valid` (whether the submission is), `fine` (whether both files are, also where there is no
        score because the truth cannot be scored, or not with these predictions), `message` (why there is no score, or what
        is wrong; None: nothing).

    Raises:
        InfrastructureFailure: the labels themselves cannot be read, or the grader takes more than its limits whatever it is
            given.
        SnapshotError: the grader cannot be used.
        UsageError: the card's metric is not known.
    """
    score, readable, fault = _score(labels_dir, view_dir, predictions_path, card, grader)
    valid, invalid = _valid(view_dir, submission_path, card)
    message = " ".join(filter(None, (fault, invalid))) or None
    return {"score": score, "valid": valid, "fine": valid and readable, "message": message}


def check_views_scorable(labels_dir: Path, view_dir: Path, card: TaskCard, grader: Path | None) -> None:
    """Check that a view's labels can be scored at all: ids and prediction columns, and no more.

    Raises:
        UnsupportedLayout: even right predictions have no score; the text says why, and names the columns.
        SnapshotError: the grader cannot be used at all.
        InfrastructureFailure: it takes more than its limits, or does not start.
        UsageError: the metric is not known, or a parameter of it is wrong.
    """
    labels, sample = labels_dir / "labels.csv", view_dir / "sample_validation.csv"
    with open_scorer(card, grader) as scorer:
        try:
            fault = scorer.truth(labels, sample).fault()
        except InvalidSubmission as error:
            fault = str(error)
    if fault is not None:
        columns = ", ".join((*card.row_columns, *card.prediction_columns[:5]))
        raise UnsupportedLayout(f"The {scorer.name} cannot score this view's labels (columns {columns}): {fault}.")


def _score(
    labels_dir: Path, view_dir: Path, predictions_path: Path | None, card: TaskCard, grader: Path | None
) -> tuple[float | None, bool, str | None]:
    """Return the score, whether the predictions are what was asked for, and why there is no score."""
    with open_scorer(card, grader) as scorer:
        if predictions_path is None:
            return None, False, "validation_predictions.csv was not written."
        try:
            truth = scorer.truth(labels_dir / "labels.csv", _sample(view_dir))
        except InvalidSubmission as error:
            raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error
        try:
            predicted = truth.read(predictions_path)
        except InvalidSubmission as error:
            return None, False, str(error)
        refused = None
        try:
            score = truth.score(predicted)
        except InvalidSubmission as error:
            score, refused = None, str(error)
        if score is not None:
            return score, True, None
        if (fault := truth.fault()) is not None:
            return None, True, f"The {scorer.name} cannot be computed on these rows: {fault}."
        if refused is not None:
            return None, False, refused
        fault = truth.why_not(predicted)
    return None, True, f"The {scorer.name} gives no finite score for {predictions_path.name}: {fault}."


def _sample(view_dir: Path) -> Path:
    """Return what the predictions must look like; where withheld rows stand in for the test rows, there is but one sample."""
    own = view_dir / "sample_validation.csv"
    return own if own.is_file() else view_dir / "sample_submission.csv"


def _valid(view_dir: Path, submission_path: Path | None, card: TaskCard) -> tuple[bool, str | None]:
    if submission_path is None:
        return False, f"{card.submission_file} was not written."
    try:
        read_submission(submission_path, view_dir / "sample_submission.csv", card)
    except InvalidSubmission as error:
        return False, str(error)
    return True, None
