"""The rows that a blend is fitted on: their folds, how predictions of them are scored, and what fits by fold predict of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import BlendRecipe
from bot.evaluation.blending.ordinal import fit_cuts
from bot.evaluation.blending.spaces import SpaceReader, combine, weighted_sum
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.ranking import mean_ranks
from bot.evaluation.scoring.truth import PartOfTruth, Rows, Truth
from scrapers.snapshots.card import TaskCard

FOLDS = 5


@dataclass(frozen=True)
class Holdout:
    """The hold-out rows, and how predictions of them are scored."""

    view: LabelledView
    truth: Truth
    scores: Callable[[Values, Sequence[Rows | None]], list[float]]
    """Takes predictions of all withheld rows, and sets of hold-out rows (None: all); returns the score on each, or NaN."""

    @property
    def card(self) -> TaskCard:
        """The task."""
        return self.view.card

    @property
    def places(self) -> Rows:
        """Where its rows stand among all withheld ones."""
        truth = self.truth
        return truth.places if isinstance(truth, PartOfTruth) else np.arange(len(truth.ids or ()))

    def oriented(self, values: Values, sets: Sequence[Rows | None]) -> list[float]:
        """Return scores of which more is better, and -inf for none."""
        oriented_scores = (self.card.oriented(score) for score in self.scores(values, sets))
        return [score if math.isfinite(score) else -math.inf for score in oriented_scores]


@dataclass(frozen=True)
class ScoredRecipe:
    """A recipe that was fitted on the sample."""

    recipe: BlendRecipe
    out_of_fold: Values
    """What it predicts of the sample's rows (rows, columns), none of them from a fit that has seen the row's label."""
    score: float
    """Of these; more is better."""


@dataclass(frozen=True)
class FittingSample:
    """Some of the hold-out rows: as many as the metric can be computed on often."""

    holdout: Holdout
    rows: Rows
    """Their numbers among the hold-out rows."""
    folds: Rows
    """Fold of each."""
    cluster: Rows
    """Number of the group of each, whose rows stay together."""
    values_in: SpaceReader
    """Members' predictions of the sample."""
    all_values: Values
    """A member's predictions of all withheld rows, as a grader takes files of all."""

    @property
    def places(self) -> Rows:
        """Where its rows stand among all withheld ones."""
        return self.holdout.places[self.rows]

    def score_recipe(self, recipe: BlendRecipe, out_of_fold: Values) -> ScoredRecipe:
        """Return a recipe with what it predicts of the sample, and the score of that."""
        return ScoredRecipe(recipe, out_of_fold, self.scores(out_of_fold, [slice(None)])[0])

    def scores(self, values: Values, sets: Sequence[Rows | slice]) -> list[float]:
        """Return the scores of predictions of the sample on sets of its rows."""
        # A grader takes files of all rows; those that are not in the sample count in no set.
        all_values = self.all_values.astype(values.dtype)
        all_values[self.places] = values
        return self.holdout.oriented(all_values, [self.rows[set_rows] for set_rows in sets])

    def rows_to_fit(self, stride: int = 1) -> list[Rows]:
        """Return rows of the sample to fit on: for each fold those of the others, and all."""
        rows = np.arange(0, len(self.folds), stride)
        return [rows[self.folds[rows] != fold] for fold in range(FOLDS)] + [rows]

    def join_folds(self, values: Callable[[int, Rows], Values]) -> Values:
        """Return predictions of the sample, put together from those of each fold's rows."""
        rows = [np.flatnonzero(self.folds == fold) for fold in range(FOLDS)]
        parts = [values(fold, fold_rows) for fold, fold_rows in enumerate(rows)]
        joined = np.empty((len(self.folds), parts[0].shape[1]), dtype=parts[0].dtype)
        for fold_rows, part in zip(rows, parts, strict=True):
            joined[fold_rows] = part
        return joined

    def cross_fitted(self, recipes: Sequence[BlendRecipe]) -> ScoredRecipe:
        """Return the last of some recipes, each fold predicted by its own."""
        return self.score_recipe(recipes[-1], self.join_folds(partial(self._combined, recipes)))

    def cross_fitted_in_order(self, recipes: Sequence[BlendRecipe]) -> ScoredRecipe:
        """As `cross_fitted`, where only the order counts: each fold's predictions in the scale of the last recipe's."""
        all_rows = np.arange(len(self.folds))
        last = np.sort(self._combined(recipes, len(recipes) - 1, all_rows), axis=0)

        def values_by_rank(fold: int, rows: Rows) -> Values:
            ranks = mean_ranks(self._combined(recipes, fold, all_rows))
            return np.take_along_axis(last, ranks[rows].astype(np.int64) - 1, axis=0)

        return self.score_recipe(recipes[-1], self.join_folds(values_by_rank))

    def with_fitted_cuts(self, recipe: BlendRecipe, rows: Rows) -> BlendRecipe:
        """Return a recipe of ordered labels with thresholds that were fitted on some rows."""
        weights = {node: np.asarray(weight) for node, weight in recipe.weights.items()}
        means = weighted_sum(weights, {node: self.values_in(node, recipe.space) for node in weights})
        labels = combine(recipe, self.values_in, self.holdout.card)

        def score(predictions: Values) -> float:
            labels[rows] = predictions
            return self.scores(labels, [rows])[0]

        return replace(recipe, calibration=fit_cuts(means[rows], recipe.calibration, score))

    def _combined(self, recipes: Sequence[BlendRecipe], fold: int, rows: Rows) -> Values:
        return combine(recipes[fold], self.values_in, self.holdout.card, rows)
