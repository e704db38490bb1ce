"""The fit of one blend: folds, what is tried on them, and the best of it.

What is tried on a row comes from weights and a calibration that were fitted on the other folds, the best script alone too: a
choice among scripts is as much of a fit as weights are. A blend that is not better than it is none. All of it goes by a sample of
the hold-out rows, as many as the metric can be computed on so often; what comes out is cross-fitted on all rows once.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import Member, Recipe
from bot.evaluation.blending import leading
from bot.evaluation.blending.calibration import STEPS, Calibration, fit_step
from bot.evaluation.blending.candidates import Form, candidates
from bot.evaluation.blending.spaces import Entered, combine, enter
from bot.evaluation.blending.weights import effort_for, fit_weights, folds_of, simplified
from bot.evaluation.metrics.registry import METRICS, Space, metric_named
from bot.evaluation.scoring.interval import clusters_of
from bot.evaluation.scoring.kept_files import read_answers
from bot.evaluation.scoring.truth import PartOfTruth, Truth
from scrapers.snapshots.card import TaskCard
from state.errors import NoBlend

FOLDS = 5
_UNSEEN = 0.5
"""What few rows did not hold counts as half a row beside them, whose label is another row's (the weight of Jeffreys' prior):
where no row is wrong, nothing else bounds how sure predictions are made."""
_CALIBRATED_ON = 5_000
"""Most rows that a calibration is fitted on: it has one number, or two a column."""
_GRADER_SECONDS = 30.0
"""Most that a competition's grader may take for one blend."""
_ENTERED = 24
"""Members' predictions of all rows that are held in memory; few more are used by any fold."""

_RARE = 5
"""Rows of each class of each column that a sample has, if there are as many: without any, scores are not defined."""
_OF_SAMPLE = 1000
"""Beside the seed, what the sample is drawn by; the bags of the fits go by the fold's number."""

Rows = NDArray[np.int64]
Values = NDArray[Any]
Recipes = Sequence[Recipe]
"""One for each fold, fitted on the rows of the others, and the last one on all rows."""


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
        found = (self.card.oriented(score) for score in self.scores(values, sets))
        return [score if math.isfinite(score) else -math.inf for score in found]


class Fit:
    """A blend that is better than any of its members, cross-fitted."""

    def __init__(self, holdout: Holdout, members: Sequence[Member], seed: int) -> None:
        """Fit it.

        Raises:
            NoBlend: there is none; the message gives the reason in a sentence.
        """
        self._holdout, self._card, self._seed = holdout, holdout.card, seed
        metric = METRICS.get(self._card.metric.name)
        self._spaces: Sequence[Space] = ("mean",) if metric is None else metric.spaces
        greedy = metric is not None and metric.takes == "number"
        clusters, _ = clusters_of(holdout.view, holdout.truth.ids or ())
        if len(clusters) < FOLDS:
            raise NoBlend(
                f"The hold-out rows are of {len(clusters)} groups: too few to fit on some and check on others."
            )
        self.form = Form.of(holdout.view)
        labels = read_answers(holdout.view.truth, self.form.sample, self._card)[1][holdout.places] if greedy else None
        folds, cluster = folds_of(clusters, FOLDS, seed), np.empty(len(holdout.places), dtype=np.int64)
        for number, rows in enumerate(clusters):
            cluster[rows] = number
        self._sample = self._sampled(len(folds), labels)
        self._folds, self._cluster = folds[self._sample], cluster[self._sample]
        self._places = holdout.places[self._sample]
        self.pool = candidates(
            members,
            self.form,
            self._places,
            lambda values: holdout.oriented(values, [self._sample])[0],
            effort_for(self._card).members if greedy else leading.MOST,
            lambda values: enter(self._spaces[0], values, self._card),
        )
        if len(self.pool.members) < 2:
            raise NoBlend("Fewer than two scripts have predictions that differ and can be used.")
        self.members: Mapping[int, Member] = {one.node: one for one in self.pool.members}
        self._whole = self.form.read(self.pool.members[0].predictions)
        sampled = dict(zip(self.members, self.pool.sample, strict=True))
        self._entered = cache(lambda node, space: enter(space, sampled[node], self._card))
        tried = self._leading() if labels is None else self._greedy(labels[self._sample])
        self.recipes = max(tried, key=self._crossed_score)
        weights = self.recipes[-1].weights
        if len(weights) == 1 and not self.recipes[-1].calibration:
            raise NoBlend(f"Node {next(iter(weights))} alone is as good as any blend of {len(self.members)} scripts.")
        self._all_folds = np.full(self.form.rows, FOLDS)
        self._all_folds[holdout.places] = folds

    def predicted(self) -> Values:
        """Return predictions of all withheld rows: of a hold-out row by its fold's recipe, of any other by the last one."""
        entered = lru_cache(_ENTERED)(
            lambda node, space: enter(space, self.form.read(self.members[node].predictions), self._card)
        )
        return self._crossed(self.recipes, entered, self._all_folds)

    def _sampled(self, many: int, labels: Values | None) -> Rows:
        """Return the numbers of the hold-out rows that are fitted on; a competition's grader takes all."""
        metric = METRICS.get(self._card.metric.name)
        if metric is None or many <= (most := effort_for(self._card).rows):
            return np.arange(many)
        # Drawn apart from the folds, so that rows of each are in it.
        drawn = np.random.default_rng([self._seed, _OF_SAMPLE]).permutation(many)
        chosen = [drawn[:most]]
        if labels is not None and metric.of_classes:
            for own in labels[drawn].T:
                chosen += [drawn[own == label][:_RARE] for label in (own.min(), own.max())]
        return np.unique(np.concatenate(chosen))

    def _crossed(self, recipes: Recipes, entered: Entered, folds: Rows) -> Values:
        values = combine(recipes[-1], entered, self._card)
        for fold, recipe in enumerate(recipes[:-1]):
            if recipe != recipes[-1]:
                rows = np.flatnonzero(folds == fold)
                values[rows] = combine(recipe, entered, self._card, rows)
        return values

    def _crossed_score(self, recipes: Recipes) -> float:
        return self._scores(self._crossed(recipes, self._entered, self._folds), [slice(None)])[0]

    def _scores(self, values: Values, sets: Sequence[Rows | slice]) -> list[float]:
        """Return the scores of predictions of the sample on sets of its rows."""
        # A grader takes files of all rows; those that are not in the sample count in no set.
        whole = self._whole.astype(values.dtype)
        whole[self._places] = values
        return self._holdout.oriented(whole, [self._sample[own] for own in sets])

    def _alone(self, node: int) -> Recipe:
        # Ranks of the script's ranks are its own order.
        return Recipe(self._spaces[0], {node: 1.0})

    def _fitted_on(self, stride: int = 1) -> list[Rows]:
        """Return the rows of the sample that each recipe is fitted on."""
        rows = np.arange(0, len(self._folds), stride)
        return [rows[self._folds[rows] != fold] for fold in range(FOLDS)] + [rows]

    def _leading(self) -> Iterator[Recipes]:
        sets, space = self._fitted_on(), self._spaces[0]
        began, calls = time.monotonic(), 0

        def scores(values: Values) -> list[float]:
            nonlocal calls
            found, calls = self._scores(values, sets), calls + 1
            needed = (time.monotonic() - began) / calls * leading.scores_needed(len(self.members), len(sets))
            if self._card.metric.name not in METRICS and needed > _GRADER_SECONDS:
                raise NoBlend(
                    f"The competition's grader would take {needed:.0f} s for a blend; {_GRADER_SECONDS:.0f} s are allowed."
                )
            return found

        def combined(weights: Mapping[int, float]) -> Values:
            return combine(Recipe(space, weights), self._entered, self._card)

        fits = leading.fit_leading(list(self.members), combined, scores)
        yield [self._alone(node) for node, _ in fits]
        yield [Recipe(space, weights) for _, weights in fits]

    def _greedy(self, labels: Values) -> Iterator[Recipes]:
        card, nodes = self._card, list(self.members)
        parts = np.stack([self._entered(node, self._spaces[0]) for node in nodes])
        each, parts = simplified(card, labels, parts)
        sets = self._fitted_on()
        alone = [self._alone(nodes[int(np.argmax(each(rows, parts[:, rows])))]) for rows in sets]
        effort = effort_for(card)
        weights = [
            fit_weights(parts, each, rows, self._cluster, effort, [self._seed, at]) for at, rows in enumerate(sets)
        ]
        together = [
            [
                Recipe(space, {node: float(one) for node, one in zip(nodes, own, strict=True) if one > 0})
                for own in weights
            ]
            for space in self._spaces
        ]
        yield alone
        best = max(together, key=self._crossed_score)
        yield best
        yield self._calibrated(best, labels)
        yield self._calibrated(alone, labels)

    def _calibrated(self, recipes: Recipes, labels: Values) -> Recipes:
        """Return recipes with each step of calibration that gains."""
        card, metric, params = self._card, metric_named(self._card.metric.name), self._card.metric.params

        def cautious(made: Values, truth: Values) -> float:
            own, unlike = (card.oriented(metric.score(one, made, params)) for one in (truth, np.roll(truth, 1, axis=0)))
            return (len(truth) * own + _UNSEEN * unlike) / (len(truth) + _UNSEEN)

        def crossed(tried: Recipes) -> float:
            return cautious(self._crossed(tried, self._entered, self._folds), labels)

        best = crossed(recipes)
        sets = self._fitted_on(-(-len(labels) // _CALIBRATED_ON))
        plain = [combine(recipe, self._entered, card, own) for recipe, own in zip(recipes, sets, strict=True)]

        def fitted(step: str, recipe: Recipe, own: Rows, values: Values) -> Calibration | None:
            def score(made: Values) -> float:
                return cautious(made, labels[own])

            return fit_step(step, values, recipe.calibration, score, card)

        for step in STEPS:
            found = [fitted(step, *one) for one in zip(recipes, sets, plain, strict=True)]
            tried = [
                replace(recipe, calibration=own) for recipe, own in zip(recipes, found, strict=True) if own is not None
            ]
            if len(tried) == len(recipes) and (score := crossed(tried)) > best:
                recipes, best = tried, score
        return recipes
