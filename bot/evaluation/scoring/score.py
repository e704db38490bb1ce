"""Scoring one execution: values against withheld labels, and the form of a submission."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView, ScoredFiles
from bot.evaluation.scoring import open_scorer, parts_of, readable_parts
from bot.evaluation.scoring.bank import keep
from bot.evaluation.scoring.prediction_file import read_submission
from bot.evaluation.scoring.truth import finite, score_or_nan
from state.errors import InvalidSubmission, UnsupportedLayout


@dataclass(frozen=True)
class _Scored:
    """The result for predictions: score or fault, whether they could be read, and the final score."""

    score: float | None = None
    readable: bool = False
    fault: str | None = None
    final: float | None = None
    values: NDArray[Any] | None = None
    """What was predicted; None: the file itself was scored, or there is no score."""


def score_execution(
    view: LabelledView, predictions: Path | None, submission: Path | None, bank: Path | None = None
) -> ScoredFiles:
    """Score what one execution wrote, and keep it in `bank`, unless that is None, if both files are worth something.

    The score and the validity do not depend on each other; a node needs both. On the view `full` the score is one of
    training rows and means nothing. Rows of `final` are scored apart: predictions for them do not change the score.

    Raises:
        InfrastructureFailure: the labels cannot be read, or the grader exceeds its limits whatever its input.
        SnapshotError: the grader cannot be used.
        UsageError: the card's metric is not known.
    """
    scored = _score(view, predictions)
    asked, invalid = _submitted(view, submission)
    valid = invalid is None
    message = " ".join(dict.fromkeys(filter(None, (scored.fault, invalid)))) or None
    kept: tuple[str, ...] = ()
    if bank and predictions and submission and valid and scored.score is not None:
        kept = keep(scored.values, predictions, bank), keep(asked, submission, bank)
    return ScoredFiles(scored.score, valid, valid and scored.readable, message, scored.final, *kept)


def check_view_scorable(view: LabelledView) -> None:
    """Check that a view's labels can be scored at all, by their ids and prediction columns alone.

    Raises:
        UnsupportedLayout: even right predictions have no score; the message gives the reason, and names the columns.
        SnapshotError: the grader cannot be used at all.
        InfrastructureFailure: it exceeds its limits, or does not start.
        UsageError: the metric is not known, or a parameter of it is wrong.
    """
    card = view.card
    with closing(open_scorer(card, view.grader)) as scorer:
        try:
            fault = parts_of(view, scorer)[0].fault()
        except InvalidSubmission as error:
            fault = str(error)
    if fault is not None:
        columns = ", ".join((*card.row_columns, *card.prediction_columns[:5]))
        raise UnsupportedLayout(f"The {scorer.name} cannot score this view's labels (columns {columns}): {fault}.")


def _score(view: LabelledView, predictions: Path | None) -> _Scored:
    with closing(open_scorer(view.card, view.grader)) as scorer:
        if predictions is None:
            return _Scored(fault="validation_predictions.csv was not written.")
        truth, final = readable_parts(view, scorer)
        try:
            predicted = truth.read(predictions)
        except InvalidSubmission as error:
            return _Scored(fault=str(error))
        refused = None
        try:
            score = truth.score(predicted)
        except InvalidSubmission as error:
            score, refused = None, str(error)
        if score is not None:
            apart = None if final is None else finite(score_or_nan(final, predicted))
            return _Scored(score, True, final=apart, values=predicted.values)
        if (fault := truth.fault()) is not None:
            return _Scored(readable=True, fault=f"The {scorer.name} cannot be computed on these rows: {fault}.")
        if refused is not None:
            return _Scored(fault=refused)
        fault = truth.why_not(predicted)
    return _Scored(readable=True, fault=f"The {scorer.name} gives no finite score for {predictions.name}: {fault}.")


def _submitted(view: LabelledView, submission: Path | None) -> tuple[NDArray[Any] | None, str | None]:
    """Return the predictions of the test rows, and why there are none."""
    if submission is None:
        return None, f"{view.card.submission_file} was not written."
    try:
        return read_submission(submission, view.data / "sample_submission.csv", view.card)[1], None
    except InvalidSubmission as error:
        return None, str(error)
