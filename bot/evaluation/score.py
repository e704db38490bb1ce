"""Scores one execution: its validation predictions against the withheld labels, and the form of its submission."""

import math
from pathlib import Path
from typing import Any

from bot.evaluation.metrics import metric_named
from bot.evaluation.submission_file import read_submission, read_truth
from scrapers.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission


def score_execution(
    labels_dir: Path,
    view_dir: Path,
    predictions_path: Path | None,
    submission_path: Path | None,
    card: TaskCard,
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

    Returns:
        `score` (finite, or None), `valid` (whether the submission is), `message` (what is wrong, or None).

    Raises:
        InfrastructureFailure: the labels themselves cannot be read.
        UsageError: the card's metric is not known.
    """
    score, fault = _score(labels_dir, view_dir, predictions_path, card)
    valid, invalid = _valid(view_dir, submission_path, card)
    return {"score": score, "valid": valid, "message": " ".join(filter(None, (fault, invalid))) or None}


def _score(
    labels_dir: Path, view_dir: Path, predictions_path: Path | None, card: TaskCard
) -> tuple[float | None, str | None]:
    metric = metric_named(card.metric.name)
    if predictions_path is None:
        return None, "validation_predictions.csv was not written."
    sample = view_dir / "sample_validation.csv"
    # Where withheld rows stand in for the test rows, there is but one sample.
    sample = sample if sample.is_file() else view_dir / "sample_submission.csv"
    try:
        ids, predicted = read_submission(predictions_path, sample, card)
    except InvalidSubmission as error:
        return None, str(error)
    try:
        truth = read_truth(labels_dir / "labels.csv", ids, card)
    except InvalidSubmission as error:
        raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error
    score = metric.score(truth, predicted, card.metric.params)
    if not math.isfinite(score):
        return None, f"The metric {metric.name} gives no finite score for {predictions_path.name} ({score})."
    return score, None


def _valid(view_dir: Path, submission_path: Path | None, card: TaskCard) -> tuple[bool, str | None]:
    if submission_path is None:
        return False, f"{card.submission_file} was not written."
    try:
        read_submission(submission_path, view_dir / "sample_submission.csv", card)
    except InvalidSubmission as error:
        return False, str(error)
    return True, None
