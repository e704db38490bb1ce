"""Puts candidates in order by all rows that they were scored on, paired by row.

A candidate's score is the mean of its parts' scores (hold-out, final, folds), weighted by their rows. Its difference to the best
candidate's is taken on the parts that both have, and the standard error of that from draws of rows on which both are scored:
the bootstrap as in `scoring.noise`, but whatever belongs together is drawn together. A script that was scored on fewer rows
than the best one must be better by more than one standard error, as luck weighs more on few rows. The best script's score is the
highest of several by the same rows, which flatters it; a blend's is that of rows which it has not seen. So a blend is chosen
unless a script is better by more than three quarters of a standard error. As much counts for what was made on all rows.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.choices import Candidate, Choice, Evidence, Predictions
from bot.evaluation.experiments.opened import training_rows, unit_numbers
from bot.evaluation.scoring import Scorer, labels_of, open_scorer, readable_parts
from bot.evaluation.scoring.interval import clusters_of
from bot.evaluation.scoring.per_fold import scored_by_fold
from bot.evaluation.scoring.truth import PartOfTruth, Predicted, Rows, Truth, score_or_nan
from state.errors import InvalidSubmission

DRAWS = 200
FEWEST = 30
"""Draws on which the metric must be defined; with fewer an error is unknown."""
_LEAST = 0.02
"""Least share of the rows in a draw, however slow the metric is."""
_FLATTERED = 0.75
"""Standard errors by which the best script's score is taken to be too good beside a blend's: about what the best of a few equal
ones gains by luck, and the value in the middle of those that chose best on halves of stored runs (docs/choosing.md)."""
_EQUAL = 9
"""Digits by which scores are equal."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Rows that candidates were scored on."""

    name: str
    truth: Truth
    """Of these rows."""
    predicted: Mapping[int, Predicted]
    """By node; not all candidates need be here."""
    units: Sequence[Rows]
    """Rows that belong together, numbered within the part; empty: the truth scores whole files only."""

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return max(1, sum(map(len, self.units)))


def choose(
    parts: Sequence[Part],
    seconds: Mapping[int, float],
    blends: Collection[int],
    stacks: Collection[int],
    on_all_rows: Collection[int],
    lower_is_better: bool,
    seed: int,
    limit: float,
) -> Choice:
    """Put candidates in order.

    Args:
        parts: what they are compared on; who has no score on the first is left out.
        seconds: of each candidate's hold-out run, by node: the faster is first at equal score.
        stacks: those that are compared on fewer rows by design, as they were fitted on others' predictions out of fold.
        on_all_rows: those whose file is made on more rows than what is compared.
        limit: seconds for draws. If the metric is too slow for `FEWEST` draws of all rows, fewer rows are drawn.
    """
    scores = _whole(parts, tuple(sorted(seconds)), -1.0 if lower_is_better else 1.0)
    known = [at for at in range(len(scores.nodes)) if np.isfinite(scores.values[0, at])]
    if not known:
        return Choice((), {})
    draws, scale = _drawn(parts, scores, seed, limit)
    rows = {at: float(scores.weights[np.isfinite(scores.values[:, at])].sum()) for at in known}
    together = {at: scores.mean(at) for at in known}
    blended = {at for at in known if scores.nodes[at] in blends}
    scripts = [at for at in known if at not in blended] or known
    best = max(scripts, key=lambda at: (rows[at], together[at], -seconds[scores.nodes[at]], -at))
    evidence = {}
    for at in known:
        gain = float(scores.difference(scores.values, at, best))
        error = _spread(scores.difference(draws, at, best), scale)
        # What was scored on fewer rows, without an error, counts for nothing.
        fewer = at not in blended and scores.nodes[at] not in stacks and rows[at] < rows[best]
        worth = gain - (math.inf if error is None else error) if fewer else gain
        if error is not None:
            worth += _FLATTERED * error * ((at in blended) + (scores.nodes[at] in on_all_rows))
        evidence[at] = Evidence(scores.by_part(at), scores.sign * together[at], gain, error, worth)
    unit = abs(together[best]) or 1.0
    order = sorted(known, key=lambda at: (-round(evidence[at].worth / unit, _EQUAL), seconds[scores.nodes[at]], at))
    return Choice(tuple(scores.nodes[at] for at in order), {scores.nodes[at]: one for at, one in evidence.items()})


@dataclass(frozen=True)
class _Scores:
    """Scores of candidates by part, turned so that higher is better; NaN where a candidate has none."""

    parts: Sequence[Part]
    nodes: Sequence[int]
    values: Floats
    """(parts, candidates)."""
    weights: Floats
    """Rows of each part, (parts)."""
    sign: float

    def mean(self, at: int) -> float:
        """Return a candidate's mean over its parts."""
        return float(self._weighed(self.values[:, at], np.isfinite(self.values[:, at])))

    def difference(self, values: Floats, at: int, other: int) -> Floats:
        """Return how much better a candidate is than another, on average over the parts that both have.

        Of values (..., parts, candidates) it is (...).
        """
        both = np.isfinite(self.values[:, at]) & np.isfinite(self.values[:, other])
        return self._weighed(values[..., at] - values[..., other], both)

    def _weighed(self, values: Floats, of: NDArray[np.bool_]) -> Floats:
        mean: Floats = np.asarray(values[..., of] @ self.weights[of] / self.weights[of].sum())
        return mean

    def by_part(self, at: int) -> dict[str, tuple[float, int]]:
        return {
            part.name: (self.sign * float(self.values[number, at]), part.rows)
            for number, part in enumerate(self.parts)
            if np.isfinite(self.values[number, at])
        }


def _whole(parts: Sequence[Part], nodes: Sequence[int], sign: float) -> _Scores:
    values = np.full((len(parts), len(nodes)), np.nan)
    for number, part in enumerate(parts):
        for at, node in enumerate(nodes):
            if node in part.predicted:
                values[number, at] = sign * score_or_nan(part.truth, part.predicted[node])
    return _Scores(parts, nodes, values, np.array([float(part.rows) for part in parts]), sign)


def _drawn(parts: Sequence[Part], scores: _Scores, seed: int, limit: float) -> tuple[Floats, float]:
    """Return the scores of draws, (draws, parts, candidates), and the factor for their deviation."""
    if not all(part.units for part in parts):
        return np.empty((0, *scores.values.shape)), 1.0
    rng, again = np.random.default_rng(seed), parts[0].truth.repeats
    drawers = [_drawer(part.units, again=again) for part in parts]
    scored = [
        (number, at, part.truth.draws(part.predicted[node]))
        for number, part in enumerate(parts)
        for at, node in enumerate(scores.nodes)
        if np.isfinite(scores.values[number, at])
    ]

    def draw(share: float) -> Floats:
        rows = [drawer(rng, share) for drawer in drawers]
        values = np.full(scores.values.shape, np.nan)
        for number, at, score in scored:
            values[number, at] = scores.sign * score(rows[number])
        return values

    began = time.monotonic()
    found, share = [draw(1.0)], 1.0
    if (needed := FEWEST * (time.monotonic() - began)) > limit:
        share = max(_LEAST, limit / needed)
        found.clear()
    while len(found) < DRAWS and time.monotonic() - began < limit:
        found.append(draw(share))
    # Without replacement, half of the rows are what `share` 1 takes.
    return np.array(found).reshape(-1, *scores.values.shape), math.sqrt(share if again else share / (2 - share))


def _drawer(units: Sequence[Rows], *, again: bool) -> Callable[[np.random.Generator, float], Rows]:
    """Return a function that draws a share of the units: with replacement, or of half of them, each once."""
    many, rows = len(units), np.concatenate(units)

    def drawn(rng: np.random.Generator, share: float) -> Rows:
        if again:
            chosen = rng.integers(0, many, max(1, round(share * many)))
        else:
            chosen = rng.permutation(many)[: max(1, round(share * many / 2))]
        return rows[chosen] if len(rows) == many else np.concatenate([units[at] for at in chosen])

    return drawn


def _spread(values: Floats, scale: float) -> float | None:
    defined = values[np.isfinite(values)]
    return float(defined.std(ddof=1)) * scale if len(defined) >= FEWEST else None


def choose_candidate(
    candidates: Sequence[Candidate], predictions: Sequence[Predictions], seed: int, seconds: float
) -> Choice:
    """Put candidates in order by all rows that they were scored on.

    Args:
        predictions: those of the hold-out view first, with all candidates' files; then those of training rows out of fold.

    Raises:
        InfrastructureFailure: labels cannot be read.
        SnapshotError: the task's grade.py cannot be used.
    """
    held = predictions[0].view
    with closing(open_scorer(held.card, held.grader)) as scorer:
        parts = list(_validation_parts(predictions[0], candidates, scorer))
        parts += [part for one in predictions[1:] for part in _training_part(one, candidates, scorer, held)]
        times = {one.node: one.seconds for one in candidates}
        blends = {one.node for one in candidates if one.ensemble}
        stacks = {one.node for one in candidates if one.fitted_on_others}
        more = {one.node for one in candidates if one.on_all_rows}
        return choose(parts, times, blends, stacks - blends, more, held.card.lower_is_better, seed, seconds)


def _validation_parts(one: Predictions, candidates: Sequence[Candidate], scorer: Scorer) -> Iterator[Part]:
    """Yield the hold-out and the internal test; of a grader that scores whole files only, both as one part."""
    truth, final = readable_parts(one.view, scorer)
    whole = truth.whole if isinstance(truth, PartOfTruth) else truth
    predicted, ids = dict(_predicted(one, candidates, whole)), whole.ids
    if ids is None:
        yield Part(one.parts[0], whole, predicted, ())
        return
    # In the view's own folder no rows stand apart, so that all are read.
    units, _ = clusters_of(replace(one.view, labels=one.view.data), ids)
    for name, part in zip(one.parts, (truth, final), strict=False):
        if part is None:
            continue
        rows = part.places if isinstance(part, PartOfTruth) else np.arange(len(ids))
        if len(rows):
            yield Part(name, part, predicted, _within(units, rows, len(ids)))


def _training_part(
    one: Predictions, candidates: Sequence[Candidate], scorer: Scorer, held: LabelledView
) -> Iterator[Part]:
    """Yield the training rows, where they can be scored apart; metrics of order are means of the folds' scores."""
    whole = labels_of(one.view, scorer)
    unit = unit_numbers(held, one.view)[1]
    if whole.ids is None or unit is None:
        return
    truth = scored_by_fold(whole, training_rows(one.view).fold, held.card)
    order = np.argsort(unit, kind="stable")
    units = np.split(order, np.flatnonzero(np.diff(unit[order])) + 1)
    yield Part(one.parts[0], truth, dict(_predicted(one, candidates, whole)), units)


def _predicted(one: Predictions, candidates: Sequence[Candidate], truth: Truth) -> Iterator[tuple[int, Predicted]]:
    """Yield the predictions of those candidates that have any."""
    for candidate in candidates:
        if candidate.node in one.files:
            with suppress(InvalidSubmission):  # its file is gone: it was not scored here
                yield candidate.node, truth.read(one.files[candidate.node])


def _within(units: Sequence[Rows], rows: Rows, many: int) -> list[Rows]:
    """Return what belongs together among some of so many rows, which are numbered anew."""
    number = np.full(many, -1, dtype=np.int64)
    number[rows] = np.arange(len(rows))
    kept = (number[unit][number[unit] >= 0] for unit in units)
    return [unit for unit in kept if len(unit)]
