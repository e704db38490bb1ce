"""Puts candidates in order by all rows that they were scored on, paired by row.

A candidate's score is the mean of its parts' scores (hold-out, internal test, folds), weighted by their rows. Its difference to
the best candidate's is the same mean over the parts that both have, and the standard error of that follows from the parts',
whose rows are others. A script that was scored on fewer rows than the best one must be better by more than one standard error,
as luck weighs more on few rows. The best script's score is the highest of several by the same rows, which flatters it; a blend's
is that of rows which it has not seen. So a blend is chosen unless a script is better by more than three quarters of a standard
error. As much counts for what was made on all rows.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property

from bot.evaluation.answers import Gain
from bot.evaluation.answers.blends import CandidateEvidence, CandidateRanking, Predictions, SelectionCandidate
from bot.evaluation.experiments.scoring_data import open_rows
from bot.evaluation.scoring.scored_rows import ScoredRows
from bot.evaluation.scoring.truth import PredictionSet
from state.errors import InvalidSubmission

_FLATTERED = 0.75
"""Standard errors by which the best script's score is taken to be too good beside a blend's: about what the best of a few equal
ones gains by luck, and the value in the middle of those that chose best on halves of stored runs (docs/choosing.md)."""
_EQUAL = 9
"""Digits by which scores are equal."""


@dataclass(frozen=True)
class ComparedRows:
    """Rows that candidates were scored on."""

    name: str
    rows: ScoredRows
    predictions: Mapping[int, PredictionSet]
    """By node; not all candidates need be here."""
    seed: int

    @property
    def weight(self) -> int:
        """How many rows it has; 1 where a grader scores whole files only."""
        return max(1, len(self.rows.units))

    @cached_property
    def scores(self) -> Mapping[int, float]:
        """The scores of nodes, in the metric's own sign; those that have one."""
        scores = {node: self.rows.score(node_predictions) for node, node_predictions in self.predictions.items()}
        return {node: score for node, score in scores.items() if math.isfinite(score)}

    def gain(self, node: int, over: int) -> Gain | None:
        """Return the gain of one node over another; None where one has no score here."""
        if node not in self.scores or over not in self.scores:
            return None
        return self.rows.gain(self.predictions[node], self.predictions[over], None, "", self.seed, self.scores[node])


def choose(
    parts: Sequence[ComparedRows],
    seconds: Mapping[int, float],
    blends: Collection[int],
    stacks: Collection[int],
    on_all_rows: Collection[int],
    lower_is_better: bool,
) -> CandidateRanking:
    """Put candidates in order; who has no score on the first of the parts is left out.

    `seconds` are those of each candidate's hold-out run, by node: the faster is first at equal score. `stacks` are compared on
    fewer rows by design, as they were fitted on others' predictions out of fold; the files of those `on_all_rows` are made on
    more rows than what is compared.
    """
    sign, nodes = -1.0 if lower_is_better else 1.0, sorted(parts[0].scores)
    if not nodes:
        return CandidateRanking((), {})
    rows = {node: sum(part.weight for part in parts if node in part.scores) for node in nodes}
    mean_scores = {
        node: sum(part.weight * part.scores[node] for part in parts if node in part.scores) / rows[node]
        for node in nodes
    }
    scripts = [node for node in nodes if node not in blends] or nodes
    best = max(scripts, key=lambda node: (rows[node], sign * mean_scores[node], -seconds[node], -node))
    evidence = {}
    for node in nodes:
        gain, error = _gain(parts, node, best)
        # What was scored on fewer rows, without an error, counts for nothing.
        fewer = node not in blends and node not in stacks and rows[node] < rows[best]
        worth = gain - (math.inf if error is None else error) if fewer else gain
        if error is not None:
            worth += _FLATTERED * error * ((node in blends) + (node in on_all_rows))
        scores = {part.name: (part.scores[node], part.weight) for part in parts if node in part.scores}
        evidence[node] = CandidateEvidence(scores, mean_scores[node], gain, error, worth)
    unit = abs(mean_scores[best]) or 1.0
    order = sorted(nodes, key=lambda node: (-round(evidence[node].worth / unit, _EQUAL), seconds[node], node))
    return CandidateRanking(tuple(order), evidence)


def _gain(parts: Sequence[ComparedRows], node: int, best: int) -> tuple[float, float | None]:
    """Return how much better a node is than the best, over the parts that both have, and the standard error of that."""
    gains = [(part.weight, gain) for part in parts if (gain := part.gain(node, best)) is not None]
    rows = sum(weight for weight, _ in gains)
    errors = [gain.std_error for _, gain in gains]
    squares = [(weight * (error or 0.0)) ** 2 for (weight, _), error in zip(gains, errors, strict=True)]
    value = sum(weight * gain.value for weight, gain in gains) / rows
    return value, None if None in errors else math.sqrt(sum(squares)) / rows


def choose_candidate(
    candidates: Sequence[SelectionCandidate], predictions: Sequence[Predictions], seed: int
) -> CandidateRanking:
    """Put candidates in order by all rows that they were scored on.

    `predictions` are those of the hold-out view first, with all candidates' files; then those of training rows out of fold.

    Raises:
        InfrastructureFailure: labels cannot be read.
        SnapshotError: the task's grade.py cannot be used.
    """
    view, folds = predictions[0].view, predictions[1].view if len(predictions) > 1 else None
    with ExitStack() as stack:
        data = open_rows(folds, view, stack)
        holdout_parts = [
            (name, rows) for name, rows in zip(predictions[0].parts, (data.holdout, data.final), strict=False) if rows
        ]
        named_parts = [(holdout_parts, predictions[0])]
        if data.training is not None:
            named_parts.append(([(predictions[1].parts[0], data.training)], predictions[1]))
        parts = []
        for part_rows, predictions_of_view in named_parts:
            by_node = dict(_read_predictions(predictions_of_view, candidates, part_rows[0][1]))
            parts += [ComparedRows(name, rows, by_node, seed) for name, rows in part_rows]
        blends = {candidate.node for candidate in candidates if candidate.ensemble}
        stacks = {candidate.node for candidate in candidates if candidate.fitted_on_others}
        on_all_rows = {candidate.node for candidate in candidates if candidate.on_all_rows}
        times = {candidate.node: candidate.seconds for candidate in candidates}
        return choose(parts, times, blends, stacks - blends, on_all_rows, view.card.lower_is_better)


def _read_predictions(
    predictions: Predictions, candidates: Sequence[SelectionCandidate], rows: ScoredRows
) -> Iterator[tuple[int, PredictionSet]]:
    for candidate in candidates:
        if candidate.node in predictions.files:
            with suppress(InvalidSubmission):  # its file is gone: it was not scored here
                yield candidate.node, rows.truth.read(predictions.files[candidate.node])
