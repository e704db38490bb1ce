"""Fits a blend on the hold-out rows, and applies one to the predictions of other rows."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import BlendRecipe, FittedBlend, Member
from bot.evaluation.blending.fit import EnsembleFit
from bot.evaluation.blending.sample import Holdout
from bot.evaluation.blending.spaces import combine, read_entered
from bot.evaluation.metrics.registry import METRICS, Space, prediction_kind
from bot.evaluation.scoring import open_scorer, parts_of
from bot.evaluation.scoring.bank import keep, keep_array, read_predicted, write_values
from bot.evaluation.scoring.score import score_predictions
from bot.evaluation.scoring.truth import PredictionSet, Truth, score_or_nan
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission, NoBlend


def blend(
    view: LabelledView,
    members: Sequence[Member],
    bank: Path,
    seed: int,
    withheld: LabelledView | None = None,
) -> FittedBlend:
    """Fit a blend on a view's rows, and keep its predictions.

    The order of the members, and copies among them, change nothing.

    Args:
        view: the hold-out view, or the training rows that are in a fold, which members predict out of fold.
        withheld: the hold-out view, where weights are fitted out of fold; its rows are predicted by the recipe.

    Raises:
        NoBlend: nothing can be blended, or no blend is better than a script alone; the message gives the reason in a sentence.
        InfrastructureFailure: the labels cannot be read.
    """
    card = view.card
    metric = METRICS.get(card.metric.name)
    if metric is not None and metric.unblended:
        raise NoBlend(metric.unblended)
    if metric is None and prediction_kind(card) != "number":
        raise NoBlend("Texts that only the competition's grader scores cannot be combined.")
    if len(members) < 2:
        raise NoBlend("Fewer than two scripts have a score.")
    with closing(open_scorer(card, view.grader)) as scorer:
        as_files = scorer.kind == "competition"
        try:
            truth, _ = parts_of(view, scorer)
        except InvalidSubmission as error:
            raise InfrastructureFailure(f"The labels of this view cannot be read: {error}") from error
        if truth.ids is None:
            raise NoBlend(f"The {scorer.name} scores whole files only, so no rows are left to check a blend.")

        def scores(values: NDArray[Any], sets: Sequence[NDArray[Any] | None], truth_of: Truth = truth) -> list[float]:
            if not as_files:
                return [score_or_nan(truth_of, PredictionSet("the blend", values), rows) for rows in sets]
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "blend.csv"
                write_values(file, values, view.data / "sample_validation.csv", card)
                with closing(truth_of.read(file)) as predictions:
                    return [score_or_nan(truth_of, predictions, rows) for rows in sets]

        holdout = Holdout(view, truth, scores)
        fit = EnsembleFit(holdout, members, seed)
        recipe, values = fit.recipe, fit.predict()
        best = max(fit.pool.members[:3], key=lambda m: holdout.oriented(fit.form.read(m.predictions), [None])[0])
        files = {node: m.submission for node, m in fit.members.items()}
        tested = blend_files(recipe, files, view.data / "sample_submission.csv", card)
        validation_file, submission = [
            _keep(
                values_made,
                view.data / f"sample_{rows}.csv",
                card,
                bank,
                as_file=as_files or prediction_kind(card) != "number",
            )
            for values_made, rows in ((values, "validation"), (tested, "submission"))
        ]
    score = score_predictions(view, bank / validation_file, best.predictions, seed)
    if withheld is None:
        score = replace(score, predictions=validation_file, submission=submission)
    else:
        withheld_file = _on_withheld_rows(recipe, withheld, fit.members, bank)
        final = score_predictions(withheld, bank / withheld_file, None, seed).final
        score = replace(score, predictions=withheld_file, submission=submission, oof=validation_file, final=final)
    return FittedBlend(recipe, score, rejected=fit.pool.rejected)


def _on_withheld_rows(recipe: BlendRecipe, withheld: LabelledView, members: Mapping[int, Member], bank: Path) -> str:
    """Keep what a recipe that was fitted out of fold predicts of the withheld rows."""
    card, sample = withheld.card, withheld.data / "sample_validation.csv"
    files = {node: m.validation for node, m in members.items() if m.validation is not None}
    with closing(open_scorer(card, withheld.grader)) as scorer:
        as_file = scorer.kind == "competition" or prediction_kind(card) != "number"
    return _keep(blend_files(recipe, files, sample, card), sample, card, bank, as_file=as_file)


def write_blend(
    recipe: BlendRecipe, submissions: Mapping[int, Path], view_dir: Path, card: TaskCard, out: Path
) -> None:
    """Write the file to hand in that a recipe makes of its members' submissions.

    Args:
        submissions: each member's, in a bank or as its script wrote it.
        view_dir: any view of the run, with the sample submission.
        out: the file to write; there only when it is complete.

    Raises:
        InvalidSubmission: a member's file cannot be read.
    """
    sample = view_dir / "sample_submission.csv"
    partial = out.with_name(f".{out.name}.partial")
    write_values(partial, blend_files(recipe, submissions, sample, card), sample, card)
    partial.replace(out)


def write_predictions(predictions: Path, view_dir: Path, card: TaskCard, out: Path) -> None:
    """Write predictions of the test rows, a file in a bank, in the form of the sample submission.

    Args:
        view_dir: any view of the run, with the sample submission.
        out: the file to write; there only when it is complete.

    Raises:
        InvalidSubmission: the file in the bank cannot be read.
    """
    sample = view_dir / "sample_submission.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.partial")
    write_values(partial, read_predicted(predictions, sample, card), sample, card)
    partial.replace(out)


def blend_files(recipe: BlendRecipe, files: Mapping[int, Path], sample: Path, card: TaskCard) -> NDArray[Any]:
    """Return what a recipe makes of its members' files, in the order of the sample; raises InvalidSubmission."""

    def values_in(node: int, space: Space) -> NDArray[Any]:
        return read_entered(files[node], space, sample, card)

    return combine(recipe, values_in, card)


def _keep(values: NDArray[Any], sample: Path, card: TaskCard, bank: Path, *, as_file: bool) -> str:
    """Keep predictions as a script's are kept: as an array, or, where only a file can be scored or is smaller, as one."""
    if not as_file:
        return keep_array(values, bank)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "blend.csv"
        write_values(file, values, sample, card)
        return keep(None if values.dtype != object else values, file, bank)
