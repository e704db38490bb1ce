"""The fit of one blend: what is tried, what each predicts of rows whose labels it has not seen, and the best of it.

Weights come from bags of half of the rows, and a row's own from the bags without it; what votes, and what is done to combined
predictions, is fitted on four of five folds and tried on the fifth. All of it goes by a sample of the hold-out rows, as many as
the metric can be computed on so often; what comes out is scored on all rows once.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers.blends import BlendRecipe, Member
from bot.evaluation.blending.calibration import STEPS, Calibration, fit_step, of_probabilities
from bot.evaluation.blending.candidates import PredictionFormat, candidates
from bot.evaluation.blending.ordinal import halfway, levels_of
from bot.evaluation.blending.regression import MEMBERS, regressions_of_labels, regressions_of_numbers, surrogates
from bot.evaluation.blending.sample import FOLDS, FittingSample, Holdout, ScoredRecipe
from bot.evaluation.blending.spaces import (
    NUMBERS,
    TIED,
    calibrated,
    combine,
    enter,
    fit_ties,
    mixed,
    read_entered,
    with_ties,
)
from bot.evaluation.blending.weights import (
    MOST_LEADING,
    effort_for,
    fit_bags,
    fit_leading,
    folds_of,
    halves,
    pruned,
    scores_needed,
    simplified,
    unseen,
)
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import METRICS, Space, metric_named
from bot.evaluation.scoring.bank import read_answers, read_numbers
from bot.evaluation.scoring.interval import clusters_of
from bot.evaluation.scoring.truth import Rows
from bot.evaluation.views.build import view_info
from scrapers.snapshots.card import TaskCard
from state.errors import NoBlend

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
_COLUMNS = 20
"""Most columns that may have weights, and a scale and offset, of their own."""
_REGRESSED_COLUMNS = 100
"""Most columns that may have weights of their own by regression, which is fast."""
_RARE = 5
"""Rows of each class of each column that a sample has, if there are as many: without any, scores are not defined."""
_OF_SAMPLE = 1000
"""Beside the seed, what the sample is drawn by."""

Weights = NDArray[np.float64]


class EnsembleFit:
    """The best blend that was found."""

    def __init__(self, holdout: Holdout, members: Sequence[Member], seed: int) -> None:
        """Fit it. Raises NoBlend: there is none; the message gives the reason in a sentence."""
        self._card, self._seed = holdout.card, seed
        metric = METRICS.get(self._card.metric.name)
        self._spaces: Sequence[Space] = ("mean",) if metric is None else metric.spaces
        self._by_column = (
            metric is not None
            and metric.by_column
            and not self._card.metric.params
            and 1 < len(self._card.prediction_columns) <= _COLUMNS
        )
        input_kind = None if metric is None else metric.input_kind
        clusters, _ = clusters_of(holdout.view, holdout.truth.ids or ())
        if len(clusters) < FOLDS:
            raise NoBlend(f"The {len(clusters)} groups of hold-out rows are too few to fit and check a blend.")
        info = view_info(holdout.view.labels)
        self._in_time = info is not None and info.split_kind == "time"
        self._of_experiments = all(member.validation is not None for member in members)
        self.form = PredictionFormat.for_view(holdout.view)
        answers = None
        if input_kind in ("number", "label"):
            answers = read_answers(holdout.view.truth, self.form.sample, self._card)[1][holdout.places]
        labels = answers if input_kind == "number" else None
        folds, cluster = folds_of(clusters, FOLDS, seed), np.empty(len(holdout.places), dtype=np.int64)
        for number, rows in enumerate(clusters):
            cluster[rows] = number
        rows = self._sampled(len(folds), labels)
        places = holdout.places[rows]
        self._numbers = _numbers_behind_labels(members, places) if input_kind == "label" else {}
        self.pool = candidates(
            members,
            self.form,
            places,
            lambda values: holdout.oriented(values, [rows])[0],
            self._most_members(len(rows), greedy=input_kind == "number"),
            lambda member, values: self._numbers.get(member.node, enter(self._spaces[0], values, self._card)),
        )
        if len(self.pool.members) < 2:
            raise NoBlend("Fewer than two scripts have usable predictions that differ.")
        self.members: Mapping[int, Member] = {member.node: member for member in self.pool.members}
        sampled = dict(zip(self.members, self.pool.sample, strict=True))
        values_in = cache(
            lambda node, space: enter(space, (self._numbers if space in NUMBERS else sampled)[node], self._card)
        )
        all_values = self.form.read(self.pool.members[0].predictions)
        self._sample = FittingSample(holdout, rows, folds[rows], cluster[rows], values_in, all_values)
        recipes = list(self._leading() if labels is None else self._greedy(labels[rows]))
        nodes = [node for node in self.members if node in self._numbers]
        widths = {self._numbers[node].shape[1] for node in nodes}
        if answers is not None and len(nodes) >= 2 and len(widths) == 1:
            recipes += regressions_of_labels(self._sample, nodes, widths.pop(), answers[rows])
        self._best = max(recipes, key=lambda recipe: recipe.score)
        if labels is not None and metric is not None and metric.name in TIED and self._of_experiments:
            self._best = self._tied(self._best, labels[rows])
        weights = self.recipe.weights
        if len(weights) == 1 and not self.recipe.calibration and not self.recipe.ties:
            raise NoBlend(f"Node {next(iter(weights))} alone is as good as any blend of {len(self.members)} scripts.")

    def _tied(self, recipe: ScoredRecipe, labels: Values) -> ScoredRecipe:
        """Return a recipe with ties in the columns where they gain."""
        card, metric = self._card, metric_named(self._card.metric.name)

        def score(truth: Values, values: Values) -> float:
            return card.oriented(metric.score(truth, values, card.metric.params))

        ties = fit_ties(recipe.out_of_fold, labels, self._sample.folds, score)
        if not ties:
            return recipe
        return self._sample.score_recipe(replace(recipe.recipe, ties=ties), with_ties(recipe.out_of_fold, ties))

    def _most_members(self, rows: int, *, greedy: bool) -> int:
        if not greedy:
            width = max((numbers.shape[1] for numbers in self._numbers.values()), default=0)
            return max(MOST_LEADING, min(MEMBERS, _NUMBERS // (width * rows))) if width else MOST_LEADING
        max_members = effort_for(self._card).members
        if not self._of_experiments or not surrogates(self._card):
            return max_members
        return max(max_members, min(MEMBERS, _NUMBERS // (rows * len(self._card.prediction_columns))))

    @property
    def recipe(self) -> BlendRecipe:
        """The best one, fitted on the whole sample."""
        return self._best.recipe

    def predict(self) -> Values:
        """Return predictions of all withheld rows: those of the sample as they were made without their labels."""
        values = combine(
            self.recipe,
            lambda node, space: read_entered(self.members[node].predictions, space, self.form.sample, self._card),
            self._card,
        )
        values[self._sample.places] = self._best.out_of_fold
        return values

    def _sampled(self, row_count: int, labels: Values | None) -> Rows:
        """Return the numbers of the hold-out rows that are fitted on; a competition's grader takes all."""
        metric = METRICS.get(self._card.metric.name)
        if metric is None or row_count <= (max_rows := effort_for(self._card).rows):
            return np.arange(row_count)
        # Drawn apart from the folds, so that rows of each are in it.
        shuffled = np.random.default_rng([self._seed, _OF_SAMPLE]).permutation(row_count)
        samples = [shuffled[:max_rows]]
        if labels is not None and metric.of_classes:
            for column in labels[shuffled].T:
                samples += [shuffled[column == label][:_RARE] for label in (column.min(), column.max())]
        return np.unique(np.concatenate(samples))

    def _leading(self) -> Iterator[ScoredRecipe]:
        nodes, sets, start, calls = list(self.members)[:MOST_LEADING], self._sample.rows_to_fit(), time.monotonic(), 0

        def scores(values: Values) -> list[float]:
            nonlocal calls
            set_scores, calls = self._sample.scores(values, sets), calls + 1
            seconds = (time.monotonic() - start) / calls * scores_needed(len(nodes), len(sets))
            if self._card.metric.name not in METRICS and seconds > _GRADER_SECONDS:
                raise NoBlend(
                    f"The competition's grader would take {seconds:.0f} s for a blend; the limit is {_GRADER_SECONDS:.0f} s."
                )
            return set_scores

        for space in self._spaces:
            cuts: Calibration = {}
            if space == "ordinal":
                levels = levels_of(self.pool.sample.reshape(-1, self.pool.sample.shape[2]))
                if levels is None:
                    continue
                cuts = halfway(levels)
            plain = BlendRecipe(space, {}, cuts)

            def combined(weights: Mapping[int, float], plain: BlendRecipe = plain) -> Values:
                return combine(replace(plain, weights=weights), self._sample.values_in, self._card)

            fits = fit_leading(nodes, combined, scores)
            if space == self._spaces[0]:
                yield self._sample.cross_fitted([BlendRecipe(space, {node: 1.0}) for node, _ in fits])
            recipes = [replace(plain, weights=weights) for _, weights in fits]
            yield self._sample.cross_fitted(recipes)
            if cuts:
                yield self._sample.cross_fitted(
                    [self._sample.with_fitted_cuts(recipe, rows) for recipe, rows in zip(recipes, sets, strict=True)]
                )

    def _greedy(self, labels: Values) -> Iterator[ScoredRecipe]:
        card, effort = self._card, effort_for(self._card)
        nodes = list(self.members)[: effort.members]
        stack = np.stack([self._sample.values_in(node, self._spaces[0]) for node in nodes])
        bags = halves(self._sample.cluster, effort.bags, self._seed)

        def fitted_weights(members: Sequence[int], columns: Sequence[int]) -> tuple[Weights, Weights]:
            score_stack, parts = simplified(card, labels[:, columns], stack[members][:, :, columns])
            return fit_bags(parts, score_stack, bags, effort.steps)

        columns = range(len(card.prediction_columns))
        first_members, all_members = fitted_weights(range(len(nodes)), columns)
        yield from self._tried_with_calibration(nodes, [first_members], bags, labels)
        yield from self._tried_with_calibration(nodes, [all_members], bags, labels)
        if self._by_column:
            used_places = np.flatnonzero(pruned(all_members.mean(axis=0))).tolist()
            fits = [fitted_weights(used_places, [column])[1] for column in columns]
            yield from self._tried_with_calibration([nodes[place] for place in used_places], fits, bags, labels)
        # Members that need a run of their own in the end must be few.
        if self._of_experiments:
            by_column = metric_named(card.metric.name).by_column and not card.metric.params
            by_column = by_column and 1 < len(card.prediction_columns) <= _REGRESSED_COLUMNS
            yield from regressions_of_numbers(self._sample, list(self.members), labels, by_column=by_column)

    def _tried_with_calibration(
        self, nodes: Sequence[int], fits: Sequence[Weights], bags: NDArray[np.bool_], labels: Values
    ) -> Iterator[ScoredRecipe]:
        """Yield what weights (bags, members) make in the space that suits them best, and that calibrated."""
        shares = np.stack([pruned(bag.mean(axis=0)) for bag in fits], axis=-1)
        by_row = np.stack([pruned(unseen(bag, bags)) for bag in fits], axis=-1)
        mean = {node: float(column.mean()) for node, column in zip(nodes, shares, strict=True) if column.any()}
        columns = {node: shares[i].tolist() for i, node in enumerate(nodes) if node in mean and len(fits) > 1}
        rows = {node: by_row[:, i] for i, node in enumerate(nodes) if by_row[:, i].any()}
        recipes = [
            self._sample.score_recipe(
                BlendRecipe(space, mean, columns=columns), mixed(space, rows, self._sample.values_in, self._card)
            )
            for space in self._spaces
        ]
        best = max(recipes, key=lambda recipe: recipe.score)
        yield best
        yield self._calibrated(best, labels)

    def _calibrated(self, recipe: ScoredRecipe, labels: Values) -> ScoredRecipe:
        """Return a recipe with each step of calibration that gains."""
        card, metric, params = self._card, metric_named(self._card.metric.name), self._card.metric.params
        plain, sets = recipe.out_of_fold, self._sample.rows_to_fit(-(-len(labels) // _CALIBRATED_ON))

        def cautious(predictions: Values, truth: Values) -> float:
            right, shifted = (
                card.oriented(metric.score(labels, predictions, params))
                for labels in (truth, np.roll(truth, 1, axis=0))
            )
            return (len(truth) * right + _UNSEEN * shifted) / (len(truth) + _UNSEEN)

        def fit_calibration(step: str, earlier: Calibration, rows: Rows) -> Calibration | None:
            if step == "line" and self._by_column:
                lines = [
                    fit_step(step, plain[rows][:, [i]], {}, partial(cautious, truth=labels[rows][:, [i]]), card)
                    for i in range(labels.shape[1])
                ]
                fits = [fit for fit in lines if fit is not None]
                line = {key: [fit[key][0] for fit in fits] for key in ("scale", "offset")}
                return {**earlier, **line} if fits else None
            return fit_step(step, plain[rows], earlier, partial(cautious, truth=labels[rows]), card)

        def gains(calibrated_values: Values, before: Values) -> bool:
            """Return whether a step gains more than the standard error of its gain, by blocks of rows."""
            blocks = self._sample.cluster % _BLOCKS
            block_gains = np.array(
                [
                    cautious(calibrated_values[rows], labels[rows]) - cautious(before[rows], labels[rows])
                    for rows in (blocks == block for block in np.unique(blocks))
                ]
            )
            return bool(block_gains.mean() > block_gains.std(ddof=1) / math.sqrt(len(block_gains)))

        steps: list[Calibration] = [{}] * len(sets)
        out_of_fold = plain
        for step in STEPS:
            if self._in_time and (step == "line" or (step == "scale" and not of_probabilities(card))):
                continue  # the level of one stretch of time is no other's
            step_fits = [fit_calibration(step, earlier, rows) for earlier, rows in zip(steps, sets, strict=True)]
            valid_fits = [fit for fit in step_fits if fit is not None]
            if len(valid_fits) < len(sets):
                continue
            calibrated_values = self._sample.join_folds(partial(_calibrated_rows, plain, valid_fits, card))
            if gains(calibrated_values, out_of_fold):
                steps, out_of_fold = valid_fits, calibrated_values
        return self._sample.score_recipe(replace(recipe.recipe, calibration=steps[-1]), out_of_fold)


def _calibrated_rows(values: Values, steps: Sequence[Calibration], card: TaskCard, fold: int, rows: Rows) -> Values:
    return calibrated(values[rows], steps[fold], card)


def _numbers_behind_labels(members: Sequence[Member], places: Rows) -> dict[int, Values]:
    """Return what members' labels at some places were made of (rows, any), where it is known for all of their rows.

    Of too many members those logged last; nothing where even the leading few would not fit.
    """
    numbers: dict[int, Values] = {}
    numbers_left = _NUMBERS
    for member in reversed(members):
        files = [file for file in (member.submission, member.validation) if file is not None]
        numbers_of_member = read_numbers(member.predictions)
        if numbers_of_member is None or any(read_numbers(file) is None for file in files):
            continue
        numbers_left -= len(places) * numbers_of_member.shape[1]
        if numbers_left < 0:
            break
        numbers[member.node] = numbers_of_member[places].astype(np.float32)
    return numbers if numbers_left >= 0 or len(numbers) >= MOST_LEADING else {}
