"""Scores one execution: its validation predictions against the withheld labels, and the form of its submission."""

from contextlib import closing
from pathlib import Path

from bot.evaluation.answers import LabelledView, ScoredFiles
from bot.evaluation.scoring import labels_of, open_scorer
from bot.evaluation.scoring.prediction_file import read_submission
from state.errors import InvalidSubmission, UnsupportedLayout


def score_execution(view: LabelledView, predictions: Path | None, submission: Path | None) -> ScoredFiles:
    """Score what one execution wrote.

    The score and the validity do not depend on each other: a node is worth something only if it has both. On the
    view `full` the score is one of training rows and means nothing.

    Args:
        view: what it ran on.
        predictions: the execution's validation predictions; None if it wrote none.
        submission: its submission; None if it wrote none.

    Raises:
        InfrastructureFailure: the labels themselves cannot be read, or the grader takes more than its limits whatever it is
            given.
        SnapshotError: the grader cannot be used.
        UsageError: the card's metric is not known.
    """
    score, readable, fault = _score(view, predictions)
    valid, invalid = _valid(view, submission)
    return ScoredFiles(score, valid, valid and readable, " ".join(filter(None, (fault, invalid))) or None)


def score_predictions(view: LabelledView, predictions: Path) -> float:
    """Score predictions alone.

    Raises:
        InvalidSubmission: they have no score; says why in one sentence.
    """
    score, _, fault = _score(view, predictions)
    if score is None:
        raise InvalidSubmission(fault or "the predictions have no score")
    return score


def check_view_scorable(view: LabelledView) -> None:
    """Check that a view's labels can be scored at all: ids and prediction columns, and no more.

    Raises:
        UnsupportedLayout: even right predictions have no score; the text gives the reason, and names the columns.
        SnapshotError: the grader cannot be used at all.
        InfrastructureFailure: it takes more than its limits, or does not start.
        UsageError: the metric is not known, or a parameter of it is wrong.
    """
    card = view.card
    with closing(open_scorer(card, view.grader)) as scorer:
        try:
            fault = scorer.truth(view.truth, view.data / "sample_validation.csv").fault()
        except InvalidSubmission as error:
            fault = str(error)
    if fault is not None:
        columns = ", ".join((*card.row_columns, *card.prediction_columns[:5]))
        raise UnsupportedLayout(f"The {scorer.name} cannot score this view's labels (columns {columns}): {fault}.")


def _score(view: LabelledView, predictions: Path | None) -> tuple[float | None, bool, str | None]:
    """Return the score, whether the predictions are what was asked for, and why there is no score."""
    with closing(open_scorer(view.card, view.grader)) as scorer:
        if predictions is None:
            return None, False, "validation_predictions.csv was not written."
        truth = labels_of(view, scorer)
        try:
            predicted = truth.read(predictions)
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
    return None, True, f"The {scorer.name} gives no finite score for {predictions.name}: {fault}."


def _valid(view: LabelledView, submission: Path | None) -> tuple[bool, str | None]:
    if submission is None:
        return False, f"{view.card.submission_file} was not written."
    try:
        read_submission(submission, view.data / "sample_submission.csv", view.card)
    except InvalidSubmission as error:
        return False, str(error)
    return True, None
