"""Scoring one execution: values against withheld labels, and the form of a submission."""

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView, NodeScore, ScoredFiles
from bot.evaluation.scoring import open_scorer, parts_of, readable_parts
from bot.evaluation.scoring.bank import keep
from bot.evaluation.scoring.prediction_file import read_submission
from bot.evaluation.scoring.scored_rows import open_holdout
from bot.evaluation.scoring.truth import PredictionSet, Truth, finite, score_or_nan
from state.errors import InvalidSubmission, UnsupportedLayout


@dataclass(frozen=True)
class _ScoringResult:
    """What came of predictions: a score or a fault, and whether they could be read."""

    score: NodeScore | None = None
    readable: bool = False
    fault: str | None = None
    values: NDArray[Any] | None = None
    """What was predicted; None: the file itself was scored, or there is no score."""


def score_execution(
    view: LabelledView,
    predictions: Path,
    submission: Path,
    bank: Path | None = None,
    comparison: Path | None = None,
    seed: int | None = None,
) -> ScoredFiles:
    """Score what one execution wrote, and keep it in `bank`, unless that is None, if both files are worth something.

    The score and the validity do not depend on each other; a node needs both. On the view `full` the score is one of
    training rows and means nothing. Rows of `final` are scored apart: predictions for them do not change the score. With
    a `seed` the score has its standard error, and its gain over `comparison` predictions of the same rows.

    Raises:
        InfrastructureFailure: the labels cannot be read, or the grader exceeds its limits whatever its input.
        SnapshotError: the grader cannot be used.
        UsageError: the card's metric is not known.
    """
    result, submitted, invalid = _score(view, predictions, comparison, seed), None, None
    try:
        submitted = read_submission(submission, view.data / "sample_submission.csv", view.card)[1]
    except InvalidSubmission as error:
        invalid = str(error)
    score, message = result.score, " ".join(dict.fromkeys(filter(None, (result.fault, invalid)))) or None
    if bank and invalid is None and score is not None:
        files = keep(result.values, predictions, bank), keep(submitted, submission, bank)
        score = replace(score, predictions=files[0], submission=files[1])
    return ScoredFiles(score, invalid is None, invalid is None and result.readable, message)


def score_predictions(view: LabelledView, predictions: Path, comparison: Path | None, seed: int) -> NodeScore:
    """Score predictions of a view's validation rows, with the standard error, and the gain over others' that can be read.

    Raises InvalidSubmission: they cannot be read; InfrastructureFailure: the labels cannot be read.
    """
    with ExitStack() as stack:
        rows, final = open_holdout(view, stack.enter_context(closing(open_scorer(view.card, view.grader))), stack)
        parsed = rows.truth.read(predictions)
        score = rows.evaluate(parsed, _read(comparison, rows.truth), seed)
        return score if final is None else replace(score, final=finite(final.score(parsed)))


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


def _score(view: LabelledView, predictions: Path, comparison: Path | None, seed: int | None) -> _ScoringResult:
    with closing(open_scorer(view.card, view.grader)) as scorer:
        truth, final = readable_parts(view, scorer)
        try:
            parsed = truth.read(predictions)
        except InvalidSubmission as error:
            return _ScoringResult(fault=str(error))
        refusal = None
        try:
            score = truth.score(parsed)
        except InvalidSubmission as error:
            score, refusal = None, str(error)
        if score is not None:
            final_score = None if final is None else finite(score_or_nan(final, parsed))
            with ExitStack() as stack:
                node_score = NodeScore(score)
                if seed is not None:
                    rows, _ = open_holdout(view, scorer, stack, (truth, final))
                    node_score = rows.evaluate(parsed, _read(comparison, truth), seed)
                return _ScoringResult(replace(node_score, final=final_score), True, values=parsed.values)
        if (fault := truth.fault()) is not None:
            return _ScoringResult(readable=True, fault=f"The {scorer.name} cannot be computed on these rows: {fault}.")
        if refusal is not None:
            return _ScoringResult(fault=refusal)
        fault = truth.why_not(parsed)
    return _ScoringResult(
        readable=True, fault=f"The {scorer.name} returns no finite score for {predictions.name}: {fault}."
    )


def _read(path: Path | None, truth: Truth) -> PredictionSet | None:
    try:
        return None if path is None else truth.read(path)
    except InvalidSubmission:
        return None
