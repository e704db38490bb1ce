"""Intervals: where to expect the hidden score, given the validation score and its uncertainty.

The hidden score of a model is that of other rows. So the interval is one of prediction, not of the mean: rows of the hold-out
part are resampled (what the validation rows might have been), and from each such draw as many rows are drawn as the hidden
test has (what its rows might be). Where validation rows hang together, in groups or in time, whole groups and stretches are
drawn. Four things are added to that:

- A model that was trained on other rows is another one. Nadeau and Bengio (2003, "Inference for the generalization error")
  count a share of the variance for it: the rows that were validated on over those that were trained on.
- What the few validation rows did not hold, be it a row of another kind or, where rows go together, a group or a stretch of
  time like no other: it counts as half a row, or half a group, seen besides (the weight of Jeffreys' prior), and its
  predictions are those of other rows.
- Over time all of it drifts: where rows were withheld by time, the interval is as wide as backtests say (`backtests.py`).
- What is submitted is trained on more rows, and may be better for it: no more than if its error fell with the number of rows
  (1/n is the fastest that a risk falls in general; a root of one falls with the root). Nothing is taken off the other end, as
  more rows may help nothing.

A competition's own grader may refuse an id that comes twice. For it a draw is half of the rows without replacement, whose score
strays from that of all as much as a bootstrap's (Shao and Wu 1989), and is stretched for the test's rows, which are not drawn.
"""

import math
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import Interval, LabelledView
from bot.evaluation.scoring import labels_of, open_scorer
from bot.evaluation.scoring.backtests import distance_factors
from bot.evaluation.scoring.bank import Version, version
from bot.evaluation.scoring.truth import PredictionSet, Rows, Truth, score_or_nan
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.build import view_info
from bot.evaluation.views.groups import disjoint_group_column
from bot.evaluation.views.opened_view import OpenedView
from bot.evaluation.views.parts import final_places
from bot.evaluation.views.split import withheld_shares
from bot.evaluation.views.timeline import train_stretches
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.tables import Repeats
from scrapers.snapshots.times import parse_times
from state.errors import UnsupportedLayout

LEVEL = 0.95
DRAWS = 250
FEWEST = 60
"""Draws on which the metric must be defined; with fewer there is no result."""
STRETCHES = 40
"""Stretches that validation rows are cut into where they follow one another in time."""
_OFF = 3.0
"""Standard deviations that draws may lie off the score on average: a sum, say, is less for fewer rows."""
_ROUNDING = 1e-9
_PATIENCE = 3.0
"""Times the seconds, after which a competition's grader gets no more draws, even if there are too few."""
_ROOTS = frozenset({"rmse", "rmsle", "mean_columnwise_rmsle"})
"""Metrics that are a root of a mean, whose error falls with the root of the rows at best."""


def validation_interval(
    view: LabelledView, predictions: Path, seed: int, refitted: bool = True, seconds: float = 30.0
) -> Interval:
    """Return the interval that contains the hidden score in 95 of 100 cases.

    Predictions are those of the rows of the hold-out view's `sample_validation.csv`; its sample_submission.csv shows the
    number of rows of the hidden test. The hidden score is that of a refit on all rows, or of the hold-out run's own file. After
    `seconds` no more draws are made than it takes for `FEWEST` on which the metric is defined; a competition's slow grader is
    waited for at most three times as long.

    Raises:
        InvalidSubmission: the predictions cannot be read.
        InfrastructureFailure: the labels cannot.
        SnapshotError: the grader cannot be used.
        UsageError: the card's metric is not known.
    """
    card, test_rows = view.card, sum(1 for _ in read_table(view.data / "sample_submission.csv").rows())
    with closing(open_scorer(card, view.grader)) as scorer:
        truth = labels_of(view, scorer)
        parsed = truth.read(predictions)
        if truth.ids is None:
            note = f"the {scorer.name} scores whole files only, so rows cannot be resampled"
            return Interval(None, None, note, 0, None, test_rows)
        clusters, group = clusters_of(view, truth.ids)
        draws = _Draws(truth, parsed, clusters, len(truth.ids), test_rows)
        score, perfect = score_or_nan(truth, parsed), score_or_nan(truth, truth.perfect(view.truth))
        scores = draws.scores(score, seed, seconds)
    basis = len(scores), group, test_rows
    if (reason := _why_not(scores, score)) is not None:
        return Interval(None, None, f"the {scorer.name} {reason}", *basis)
    trained, growth = _sizes(view)
    low, high = _bounds(scores, score, draws.ratio, trained)
    if math.isfinite(perfect) and card.oriented(perfect) >= card.oriented(score):
        if refitted:
            low, high = _with_refit(low, high, perfect, card, growth)
        if group is not None and (factors := _drift(view, group, seconds, refitted=refitted)) is not None:
            # What drifts and what is drawn are independent, so that their distances from the score add up by their squares.
            drifted = sorted(perfect + (score - perfect) * factor for factor in factors)
            low = score - math.hypot(score - low, score - drifted[0])
            high = score + math.hypot(high - score, drifted[1] - score)
        # What was stretched away from the score is stretched no further than scores go.
        low, high = (max(low, perfect), high) if card.lower_is_better else (low, min(high, perfect))
    return Interval(low, high, None, *basis)


def _drift(labelled: LabelledView, column: str, seconds: float, *, refitted: bool) -> tuple[float, float] | None:
    """Return what backtests say of the distance to a perfect score, where rows were withheld by time."""
    info = view_info(labelled.labels)
    if info is None or info.split_kind != "time":
        return None
    view = OpenedView(labelled.data, labelled.labels, labelled.card)
    return distance_factors(view, labelled, column, seconds, refitted=refitted)


def _why_not(scores: NDArray[np.float64], score: float) -> str | None:
    """Return why the draws allow no conclusion; None if they do."""
    if not math.isfinite(score):
        return "gives no score for the validation rows as a whole"
    if len(scores) < FEWEST:
        return f"gave a score on only {len(scores)} resamples of the validation rows; at least {FEWEST} are needed"
    off, spread = abs(float(scores.mean()) - score), float(scores.std())
    if off > _OFF * spread and off > _ROUNDING * max(1.0, abs(score)):
        return f"scores subsets of rows differently from all rows (by {off:.3g} on average): it is not a mean over rows"
    return None


def _sizes(view: LabelledView) -> tuple[float, float]:
    """Return the rows that are validated on as a share of those trained on, and these as a share of a refit's."""
    if (info := view_info(view.labels)) is not None:
        return (info.validation_rows - info.final_rows) / info.train_rows, info.train_rows / info.of_rows
    holdout, final = withheld_shares(0)
    return holdout / (1 - holdout - final), 1 - holdout - final


def _bounds(scores: NDArray[np.float64], score: float, ratio: float, trained: float) -> tuple[float, float]:
    """Return the quantiles of the draws, stretched away from the score for a model of other training rows."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(scores, [tail, 1 - tail])
    stretch = math.sqrt((1 + ratio + trained) / (1 + ratio))
    return score - stretch * (score - float(low)), score + stretch * (float(high) - score)


def _with_refit(low: float, high: float, perfect: float, card: TaskCard, growth: float) -> tuple[float, float]:
    """Move the better end towards the perfect score as far as more rows can."""
    factor = math.sqrt(growth) if card.metric.name in _ROOTS else growth
    if card.lower_is_better:
        return perfect + (low - perfect) * factor, high
    return low, perfect - (perfect - high) * factor


@dataclass(frozen=True)
class _Draws:
    """Hidden tests as they may be, drawn from the validation rows."""

    truth: Truth
    predictions: PredictionSet
    clusters: Sequence[Rows]
    """Which rows go together."""
    rows: int
    test_rows: int

    @property
    def ratio(self) -> float:
        """Validation rows over test rows."""
        return self.rows / self.test_rows

    def scores(self, score: float, seed: int, seconds: float) -> NDArray[np.float64]:
        """Return scores of hidden tests where the metric is defined; after `seconds` none is drawn beyond `FEWEST` of these."""
        rng = np.random.default_rng(seed)
        repeats = self.truth.repeats
        patience = math.inf if repeats else _PATIENCE * seconds
        start = time.monotonic()
        values: list[float] = []
        for _ in range(DRAWS):
            units, unlike = self._resample(rng) if repeats else self._half(rng)
            rows = np.concatenate(units)
            is_replaced = np.repeat(unlike, [len(unit_rows) for unit_rows in units])
            donors = np.where(is_replaced, rng.integers(0, self.rows, len(rows)), rows)
            value = score_or_nan(self.truth, self.predictions, rows, donors)
            if math.isfinite(value):
                values.append(value)
            if time.monotonic() - start > (seconds if len(values) >= FEWEST else patience):
                break
        scores: NDArray[np.float64] = np.array(values, dtype=float)
        return scores if repeats else score + self._stretch * (scores - score)

    def _resample(self, rng: np.random.Generator) -> tuple[list[Rows], NDArray[np.bool_]]:
        """Draw the validation rows again, of these a hidden test, and which of it are of a kind that was lacking."""
        unit_count = len(self.clusters)
        resampled = rng.integers(0, unit_count, unit_count)
        draw_count = max(1, round(unit_count / self.ratio))
        units = [self.clusters[place] for place in resampled[rng.integers(0, unit_count, draw_count)]]
        return units, rng.random(draw_count) < _unseen_share(rng, unit_count)

    def _half(self, rng: np.random.Generator) -> tuple[list[Rows], NDArray[np.bool_]]:
        """Draw half of the validation rows, each once; of a kind that was lacking are fewer, as all is stretched."""
        unit_count, half = len(self.clusters), self._half_of_all
        units = [self.clusters[place] for place in rng.permutation(unit_count)[:half]]
        return units, rng.random(half) < _unseen_share(rng, unit_count) / self._stretch

    @property
    def _half_of_all(self) -> int:
        return max(1, len(self.clusters) // 2)

    @property
    def _stretch(self) -> float:
        """What half of the rows stray from all of them, to be as far as one hidden test does."""
        half = self._half_of_all
        return math.sqrt(half / max(1, len(self.clusters) - half) * (1 + self.ratio))


def _unseen_share(rng: np.random.Generator, unit_count: int) -> float:
    """Draw the share of a hidden test that is of a kind which so many rows (or groups) may have lacked."""
    return float(rng.gamma(0.5)) / unit_count


def clusters_of(labelled: LabelledView, ids: Sequence[str]) -> tuple[list[Rows], str | None]:
    """Return which validation rows, by their place in `ids`, belong together, and by what; else each is independent."""
    view = OpenedView(labelled.data, labelled.labels, labelled.card)
    single_rows = [np.array([row]) for row in range(len(ids))]
    try:
        column, keys = _time_of(view) or _group_of(view) or _together_of(view) or (None, [])
    except UnsupportedLayout:
        return single_rows, None
    if column is None:
        return single_rows, None
    key_of = {place: key for places, key in zip(view.prediction_places, keys, strict=True) for place in places}
    numbered_ids, numbered_rows = Repeats(), Repeats()
    place_of = {numbered_ids.numbered(id): place for place, id in enumerate(view.asked_ids)}
    rows_by_unit: dict[Any, list[int]] = {}
    for row, id in enumerate(ids):
        place = place_of[numbered_rows.numbered(id)]
        # Of a very large table only the first rows are looked at; the others go alone.
        rows_by_unit.setdefault((True, key_of[place]) if place in key_of else (False, row), []).append(row)
    return [np.array(rows) for rows in rows_by_unit.values()], column


def held_units(view: LabelledView) -> tuple[Rows, str | None]:
    """Return which hold-out rows belong together, those that do by one number, and by what; found once."""
    return _held_units(version(view.truth), str(view.data), view.card.model_dump_json())


@lru_cache(maxsize=1)
def _held_units(truth: Version, data: str, card: str) -> tuple[Rows, str | None]:
    view = LabelledView(Path(data), Path(truth[0]).parent, TaskCard.model_validate_json(card))
    keys, final = read_table(view.data / "sample_validation.csv").keys(view.card.row_columns), final_places(view.labels)
    units, column = clusters_of(view, [key for place, key in enumerate(keys) if place not in final])
    unit_of_row = np.empty(sum(map(len, units)), dtype=np.int64)
    for number, rows in enumerate(units):
        unit_of_row[rows] = number
    return unit_of_row, column


def _time_of(view: OpenedView) -> tuple[str, list[Any]] | None:
    """Return the column by which time parts validation rows from training rows, and the stretch of each validation row."""
    columns = [(view.card.id_column, view.train_ids, view.ids)]
    columns += [(name, view.train[name].tolist(), view.validation[name].tolist()) for name in view.features]
    for name, train, validation in columns:
        times = parse_times(train), parse_times(validation)
        if times[0] is None or times[1] is None or train_stretches(times[0], times[1]) is None:
            continue
        order = np.argsort(np.array(times[1]), kind="stable")
        stretch = np.empty(len(validation), dtype=int)
        for number, rows in enumerate(np.array_split(order, min(STRETCHES, len(validation)))):
            stretch[rows] = number
        return name, stretch.tolist()
    return None


def _group_of(view: OpenedView) -> tuple[str, list[Any]] | None:
    """Return the column whose groups are not parted between training and validation rows, and the group of each."""
    column = disjoint_group_column(view.layout.train, view.validation_table, view.features)
    return None if column is None else (column, view.validation[column].tolist())


def _together_of(view: OpenedView) -> tuple[str, list[Any]] | None:
    """Return the id where rows of one id, or of ids that begin alike, stay on one side; with what each row's has.

    So do the many predictions of one row.
    """
    ids, form = view.ids, view.layout.form
    if form.has_many_rows:
        return view.layout.id_column, ids
    if view.layout.groups is None:
        return None
    has_repeats = len(set(ids)) < len(ids)
    return view.card.id_column, ids if has_repeats else [id.rpartition("_")[0] or id for id in ids]
