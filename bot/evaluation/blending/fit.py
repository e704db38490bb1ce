"""The fit of one blend: what is tried, what each predicts of rows whose labels it has not seen, and the best of it.

Weights come from bags of half of the rows, and a row's own from the bags without it; what votes, and what is done to combined
predictions, is fitted on four of five folds and tried on the fifth. All of it goes by a sample of the hold-out rows, as many as
the metric can be computed on so often; what comes out is scored on all rows once.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import Member, Recipe
from bot.evaluation.blending import leading
from bot.evaluation.blending.calibration import STEPS, Calibration, fit_step
from bot.evaluation.blending.candidates import Form, candidates
from bot.evaluation.blending.ordinal import as_numbers, fit_cuts, halfway, levels_of
from bot.evaluation.blending.regression import MEMBERS, Surrogate, regression, surrogates
from bot.evaluation.blending.spaces import (
    NUMBERS,
    calibrated,
    combine,
    enter,
    line_space,
    mixed,
    read_entered,
    weighted_sum,
)
from bot.evaluation.blending.weights import effort_for, fit_bags, folds_of, halves, pruned, simplified, unseen
from bot.evaluation.metrics.ranks import mean_ranks
from bot.evaluation.metrics.registry import METRICS, Space, metric_named
from bot.evaluation.metrics.same_labels import canonical_label
from bot.evaluation.scoring.bank import read_answers, read_numbers
from bot.evaluation.scoring.interval import clusters_of
from bot.evaluation.scoring.truth import PartOfTruth, Truth
from bot.evaluation.views.folds import CLASSES
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

_BLOCKS = 20
"""Of rows, by which the standard error of what a calibration gains is taken."""
_NUMBERS = 20_000_000
"""Most numbers of all members, of what labels were made of."""
_CELLS = 60_000
"""Most numbers of a member that a regression is fitted on."""
_COLUMNS = 20
"""Most columns that may have weights, and a scale and offset, of their own."""
_RARE = 5
"""Rows of each class of each column that a sample has, if there are as many: without any, scores are not defined."""
_OF_SAMPLE = 1000
"""Beside the seed, what the sample is drawn by."""

Rows = NDArray[np.int64]
Values = NDArray[Any]
Weights = NDArray[np.float64]


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


@dataclass(frozen=True)
class Tried:
    """A recipe that was fitted on the sample."""

    recipe: Recipe
    crossed: Values
    """What it predicts of the sample's rows (rows, columns), none of them from a fit that has seen the row's label."""
    score: float
    """Of these; more is better."""


class EnsembleFit:
    """The best blend that was found."""

    def __init__(self, holdout: Holdout, members: Sequence[Member], seed: int) -> None:
        """Fit it.

        Raises:
            NoBlend: there is none; the message gives the reason in a sentence.
        """
        self._holdout, self._card, self._seed = holdout, holdout.card, seed
        metric = METRICS.get(self._card.metric.name)
        self._spaces: Sequence[Space] = ("mean",) if metric is None else metric.spaces
        self._by_column = (
            metric is not None
            and metric.by_column
            and not self._card.metric.params
            and 1 < len(self._card.prediction_columns) <= _COLUMNS
        )
        takes = None if metric is None else metric.takes
        clusters, _ = clusters_of(holdout.view, holdout.truth.ids or ())
        if len(clusters) < FOLDS:
            raise NoBlend(
                f"The hold-out rows are of {len(clusters)} groups: too few to fit on some and check on others."
            )
        self._of_experiments = all(one.validation is not None for one in members)
        self.form = Form.of(holdout.view)
        answers = None
        if takes in ("number", "label"):
            answers = read_answers(holdout.view.truth, self.form.sample, self._card)[1][holdout.places]
        labels = answers if takes == "number" else None
        folds, cluster = folds_of(clusters, FOLDS, seed), np.empty(len(holdout.places), dtype=np.int64)
        for number, rows in enumerate(clusters):
            cluster[rows] = number
        self._sample = self._sampled(len(folds), labels)
        self._folds, self._cluster = folds[self._sample], cluster[self._sample]
        self._places = holdout.places[self._sample]
        numbers = {one.node: read_numbers(one.predictions) for one in members} if takes == "label" else {}
        self._numbers = {node: own[self._places] for node, own in numbers.items() if own is not None}
        self.pool = candidates(
            members,
            self.form,
            self._places,
            lambda values: holdout.oriented(values, [self._sample])[0],
            self._most_members(greedy=takes == "number"),
            lambda one, values: self._numbers.get(one.node, enter(self._spaces[0], values, self._card)),
        )
        if len(self.pool.members) < 2:
            raise NoBlend("Fewer than two scripts have predictions that differ and can be used.")
        self.members: Mapping[int, Member] = {one.node: one for one in self.pool.members}
        self._whole = self.form.read(self.pool.members[0].predictions)
        sampled = dict(zip(self.members, self.pool.sample, strict=True))
        self._entered = cache(
            lambda node, space: enter(space, (self._numbers if space in NUMBERS else sampled)[node], self._card)
        )
        tried = list(self._leading() if labels is None else self._greedy(labels[self._sample]))
        if answers is not None and takes == "label":
            tried += self._of_numbers(answers[self._sample])
        self._best = max(tried, key=lambda one: one.score)
        weights = self.recipe.weights
        if len(weights) == 1 and not self.recipe.calibration:
            raise NoBlend(f"Node {next(iter(weights))} alone is as good as any blend of {len(self.members)} scripts.")

    def _most_members(self, *, greedy: bool) -> int:
        if not greedy:
            width = max((own.shape[1] for own in self._numbers.values()), default=0)
            return max(leading.MOST, min(MEMBERS, _NUMBERS // (width * len(self._sample)))) if width else leading.MOST
        return MEMBERS if self._of_experiments and surrogates(self._card) else effort_for(self._card).members

    @property
    def recipe(self) -> Recipe:
        """The best one, fitted on the whole sample."""
        return self._best.recipe

    def predicted(self) -> Values:
        """Return predictions of all withheld rows: those of the sample as they were made without their labels."""
        values = combine(
            self.recipe,
            lambda node, space: read_entered(self.members[node].predictions, space, self.form.sample, self._card),
            self._card,
        )
        values[self._places] = self._best.crossed
        return values

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

    def _tried(self, recipe: Recipe, crossed: Values) -> Tried:
        return Tried(recipe, crossed, self._scores(crossed, [slice(None)])[0])

    def _scores(self, values: Values, sets: Sequence[Rows | slice]) -> list[float]:
        """Return the scores of predictions of the sample on sets of its rows."""
        # A grader takes files of all rows; those that are not in the sample count in no set.
        whole = self._whole.astype(values.dtype)
        whole[self._places] = values
        return self._holdout.oriented(whole, [self._sample[own] for own in sets])

    def _fitted_on(self, stride: int = 1) -> list[Rows]:
        """Return rows of the sample to fit on: for each fold those of the others, and all."""
        rows = np.arange(0, len(self._folds), stride)
        return [rows[self._folds[rows] != fold] for fold in range(FOLDS)] + [rows]

    def _by_fold(self, values: Callable[[int, Rows], Values]) -> Values:
        """Return predictions of the sample, put together from those of each fold's rows."""
        rows = [np.flatnonzero(self._folds == fold) for fold in range(FOLDS)]
        parts = [values(fold, own) for fold, own in enumerate(rows)]
        joined = np.empty((len(self._folds), parts[0].shape[1]), dtype=parts[0].dtype)
        for own, part in zip(rows, parts, strict=True):
            joined[own] = part
        return joined

    def _leading(self) -> Iterator[Tried]:
        nodes, sets, began, calls = list(self.members)[: leading.MOST], self._fitted_on(), time.monotonic(), 0

        def scores(values: Values) -> list[float]:
            nonlocal calls
            found, calls = self._scores(values, sets), calls + 1
            needed = (time.monotonic() - began) / calls * leading.scores_needed(len(nodes), len(sets))
            if self._card.metric.name not in METRICS and needed > _GRADER_SECONDS:
                raise NoBlend(
                    f"The competition's grader would take {needed:.0f} s for a blend; {_GRADER_SECONDS:.0f} s are allowed."
                )
            return found

        for space in self._spaces:
            cuts: Calibration = {}
            if space == "ordinal":
                levels = levels_of(self.pool.sample.reshape(-1, self.pool.sample.shape[2]))
                if levels is None:
                    continue
                cuts = halfway(levels)
            plain = Recipe(space, {}, cuts)

            def combined(weights: Mapping[int, float], plain: Recipe = plain) -> Values:
                return combine(replace(plain, weights=weights), self._entered, self._card)

            fits = leading.fit_leading(nodes, combined, scores)
            if space == self._spaces[0]:
                yield self._of_folds([Recipe(space, {node: 1.0}) for node, _ in fits])
            recipes = [replace(plain, weights=weights) for _, weights in fits]
            yield self._of_folds(recipes)
            if cuts:
                yield self._of_folds([self._cut(one, rows) for one, rows in zip(recipes, sets, strict=True)])

    def _of_folds(self, recipes: Sequence[Recipe]) -> Tried:
        """Return the last of some recipes, each fold predicted by its own."""
        return self._tried(recipes[-1], self._by_fold(partial(self._combined, recipes)))

    def _combined(self, recipes: Sequence[Recipe], fold: int, rows: Rows) -> Values:
        return combine(recipes[fold], self._entered, self._card, rows)

    def _cut(self, recipe: Recipe, rows: Rows) -> Recipe:
        """Return a recipe of the space `ordinal` with thresholds that were fitted on some rows."""
        weights = {node: np.asarray(weight) for node, weight in recipe.weights.items()}
        means = weighted_sum(weights, {node: self._entered(node, recipe.space) for node in weights})
        labels = combine(recipe, self._entered, self._card)

        def score(made: Values) -> float:
            labels[rows] = made
            return self._scores(labels, [rows])[0]

        return replace(recipe, calibration=fit_cuts(means[rows], recipe.calibration, score))

    def _of_numbers(self, truth: Values) -> Iterator[Tried]:
        """Yield what regressions on the numbers that labels were made of predict; `truth` are the sample's labels."""
        nodes = [node for node in self.members if node in self._numbers]
        width = self._numbers[nodes[0]].shape[1] if nodes else 0
        if len(nodes) < 2 or any(self._numbers[node].shape[1] != width for node in nodes):
            return
        space: Space = "numbers" if width == 1 else "classes"
        classes, levels = _classes_in(self._holdout.view), levels_of(truth) if width == 1 else None
        target = as_numbers(truth).astype(float) if width == 1 else _indicators(truth, classes)
        if target is None or not np.isfinite(target).all() or (width == 1 and levels is None):
            return
        parts = np.stack([self._entered(node, space) for node in nodes]).astype(float)
        sets = self._fitted_on(-(-len(truth) * width // _CELLS))
        # Where each class counts alike, rare ones are named more readily.
        powers = (0.0,) if width == 1 or METRICS[self._card.metric.name].rows else (0.0, 0.5, 1.0)
        for signed in (False, True):
            by = Surrogate(space, "squares" if width == 1 else "classes")
            fits = [regression(parts[:, rows], target[rows], by, signed=signed) for rows in sets]
            if any(not found.weights.any() for found in fits):
                continue
            for power in powers:
                recipes = []
                for rows, found in zip(sets, fits, strict=True):
                    weights = {node: float(own[0]) for node, own in zip(nodes, found.weights, strict=True) if own.any()}
                    if levels is not None:
                        moved = [cut - float(found.offsets[0]) for cut in halfway(levels)["thresholds"]]
                        plain = Recipe(space, weights, {"levels": levels, "thresholds": moved})
                        recipes.append(self._cut(plain, rows))
                        continue
                    rare = power * np.log(np.maximum(target[rows].mean(axis=0), 1 / len(rows)))
                    offset = (found.offsets - rare).tolist()
                    recipes.append(Recipe(space, weights, {"offset": offset}, classes=classes))
                yield self._of_folds(recipes)

    def _greedy(self, labels: Values) -> Iterator[Tried]:
        card, effort = self._card, effort_for(self._card)
        nodes = list(self.members)[: effort.members]
        stack = np.stack([self._entered(node, self._spaces[0]) for node in nodes])
        bags = halves(self._cluster, effort.bags, self._seed)

        def fitted(of: Sequence[int], columns: Sequence[int]) -> tuple[Weights, Weights]:
            each, parts = simplified(card, labels[:, columns], stack[of][:, :, columns])
            return fit_bags(parts, each, bags, effort.steps)

        columns = range(len(card.prediction_columns))
        alone, together = fitted(range(len(nodes)), columns)
        yield from self._tried_with_calibration(nodes, [alone], bags, labels)
        yield from self._tried_with_calibration(nodes, [together], bags, labels)
        if self._by_column:
            used = np.flatnonzero(pruned(together.mean(axis=0))).tolist()
            fits = [fitted(used, [column])[1] for column in columns]
            yield from self._tried_with_calibration([nodes[at] for at in used], fits, bags, labels)
        # Members that need a run of their own in the end must be few.
        for by in surrogates(card) if self._of_experiments else ():
            plain = np.stack([self._entered(node, "mean") for node in self.members]).astype(float)
            if by.loss == "logistic" and not np.isin(labels, (0, 1)).all() and metric_named(card.metric.name).of_order:
                continue
            if by.space == "logit" and not ((plain >= 0) & (plain <= 1)).all():
                continue
            parts = np.stack([self._entered(node, by.space) for node in self.members]).astype(float)
            for signed in (False, True):
                yield from self._by_regression(parts, by, labels, signed=signed)

    def _by_regression(self, parts: Values, by: Surrogate, labels: Values, *, signed: bool) -> Iterator[Tried]:
        """Yield what a regression on all members makes: with weights of their own for all columns, or for each."""
        recipes, moved = [], line_space(self._card) is not None
        for rows in self._fitted_on():
            found = regression(
                parts[:, rows],
                labels[rows].astype(float),
                by,
                signed=signed,
                by_column=signed and self._by_column,
            )
            sizes = np.abs(found.weights).sum(axis=0)
            # Where only the order counts, their scale says nothing.
            weights = found.weights if moved else found.weights / np.where(sizes > 0, sizes, 1.0)
            used = {node: own for node, own in zip(self.members, weights, strict=True) if own.any()}
            if not used:
                return
            columns = {node: own.tolist() for node, own in used.items()} if weights.shape[1] > 1 else {}
            mean = {node: float(own.mean()) for node, own in used.items()}
            line = {"scale": [1.0], "offset": found.offsets.tolist()} if moved else {}
            recipes.append(Recipe(by.space, mean, line, columns))
        yield self._of_folds(recipes) if moved else self._of_orders(recipes)

    def _of_orders(self, recipes: Sequence[Recipe]) -> Tried:
        """As `_of_folds`, where only the order counts: each fold's predictions in the scale of the last recipe's."""
        whole = np.arange(len(self._folds))
        last = np.sort(self._combined(recipes, len(recipes) - 1, whole), axis=0)

        def placed(fold: int, rows: Rows) -> Values:
            ranks = mean_ranks(self._combined(recipes, fold, whole))
            return np.take_along_axis(last, ranks[rows].astype(np.int64) - 1, axis=0)

        return self._tried(recipes[-1], self._by_fold(placed))

    def _tried_with_calibration(
        self, nodes: Sequence[int], fits: Sequence[Weights], bags: NDArray[np.bool_], labels: Values
    ) -> Iterator[Tried]:
        """Yield what weights (bags, members) make in the space that suits them best, and that calibrated."""
        whole = np.stack([pruned(own.mean(axis=0)) for own in fits], axis=-1)
        by_row = np.stack([pruned(unseen(own, bags)) for own in fits], axis=-1)
        mean = {node: float(own.mean()) for node, own in zip(nodes, whole, strict=True) if own.any()}
        columns = {node: whole[at].tolist() for at, node in enumerate(nodes) if node in mean and len(fits) > 1}
        rows = {node: by_row[:, at] for at, node in enumerate(nodes) if by_row[:, at].any()}
        tried = [
            self._tried(Recipe(space, mean, columns=columns), mixed(space, rows, self._entered, self._card))
            for space in self._spaces
        ]
        best = max(tried, key=lambda one: one.score)
        yield best
        yield self._calibrated(best, labels)

    def _calibrated(self, tried: Tried, labels: Values) -> Tried:
        """Return a recipe with each step of calibration that gains."""
        card, metric, params = self._card, metric_named(self._card.metric.name), self._card.metric.params
        plain, sets = tried.crossed, self._fitted_on(-(-len(labels) // _CALIBRATED_ON))

        def cautious(made: Values, truth: Values) -> float:
            own, unlike = (card.oriented(metric.score(one, made, params)) for one in (truth, np.roll(truth, 1, axis=0)))
            return (len(truth) * own + _UNSEEN * unlike) / (len(truth) + _UNSEEN)

        def fitted(step: str, so_far: Calibration, rows: Rows) -> Calibration | None:
            if step == "line" and self._by_column:
                lines = [
                    fit_step(step, plain[rows][:, [at]], {}, partial(cautious, truth=labels[rows][:, [at]]), card)
                    for at in range(labels.shape[1])
                ]
                own = [one for one in lines if one is not None]
                return {**so_far, **{key: [one[key][0] for one in own] for key in ("scale", "offset")}} if own else None
            return fit_step(step, plain[rows], so_far, partial(cautious, truth=labels[rows]), card)

        def gains(made: Values, before: Values) -> bool:
            """Return whether a step gains more than the standard error of its gain, by blocks of rows."""
            blocks = self._cluster % _BLOCKS
            own = np.array(
                [
                    cautious(made[rows], labels[rows]) - cautious(before[rows], labels[rows])
                    for rows in (blocks == block for block in np.unique(blocks))
                ]
            )
            return bool(own.mean() > own.std(ddof=1) / math.sqrt(len(own)))

        steps: list[Calibration] = [{}] * len(sets)
        crossed = plain
        for step in STEPS:
            found = [fitted(step, so_far, rows) for so_far, rows in zip(steps, sets, strict=True)]
            own = [one for one in found if one is not None]
            if len(own) < len(sets):
                continue
            made = self._by_fold(partial(_calibrated_rows, plain, own, card))
            if gains(made, crossed):
                steps, crossed = own, made
        return self._tried(replace(tried.recipe, calibration=steps[-1]), crossed)


def _calibrated_rows(values: Values, by: Sequence[Calibration], card: TaskCard, fold: int, rows: Rows) -> Values:
    return calibrated(values[rows], by[fold], card)


def _classes_in(view: LabelledView) -> list[str]:
    """Return the classes that a view's code wrote; nothing where it has none."""
    file = view.data / CLASSES
    classes: list[str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return classes


def _indicators(labels: Values, classes: Sequence[str]) -> Values | None:
    """Return 1 where a row (rows, 1) has a class, else 0 (rows, classes); None: a label is none of them."""
    place = {canonical_label(label): at for at, label in enumerate(classes)}
    at = [place.get(canonical_label(label), -1) for label in labels[:, 0]]
    return None if -1 in at else np.eye(len(classes))[at]
