"""Fits a blend on the hold-out rows, and applies one to the predictions of other rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import Blended, Member, Recipe
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.scoring import open_scorer, parts_of
from bot.evaluation.scoring.bank import keep_array, read_predicted
from bot.evaluation.scoring.noise import score_noise
from bot.evaluation.scoring.truth import Predicted, score_or_nan
from bot.evaluation.tables.csv_table import read_table, write_table
from scrapers.snapshots.card import TaskCard
from state.errors import NoBlend

_MEMBERS = 3


def blend(view: LabelledView, members: Sequence[Member], bank: Path, seed: int, seconds: float) -> Blended:
    """Fit a blend of scored scripts on the hold-out rows, and keep its predictions.

    Args:
        view: the hold-out view.
        members: those that may take part, in any order.
        bank: where the blend's predictions are kept.
        seed: of bags, folds and draws.
        seconds: for fitting and for the noise.

    Raises:
        NoBlend: nothing can be blended; the message gives the reason in a sentence.
        InfrastructureFailure: the labels cannot be read.
    """
    card = view.card
    if prediction_kind(card) != "number":
        raise NoBlend(f"Predictions for the metric {card.metric.name} are no numbers.")
    if len(members) < 2:
        raise NoBlend("Fewer than two scripts have a score.")
    sample, test = view.data / "sample_validation.csv", view.data / "sample_submission.csv"
    with closing(open_scorer(card, view.grader)) as scorer:
        truth, final = parts_of(view, scorer)
        read = {one.node: read_predicted(one.predictions, sample, card) for one in members}
        scores = {node: score_or_nan(truth, Predicted(str(node), values)) for node, values in read.items()}
        best = sorted(members, key=lambda one: -card.oriented(scores[one.node]))[:_MEMBERS]
        recipe = Recipe("mean", {one.node: 1 / len(best) for one in best})
        values = combine(recipe, read)
        predicted = Predicted("the blend", values)
        score, apart = score_or_nan(truth, predicted), None if final is None else score_or_nan(final, predicted)
    tested = combine(recipe, {one.node: read_predicted(one.submission, test, card) for one in best})
    kept = keep_array(values, bank), keep_array(tested, bank)
    noise = score_noise(view, bank / kept[0], best[0].predictions, seed, seconds)
    return Blended(recipe, score, noise, apart, *kept)


def combine(recipe: Recipe, predictions: Mapping[int, NDArray[Any]]) -> NDArray[Any]:
    """Return a recipe's predictions, (rows, prediction columns), from those of its members of the same rows."""
    parts = [weight * predictions[node].astype(float) for node, weight in sorted(recipe.weights.items())]
    total: NDArray[Any] = np.sum(parts, axis=0)
    return total


def write_blend(recipe: Recipe, submissions: Mapping[int, Path], view_dir: Path, card: TaskCard, out: Path) -> None:
    """Write the file to hand in that a recipe makes of its members' submissions.

    Args:
        recipe: of the blend.
        submissions: each member's, in a bank or as its script wrote it.
        view_dir: any view of the run, with the sample submission.
        card: the task.
        out: the file to write; there only when it is complete.

    Raises:
        InvalidSubmission: a member's file cannot be read.
    """
    sample = view_dir / "sample_submission.csv"
    made = combine(recipe, {node: read_predicted(submissions[node], sample, card) for node in recipe.weights})
    partial = out.with_name(f".{out.name}.partial")
    _write(partial, made, sample, card)
    partial.replace(out)


def _write(out: Path, values: NDArray[Any], sample: Path, card: TaskCard) -> None:
    """Write predictions in the form of the sample."""
    table = read_table(sample)
    at = [table.header.index(column) for column in card.prediction_columns]

    def lines() -> Iterator[list[str]]:
        for row, cells in zip(table.rows(), values, strict=True):
            line = list(row)
            for place, cell in zip(at, cells, strict=True):
                line[place] = repr(float(cell)) if isinstance(cell, float) else str(cell)
            yield line

    write_table(out, table.header, lines(), table.delimiter)
