"""Rows that experiments are scored on: their score, its standard error, and the paired difference of two experiments.

Where the score is a mean of rows' losses, or a root of one, errors come from the rows' influence (Hampel 1974): exact for means,
and without a draw. Else they come from draws with replacement, bounded in number, rows and time. What belongs together counts
as one in both.
"""

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Gain, LabelledView, NodeScore
from bot.evaluation.metrics.arrays import Values
from bot.evaluation.metrics.registry import METRICS, Metric
from bot.evaluation.scoring import Scorer, readable_parts, sample_of
from bot.evaluation.scoring.bank import read_answers, write_values
from bot.evaluation.scoring.interval import held_units
from bot.evaluation.scoring.registry_scorer import draw_scorer
from bot.evaluation.scoring.truth import PartOfTruth, PredictionSet, Rows, Truth, score_or_nan, weighted_mean
from scrapers.snapshots.card import TaskCard

Floats = NDArray[np.float64]

DRAWS, FEWEST = 100, 30
"""Draws for a standard error; on fewer than the second it is unknown."""
MOST_DRAWN, _FEWEST_DRAWN = 20_000, 100
"""Rows of a draw."""
_SECONDS = 0.25
"""For the draws of one standard error; a competition's grader gets longer."""
_GRADER_SECONDS = 10.0
_COLUMNS = 200
"""Most columns that have a score each."""


@dataclass(frozen=True)
class ScoredRows:
    """Rows with labels, of which predictions have a score."""

    card: TaskCard
    truth: Truth
    """Of these rows; reads predictions of all rows of the sample."""
    places: Rows
    """Where they stand in the sample."""
    sample: Path
    labels: Values | None
    """(rows, prediction columns); None: only the competition's grader scores them."""
    units: NDArray[np.int64]
    """Of rows that belong together, each has the same number."""
    fold: NDArray[np.int64] | None = None
    """The fold of each, where the metric is computed for each fold."""
    resources: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)
    """Closes what predictions hold."""
    memory: dict[int, tuple[PredictionSet, Floats | None]] = field(default_factory=dict, repr=False, compare=False)
    """Losses of predictions, by their identity."""

    @property
    def metric(self) -> Metric | None:
        """The registry's metric; None: the competition's grader scores."""
        return METRICS.get(self.card.metric.name) if self.labels is not None else None

    def predictions(self, values: Values) -> PredictionSet:
        """Return predictions of all rows of the sample (rows, prediction columns), ready to be scored."""
        if self.labels is not None:
            return PredictionSet("an experiment", values)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "experiment.csv"
            write_values(file, np.nan_to_num(values) if values.dtype.kind == "f" else values, self.sample, self.card)
            return self.resources.enter_context(closing(self.truth.read(file)))

    def score(self, predictions: PredictionSet, rows: Rows | None = None) -> float:
        """Return the score on some of these rows or all, or NaN."""
        return score_or_nan(self.truth, predictions, rows)

    def error(self, predictions: PredictionSet, rows: Rows | None, seed: int) -> float | None:
        """Return the score's standard error; None: unknown."""
        if (influence := self.influence(predictions, rows)) is not None:
            return _error_of(influence, self._units(rows))
        return _spread(self._draws([predictions], rows, seed)[:, 0])

    def gain(
        self,
        predictions: PredictionSet,
        comparison: PredictionSet,
        rows: Rows | None,
        over: str,
        seed: int,
        score: float | None = None,
    ) -> Gain | None:
        """Return how much better predictions are than others on some rows, or all; None: one has no score.

        The `score` is that of `predictions` on these rows, where it is known.
        """
        score = self.score(predictions, rows) if score is None else score
        value = self.card.oriented(score - self.score(comparison, rows))
        if not math.isfinite(value):
            return None
        influence, other_influence = self.influence(predictions, rows), self.influence(comparison, rows)
        if influence is not None and other_influence is not None:
            return Gain(value, _error_of(influence - other_influence, self._units(rows)), over)
        drawn_scores = self._draws([predictions, comparison], rows, seed)
        return Gain(value, _spread(drawn_scores[:, 0] - drawn_scores[:, 1]), over)

    def evaluate(self, predictions: PredictionSet, comparison: PredictionSet | None, seed: int) -> NodeScore:
        """Return the score of all these rows with its standard error, and the gain over others' predictions."""
        value = self.score(predictions)
        gain = None if comparison is None else self.gain(predictions, comparison, None, "", seed, value)
        return NodeScore(value, self.error(predictions, None, seed), gain)

    def columns(self, predictions: PredictionSet, rows: Rows | None) -> Mapping[str, float]:
        """Return the score of each column, where the metric is better the better each column's is."""
        card, metric, values, names = self.card, self.metric, predictions.values, self.card.prediction_columns
        if metric is None or self.labels is None or values is None or not metric.by_column or card.metric.params:
            return {}
        if not 1 < len(names) <= _COLUMNS:
            return {}
        among = np.arange(len(self.places)) if rows is None else rows
        fold = np.zeros(len(among)) if self.fold is None else self.fold[among]
        parts = [fold == number for number in np.unique(fold)]
        scores = {}
        for place, name in enumerate(names):
            labels, column_values = self.labels[among, place : place + 1], values[self.places[among], place : place + 1]
            scores[name] = weighted_mean(
                [(metric.score(labels[part], column_values[part], {}), int(part.sum())) for part in parts]
            )
        return {name: score for name, score in scores.items() if math.isfinite(score)}

    def influence(self, predictions: PredictionSet, rows: Rows | None) -> Floats | None:
        """Return by how much each row moves the score, times their number; None: the score is no mean of rows."""
        parts = self.influences(predictions, rows)
        return None if parts is None else parts.mean(axis=1)

    def influences(self, predictions: PredictionSet, rows: Rows | None) -> Floats | None:
        """Return as `influence` does that of each cell of the losses (rows, columns)."""
        metric = self.metric
        losses = self._losses(predictions)
        if metric is None or losses is None:
            return None
        losses = losses if rows is None else losses[rows]
        means = losses.mean(axis=0)
        deviations: Floats = losses - means
        return deviations / (2 * np.sqrt(np.maximum(means, 1e-300))) if metric.rooted else deviations

    def _losses(self, predictions: PredictionSet) -> Floats | None:
        """Return the losses of all rows, computed once; None: the score is no mean of such."""
        if self.metric is None or self.labels is None or predictions.values is None or not self.metric.rows:
            return None
        if id(predictions) not in self.memory:
            values = predictions.values
            values = values[self.places] if len(self.places) < len(values) else values
            losses = self.metric.row_losses(self.labels, values, self.card.metric.params)
            self.memory[id(predictions)] = predictions, losses
        return self.memory[id(predictions)][1]

    def _units(self, rows: Rows | None) -> NDArray[np.int64]:
        return self.units if rows is None else self.units[rows]

    def _draws(self, sides: Sequence[PredictionSet], rows: Rows | None, seed: int) -> Floats:
        """Return scores of draws (draws, sides), scaled to the error of all rows."""
        if self.truth.ids is None:
            return np.empty((0, len(sides)))
        rng, repeats = np.random.default_rng(seed), self.truth.repeats
        among = np.arange(len(self.units)) if rows is None else rows
        drawer, unit_count = _drawer(self.units[among])
        if self.metric is not None and unit_count == len(among) > MOST_DRAWN:
            # The error of fewer rows, scaled, is known as well from a sample of them.
            sampled = np.sort(rng.choice(len(among), MOST_DRAWN, replace=False))
            return self._draws(sides, among[sampled], seed) * math.sqrt(MOST_DRAWN / len(among))
        scorers = [self._draw_scorer(side, among) for side in sides]
        share, draw_size = 1.0, unit_count if repeats else unit_count // 2
        limit, start = _SECONDS if repeats else _GRADER_SECONDS, time.monotonic()
        draws: list[list[float]] = []
        for draw in range(DRAWS):
            rows_of_draw = drawer(rng, max(1, round(share * draw_size)), again=repeats)
            draws.append([score(rows_of_draw) for score in scorers])
            seconds = time.monotonic() - start
            if draw == 0 and FEWEST * seconds > limit and len(rows_of_draw) > _FEWEST_DRAWN:
                # The metric is slow: fewer rows a draw.
                share = max(_FEWEST_DRAWN / len(rows_of_draw), limit / (FEWEST * seconds))
                draws.clear()
            elif seconds > limit and len(draws) >= FEWEST:
                break
        scale = share if repeats else share / (2 - share)
        return np.array(draws, dtype=float).reshape(-1, len(sides)) * math.sqrt(scale)

    def _draw_scorer(self, side: PredictionSet, among: Rows) -> Callable[[Rows], float]:
        """Return a function that scores draws of some rows, numbered among them."""
        if self.metric is None or self.labels is None or side.values is None:
            score = self.truth.draws(side)
            return lambda drawn_rows: score(among[drawn_rows])
        labels, values = self.labels[among], side.values[self.places[among]]
        score = draw_scorer(self.metric, labels, values, self.card.metric.params)
        if self.fold is None:
            return score
        fold = self.fold[among]
        numbers = np.unique(fold)

        def by_fold(drawn_rows: Rows) -> float:
            parts = [drawn_rows[fold[drawn_rows] == number] for number in numbers]
            return weighted_mean([(score(part), len(part)) for part in parts])

        return by_fold


def open_holdout(
    view: LabelledView, scorer: Scorer, stack: ExitStack, parts: tuple[Truth, Truth | None] | None = None
) -> tuple[ScoredRows, ScoredRows | None]:
    """Open the labels of a view: the hold-out rows, and those of the internal test, None where no rows are scored apart.

    `parts` are those of `readable_parts`, where they are open. Where a grader scores whole files only, the rows have no numbers,
    and the score has no standard error.

    Raises InfrastructureFailure: the labels cannot be read.
    """
    truth, final = parts or readable_parts(view, scorer)
    card, sample, row_count = view.card, sample_of(view), len(truth.ids or ())
    labels = read_answers(view.truth, sample, card)[1] if scorer.kind == "registry" else None
    # Where withheld rows stand in for the test rows, they are told apart by nothing.
    grouped = truth.ids is not None and sample.name == "sample_validation.csv"
    units = held_units(view)[0] if grouped else np.arange(row_count)

    def rows(part: Truth, units: Rows) -> ScoredRows:
        places = part.places if isinstance(part, PartOfTruth) else np.arange(len(units))
        part_labels = None if labels is None else labels[places]
        return ScoredRows(card, part, places, sample, part_labels, units, resources=stack)

    return rows(truth, units), None if final is None else rows(final, np.arange(len(final.ids or ())))


def _error_of(influence: Floats, units: NDArray[np.int64]) -> float | None:
    """Return the standard error of a mean by its rows' influence, what belongs together added up."""
    sums = np.bincount(units, influence)
    unit_count = len(np.unique(units)) if sums.size != len(units) else len(units)
    if unit_count < 2:
        return None
    return float(np.sqrt((sums**2).sum() * unit_count / (unit_count - 1)) / len(influence))


def _drawer(units: NDArray[np.int64]) -> tuple[Callable[..., Rows], int]:
    """Return a function that draws so many units, with replacement or each once, and how many there are."""
    numbers, counts = np.unique(units, return_counts=True)
    unit_count = len(numbers)
    order = np.argsort(units, kind="stable")
    begins = np.cumsum(counts) - counts

    def draw(rng: np.random.Generator, draw_size: int, *, again: bool) -> Rows:
        drawn_units: Rows = rng.integers(0, unit_count, draw_size) if again else rng.permutation(unit_count)[:draw_size]
        if unit_count == len(units):
            return np.asarray(order[drawn_units])
        unit_sizes = counts[drawn_units]
        offsets = np.arange(unit_sizes.sum()) - np.repeat(np.cumsum(unit_sizes) - unit_sizes, unit_sizes)
        return np.asarray(order[np.repeat(begins[drawn_units], unit_sizes) + offsets])

    return draw, unit_count


def _spread(values: Floats) -> float | None:
    defined = values[np.isfinite(values)]
    return float(defined.std(ddof=1)) if len(defined) >= FEWEST else None
