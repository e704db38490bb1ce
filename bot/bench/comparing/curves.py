"""Curves: how many teams each contender's best beats, after so much time or money."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.bench.comparing.comparison import Comparison
from bot.bench.comparing.figures import mean_of, over_competitions
from bot.bench.contender import Contender
from bot.report.result import RunResult

POINTS = 120
"""Along a curve."""
Steps = Sequence[tuple[float, float | None]]
"""Seconds or USD, and the win rate from there on; None: the best so far has no grade."""


@dataclass(frozen=True)
class Curve:
    """The mean over competitions of the share of teams that the best so far beats."""

    contender: Contender
    points: tuple[tuple[float, float], ...]
    """Seconds or USD of a run, and the share."""


def over_time(found: Comparison) -> tuple[Curve, ...]:
    """Return the curves over a run's wall time in seconds; none where no run made progress."""
    last = max(_end(result) for _, result in found.runs.results)
    return _curves(found, last, lambda result: [(seconds, rate) for seconds, _, rate in result.best_over_time])


def _end(result: RunResult) -> float:
    """Return when a run was to end, or its last gain if that is later: the rest of an overrun shows nothing."""
    planned = result.wall_seconds if result.time_limit is None else result.time_limit
    return max([planned, *(seconds for seconds, _, _ in result.best_over_time)])


def over_money(found: Comparison) -> tuple[Curve, ...]:
    """Return the curves over a run's money in USD; none where a price is unknown, or nothing was spent."""
    costs = [result.llm.cost_usd for _, result in found.runs.results]
    if any(cost is None for cost in costs):
        return ()
    return _curves(found, max(cost or 0.0 for cost in costs), lambda result: result.best_over_money)


def _curves(found: Comparison, last: float, steps: Callable[[RunResult], Steps]) -> tuple[Curve, ...]:
    if last <= 0 or not any(steps(result) for _, result in found.runs.results):
        return ()
    places = [last * number / POINTS for number in range(POINTS + 1)]
    curves = []
    for row in found.rows:
        own = [(block[0], cell[row.contender]) for block, cell in found.cells.items() if row.contender in cell]
        points = [(at, _mean_at(own, steps, at)) for at in places]
        curves.append(Curve(row.contender, tuple(points)))
    return tuple(curves)


def _mean_at(own: Sequence[tuple[str, Sequence[RunResult]]], steps: Callable[[RunResult], Steps], at: float) -> float:
    return over_competitions((name, mean_of(results, lambda one: _reached(steps(one), at))) for name, results in own)


def _reached(steps: Steps, at: float) -> float:
    """Return the win rate that is reached at a place; 0 before the first step."""
    place = bisect_right([start for start, _ in steps], at)
    return (steps[place - 1][1] or 0.0) if place else 0.0
