"""Fits a blend on the hold-out rows, and applies one to the predictions of other rows."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import BlendRecipe, FittedBlend, Member
from bot.evaluation.blending.fit import EnsembleFit
from bot.evaluation.blending.sample import Holdout
from bot.evaluation.blending.spaces import calibrated, combine, leave, read_entered
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import METRICS, line_space, prediction_kind
from bot.evaluation.scoring import open_scorer, readable_parts
from bot.evaluation.scoring.bank import keep, keep_array, read_predicted, write_values
from bot.evaluation.scoring.score import score_predictions
from bot.evaluation.scoring.truth import PredictionSet, Rows, score_or_nan
from scrapers.snapshots.card import TaskCard
from state.errors import NoBlend
from state.files import replacing


def blend(
    view: LabelledView,
    members: Sequence[Member],
    bank: Path,
    seed: int,
    withheld: LabelledView | None = None,
    mean_of: tuple[FittedBlend, Member] | None = None,
) -> FittedBlend:
    """Fit a blend on a view's rows, and keep its predictions.

    The order of the members, and copies among them, change nothing.

    Args:
        view: the hold-out view, or the training rows that are in a fold, which members predict out of fold.
        withheld: the hold-out view, where weights are fitted out of fold; its rows are predicted by the recipe.
        mean_of: an earlier blend of these members and a stack to average with it, as a stack's weight cannot be fitted.

    Raises:
        NoBlend: nothing can be blended, or no blend is better than a script alone; the message gives the reason in a sentence.
        InfrastructureFailure: the labels cannot be read.
    """
    card = view.card
    metric = METRICS.get(card.metric.name)
    if metric is not None and metric.unblended:
        raise NoBlend(metric.unblended)
    if metric is None and prediction_kind(card) != "number":
        raise NoBlend("Text predictions cannot be combined if only the competition's grader can score them.")
    if len(members) < 2:
        raise NoBlend("Fewer than two scripts have a score.")
    with closing(open_scorer(card, view.grader)) as scorer:
        as_files = scorer.kind == "competition"
        truth, _ = readable_parts(view, scorer)
        if truth.ids is None:
            raise NoBlend(f"The {scorer.name} scores whole files only, so no rows can be set aside to check a blend.")

        def scores(values: Values, sets: Sequence[Rows | None]) -> list[float]:
            if not as_files:
                return [score_or_nan(truth, PredictionSet("the blend", values), rows) for rows in sets]
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "blend.csv"
                write_values(file, values, view.data / "sample_validation.csv", card)
                with closing(truth.read(file)) as predictions:
                    return [score_or_nan(truth, predictions, rows) for rows in sets]

        holdout = Holdout(view, truth, scores)
        rejected: Mapping[int, str] = {}
        if mean_of is not None:
            recipe, values = _mean_with_stack(*mean_of, view, bank)
            rival, by_node = mean_of[1], {member.node: member for member in (*members, mean_of[1])}
        else:
            fit = EnsembleFit(holdout, members, seed)
            recipe, values, by_node, rejected = fit.recipe, fit.predict(), dict(fit.members), fit.pool.rejected
            rival = max(fit.pool.members[:3], key=lambda m: holdout.oriented(fit.form.read(m.predictions), [None])[0])
    as_file = as_files or prediction_kind(card) != "number"

    def keep_combined(files: Mapping[int, Path], sample: Path) -> str:
        return _keep(blend_files(recipe, files, sample, card), sample, card, bank, as_file=as_file)

    validation_file = _keep(values, view.data / "sample_validation.csv", card, bank, as_file=as_file)
    submission = keep_combined({n: m.submission for n, m in by_node.items()}, view.data / "sample_submission.csv")
    score = score_predictions(view, bank / validation_file, rival.predictions, seed)
    if withheld is None:
        score = replace(score, predictions=validation_file, submission=submission)
    else:
        files = {node: m.validation for node, m in by_node.items() if m.validation is not None}
        withheld_file = keep_combined(files, withheld.data / "sample_validation.csv")
        final = score_predictions(withheld, bank / withheld_file, None, seed).final
        score = replace(score, predictions=withheld_file, submission=submission, oof=validation_file, final=final)
    return FittedBlend(recipe, score, rejected)


def _mean_with_stack(blended: FittedBlend, stack: Member, view: LabelledView, bank: Path) -> tuple[BlendRecipe, Values]:
    """Return the recipe of the mean of a blend and a stack in the blend's space, and what it predicts of a view's rows."""
    recipe, card = blended.recipe, view.card
    steps = {"scale": [1.0], "offset": [0.0], **recipe.calibration}
    if recipe.space != line_space(card) or recipe.ties or len(steps) > 2 or list(steps["scale"]) != [1.0]:
        raise NoBlend("The ensemble is not a weighted sum in the metric's space.")
    sample = view.data / "sample_validation.csv"
    parts = [read_entered(f, recipe.space, sample, card) for f in (bank / (blended.score.oof or ""), stack.predictions)]
    columns = {node: [weight / 2 for weight in weights] for node, weights in recipe.columns.items()}
    mean = BlendRecipe(
        recipe.space,
        {node: weight / 2 for node, weight in recipe.weights.items()} | {stack.node: 0.5},
        {"scale": [1.0], "offset": [offset / 2 for offset in steps["offset"]]} if any(steps["offset"]) else {},
        columns and columns | {stack.node: [0.5] * len(card.prediction_columns)},
    )
    return mean, calibrated(leave(recipe.space, (parts[0] + parts[1]) / 2, card), {}, card)


def write_blend(
    recipe: BlendRecipe, submissions: Mapping[int, Path], view_dir: Path, card: TaskCard, out: Path
) -> None:
    """Write the file to submit that a recipe makes of its members' submissions.

    Args:
        submissions: each member's, in a bank or as its script wrote it.
        view_dir: any view of the run, with the sample submission.
        out: the file to write; there only when it is complete.

    Raises InvalidSubmission: a member's file cannot be read.
    """
    sample = view_dir / "sample_submission.csv"
    with replacing(out) as partial:
        write_values(partial, blend_files(recipe, submissions, sample, card), sample, card)


def write_predictions(predictions: Path, view_dir: Path, card: TaskCard, out: Path) -> None:
    """Write predictions of the test rows, a file in a bank, in the form of the sample submission.

    Args:
        view_dir: any view of the run, with the sample submission.
        out: the file to write; there only when it is complete.

    Raises InvalidSubmission: the file in the bank cannot be read.
    """
    sample = view_dir / "sample_submission.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as partial:
        write_values(partial, read_predicted(predictions, sample, card), sample, card)


def blend_files(recipe: BlendRecipe, files: Mapping[int, Path], sample: Path, card: TaskCard) -> Values:
    """Return what a recipe makes of its members' files, in the order of the sample; raises InvalidSubmission."""
    return combine(recipe, lambda node, space: read_entered(files[node], space, sample, card), card)


def _keep(values: Values, sample: Path, card: TaskCard, bank: Path, *, as_file: bool) -> str:
    """Keep predictions as a script's are kept: as an array, or, where only a file can be scored or is smaller, as one."""
    if not as_file:
        return keep_array(values, bank)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "blend.csv"
        write_values(file, values, sample, card)
        return keep(None if values.dtype != object else values, file, bank)
