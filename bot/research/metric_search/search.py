"""The search for the metric of the registry that a competition's own grader computes, by scores of trial submissions."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from bot.evaluation.answers.board import SCORE_DIGITS
from bot.evaluation.metrics.params import Params
from bot.evaluation.metrics.registry import METRICS, Metric, PredictionKind
from bot.evaluation.tables.csv_table import write_table
from bot.research.metric_search.grade_calls import FoundMetric, GradeCall
from bot.research.metric_search.trial_submissions import PERFECT, Cells, TrialSubmission, numbers, trials
from scrapers.snapshots.card import OWN_GRADER, Direction
from scrapers.snapshots.tables import row_key
from state.errors import Problem, SnapshotError, UsageError

MIN_SCORES, MIN_DIFFERENT_SCORES = 5, 3
"""Minimum number of submissions with a finite score, and of different scores, for a conclusion."""
_TOLERANCE = 1e-5
_SLACK = 1e-9
"""Relative tolerance for sums in another order."""
_ROUNDS = 4
"""Maximum rounds of further submissions with other noise, while several metrics agree."""
_SEED = 20_240_901
_MAX_COLUMNS = 5
"""Columns of a submission up to which only some of them may be scored."""
_NOT_DEFINED = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, UsageError)
"""Errors of a metric on predictions of the wrong kind."""


@dataclass(frozen=True)
class TrialTable:
    """The table that trial submissions are written as: the sample's columns, rows and ids."""

    header: tuple[str, ...]
    key: tuple[str, ...]
    """The columns that identify a row."""
    rows: Sequence[tuple[str, ...]]
    """Their cells."""
    truth: Cells
    sample: Cells

    @cached_property
    def ids(self) -> Sequence[str]:
        """The same as one text a row."""
        return [row_key(cells) for cells in self.rows]

    @cached_property
    def perfect(self) -> TrialSubmission:
        """The truth as a submission."""
        return TrialSubmission(PERFECT, self.truth)

    def write(self, trial: TrialSubmission, path: Path) -> None:
        """Write one, columns and rows in the sample's order."""
        columns: dict[str, Sequence[str]] = dict(zip(self.key, zip(*self.rows, strict=True), strict=True))
        predictions = [name for name in self.header if name not in self.key]
        columns |= {name: trial.cells[:, place].tolist() for place, name in enumerate(predictions)}
        write_table(path, self.header, zip(*(columns[name] for name in self.header), strict=True))


@dataclass(frozen=True)
class Candidate:
    """A metric with its parameters."""

    metric: Metric
    params: Params

    def score(self, truth: TrialSubmission, prediction: TrialSubmission) -> float:
        """Return the score of text cells, read as the metric takes them; NaN where it is not defined."""
        sides: tuple[Any, Any] = truth.cells, prediction.cells
        if self.metric.input_kind == "number":
            sides = truth.numbers, prediction.numbers
            if sides[0] is None or sides[1] is None:
                return math.nan
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return float(self.metric.score(*sides, self.params))
        except _NOT_DEFINED:
            return math.nan

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={setting}" for name, setting in self.params.items())
        return f"{self.metric.name} ({settings})" if settings else self.metric.name


@dataclass
class MetricSearch:
    """Has the grader score one submission after another, and keeps the metrics that agree."""

    submissions: TrialTable
    grade: GradeCall
    scratch: Path
    metrics: Sequence[Metric] = tuple(METRICS.values())
    answers: list[tuple[TrialSubmission, float]] = field(default_factory=list, init=False)
    """Submissions with a finite score of the grader."""
    faults: list[str] = field(default_factory=list, init=False)

    def run(self) -> list[Candidate]:
        """Return the metrics that agree with the grader on all submissions, the registry's first ones first.

        More than one means that they cannot be distinguished on these answers.

        Raises:
            SnapshotError: the grader scores too few submissions, or hardly ever differently.
        """
        rng = np.random.default_rng(_SEED)
        truth, sample = self.submissions.truth, self.submissions.sample
        for trial in trials(truth, sample, rng):
            self.ask(trial)
        self._check_enough()
        candidates = [candidate for candidate in self._candidates() if self._agrees(candidate)]
        for _ in range(_ROUNDS):
            before = len(self.answers)
            for trial in trials(truth, sample, rng) if len(candidates) > 1 else ():
                if trial.name != PERFECT and _differ(candidates, self.submissions.perfect, trial) and self.ask(trial):
                    candidates = [candidate for candidate in candidates if self._agrees(candidate)]
            if len(self.answers) == before:  # whatever would decide is refused, or nothing would
                break
        return candidates

    def ask(self, trial: TrialSubmission) -> bool:
        """Have one submission scored; return whether it got a finite score."""
        path = self.scratch / "trial.csv"
        self.submissions.write(trial, path)
        graded = self.grade(path)
        if graded.score is None:
            self.faults.append(f"{trial.name}: {graded.fault}")
            return False
        self.answers.append((trial, graded.score))
        return True

    def _check_enough(self) -> None:
        different = {round(score, SCORE_DIGITS) for _, score in self.answers}
        if len(self.answers) >= MIN_SCORES and len(different) >= MIN_DIFFERENT_SCORES:
            return
        fault = f"gives {len(self.answers)} of {len(self.answers) + len(self.faults)} trial submissions a finite score"
        fault += f", with {len(different)} different values: too few to identify the metric and its direction"
        if self.faults:
            fault += f" ({self.faults[0]})"
        raise SnapshotError([Problem(OWN_GRADER, None, fault)])

    def _candidates(self) -> Iterator[Candidate]:
        truth = self.submissions.truth
        distinct = set(truth.ravel())
        labels = sorted(distinct) if len(distinct) == 2 else []
        number = self.submissions.perfect.numbers is not None
        empty = any(not cell.strip() for cell in distinct)  # no label is
        for metric in self.metrics:
            if (number or metric.input_kind != "number") and not (empty and metric.input_kind == "label"):
                yield from (Candidate(metric, params) for params in _variants(metric, truth.shape[1], labels))

    def _agrees(self, candidate: Candidate) -> bool:
        # The perfect submission comes first, and most metrics agree on it: starting at the end excludes most soon.
        return all(
            same(candidate.score(self.submissions.perfect, trial), score) for trial, score in reversed(self.answers)
        )

    def direction(self) -> Direction | None:
        """Return the direction of the scores, by the perfect submission against all others; None if it is unclear."""
        perfect = next((score for trial, score in self.answers if trial.name == PERFECT), None)
        if perfect is None:
            return None
        other_scores = [score for trial, score in self.answers if trial.name != PERFECT and not same(score, perfect)]
        if not other_scores or min(other_scores) < perfect < max(other_scores):
            return None
        return "minimize" if perfect < min(other_scores) else "maximize"

    def kind(self) -> PredictionKind:
        """Return the kind of the predictions, by the cells of the answers and of the sample."""
        truth, sample = self.submissions.truth, self.submissions.sample
        # Rows that do not count may be empty in the answers (osic-pulmonary-fibrosis-progression).
        given_cells = truth[truth != ""]
        if given_cells.size and numbers(given_cells) is not None and numbers(sample) is not None:
            return "number"
        cells = list(chain(truth.ravel(), sample.ravel()))
        plain = all(cell.strip() and len(cell.split()) == 1 for cell in cells)
        return "label" if plain and len(set(cells)) <= max(2, len(truth) // 2) else "text"


def _variants(metric: Metric, columns: int, labels: Sequence[str]) -> Sequence[Params]:
    """Return parameters of a metric, its own defaults first; of two `labels`, either may be the positive one."""
    if metric.name == "mean_columnwise_rmse" and 2 < columns <= _MAX_COLUMNS:
        widths = range(2, columns)
        return [{}, *({"columns": list(c)} for width in widths for c in combinations(range(columns), width))]
    if metric.name in ("binary_f1", "binary_f_beta"):
        positive: list[Params] = [{}, *({"positive": label} for label in labels)]
        return [{**base, **variant} for variant in metric.variants for base in positive]
    return metric.variants


def same(first: float, second: float) -> bool:
    """Whether two scores are equal when they are rounded as MLE-bench does, or next to one another; NaN equals nothing."""
    if not (math.isfinite(first) and math.isfinite(second)):
        return False
    difference = abs(round(first, SCORE_DIGITS) - round(second, SCORE_DIGITS))
    return difference <= _TOLERANCE * (1 + 1e-6) + _SLACK * abs(second)


def _differ(candidates: Sequence[Candidate], truth: TrialSubmission, trial: TrialSubmission) -> bool:
    scores = [candidate.score(truth, trial) for candidate in candidates]
    return any(not same(score, scores[0]) for score in scores[1:])


def search_result(
    search: MetricSearch, candidates: Sequence[Candidate], board_lower_is_better: bool | None
) -> FoundMetric:
    """Return the result of a search with the direction, which grader and leaderboard (None: no order) must not contradict.

    Raises SnapshotError: they contradict, or neither shows a direction.
    """
    tested, different = len(search.answers), len({round(score, SCORE_DIGITS) for _, score in search.answers})
    evidence = f"{tested} trial submissions ({different} different scores)"
    direction = _direction(search, candidates, board_lower_is_better)
    notes: list[str] = []
    if candidates:
        name, params = candidates[0].metric.name, dict(candidates[0].params)
        method = f"{candidates[0]} agrees with {OWN_GRADER} on {evidence}"
        if len(candidates) > 1:
            notes.append(f"equivalent to {candidates[0]} on these submissions: {', '.join(map(str, candidates[1:6]))}")
    else:
        name, params = OWN_GRADER, {"predictions": search.kind()}
        method = f"no metric in the registry agrees with {OWN_GRADER} on {evidence}, so {OWN_GRADER} computes the score"
        if search.direction() is None:
            notes.append(
                f"{OWN_GRADER} does not give the answers the best score, so the direction is taken from the leaderboard"
            )
    if search.faults:
        notes.append(f"{OWN_GRADER} rejects {len(search.faults)} of {tested + len(search.faults)} trial submissions")
    return FoundMetric(name, direction, method, params, tuple(notes))


def _direction(search: MetricSearch, candidates: Sequence[Candidate], board_lower_is_better: bool | None) -> Direction:
    """Return the metric's direction, else that of the grader's scores, else the leaderboard's; none may contradict another."""
    by_scores, by_board = search.direction(), None
    if board_lower_is_better is not None:
        by_board = "minimize" if board_lower_is_better else "maximize"
    direction = candidates[0].metric.direction if candidates else by_scores or by_board
    if direction is None:
        reason = "cannot show whether lower scores are better; neither can the leaderboard or the answers' scores"
        raise SnapshotError([Problem(OWN_GRADER, None, reason)])
    for claimed, source in ((by_scores, f"{OWN_GRADER}'s scores imply"), (by_board, "the leaderboard implies")):
        if claimed is not None and claimed != direction:
            reason = f"contradiction: {source} {claimed}, but {candidates[0] if candidates else OWN_GRADER} implies {direction}"
            raise SnapshotError([Problem(OWN_GRADER, None, reason)])
    return "minimize" if direction == "minimize" else "maximize"
