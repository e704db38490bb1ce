"""The charts of a comparison: paired differences with intervals, and the teams beaten after so much time or money."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from bot.report.charts import Axis, Chart, Series, time_axis
from bot.report.result import RunResult
from bot.research.compare.comparison import Comparison, Pair
from bot.research.compare.figures import over_competitions
from bot.research.compare.verdict import interval, percentage, points
from bot.research.contender import Contender
from state.words import plural

POINTS = 120
"""Along a curve."""
_COLOURS = 6
_ROW = 44
Steps = Sequence[tuple[float, float | None]]
"""Seconds or USD, and the win rate from there on; None: the best so far has no grade."""


@dataclass(frozen=True)
class Curve:
    """The mean over competitions of the share of teams that the best so far beats."""

    contender: Contender
    points: tuple[tuple[float, float], ...]
    """Seconds or USD of a run, and the share."""


def over_time(comparison: Comparison) -> tuple[Curve, ...]:
    """Return the curves over a run's wall time in seconds; empty if no run made progress."""
    last = max(_end(result) for _, result in comparison.runs.results)
    return _curves(comparison, last, _over_time)


def _end(result: RunResult) -> float:
    """Return when a run was to end, or its last gain if that is later: the rest of an overrun shows nothing."""
    planned = result.wall_seconds if result.time_limit is None else result.time_limit
    return max([planned, *(seconds for seconds, _, _ in result.best_over_time)])


def _over_time(result: RunResult) -> Steps:
    """Return the teams beaten by the best node over a run, and in the end by the submission."""
    steps = [(seconds, rate) for seconds, _, rate in result.best_over_time]
    return [*steps, (_end(result), result.win_rate)] if steps else []


def over_money(comparison: Comparison) -> tuple[Curve, ...]:
    """Return the curves over a run's money in USD; empty if a price is unknown or nothing was spent."""
    costs = [result.llm.cost_usd for _, result in comparison.runs.results]
    if any(cost is None for cost in costs):
        return ()
    return _curves(comparison, max(cost or 0.0 for cost in costs), _over_money)


def _over_money(result: RunResult) -> Steps:
    steps = result.best_over_money
    return [*steps, (max(result.llm.cost_usd or 0.0, steps[-1][0]), result.win_rate)] if steps else []


def _curves(comparison: Comparison, last: float, steps: Callable[[RunResult], Steps]) -> tuple[Curve, ...]:
    if last <= 0 or not any(steps(result) for _, result in comparison.runs.results):
        return ()
    places = [last * number / POINTS for number in range(POINTS + 1)]
    curves = []
    for row in comparison.rows:
        cells = [(block[0], cell[row.contender]) for block, cell in comparison.cells.items() if row.contender in cell]
        points = [(x, _mean_at(cells, steps, x)) for x in places]
        curves.append(Curve(row.contender, tuple(points)))
    return tuple(curves)


def _mean_at(cells: Sequence[tuple[str, Sequence[RunResult]]], steps: Callable[[RunResult], Steps], x: float) -> float:
    return over_competitions((name, fmean(_reached(steps(r), x) for r in results)) for name, results in cells)


def _reached(steps: Steps, point: float) -> float:
    """Return the win rate that is reached at a place; 0 before the first step."""
    x = bisect_right([start for start, _ in steps], point)
    return (steps[x - 1][1] or 0.0) if x else 0.0


def curve_charts(comparison: Comparison) -> list[Chart]:
    """Draw the curves over time and over money, if there are any."""
    by_time, by_money = over_time(comparison), over_money(comparison)
    charts = []
    if by_time:
        charts.append(_curve_chart(comparison, "Over time", time_axis(by_time[0].points[-1][0]), by_time))
    if by_money:
        money_axis = Axis(0.0, by_money[0].points[-1][0], "model cost per run", "${:g}".format)
        charts.append(_curve_chart(comparison, "Over money", money_axis, by_money))
    return charts


def _curve_chart(comparison: Comparison, title: str, x_axis: Axis, curves: Sequence[Curve]) -> Chart:
    best = max(share for curve in curves for _, share in curve.points)
    y_axis = Axis(0.0, max(0.1, 1.05 * best), "teams beaten", "{:.0%}".format)
    series = [
        Series(
            f"{comparison.title(curve.contender)} {curve.points[-1][1]:.1%}",
            f"c{number % _COLOURS}{' dashed' if number >= _COLOURS else ''}",
            curve.points,
            "steps",
        )
        for number, curve in enumerate(curves)
    ]
    return Chart(title, x_axis, y_axis, series, height=280)


def difference_chart(comparison: Comparison) -> Chart | None:
    """Draw the leader's paired differences, one row each; None: it has none."""
    pairs = comparison.against_leader
    if not pairs:
        return None
    values = [0.0, *(value for pair in pairs for value in _values(pair))]
    margin = 0.06 * (max(values) - min(values)) or 0.01
    low, high, label = min(values) - margin, max(values) + margin, "percentage points of teams beaten"
    x_axis = Axis(low, high, label, lambda value: f"{value:+g}" if value else "0", unit=0.01)
    names = [f"{comparison.title(pair.first)} over {comparison.title(pair.second)}" for pair in pairs]
    rows = [(-float(number), name) for number, name in enumerate(names)]
    y_axis = Axis(rows[-1][0] - 0.5, 0.5, names=rows)
    series = [Series("", "ink dashed", [(0.0, y_axis.low), (0.0, y_axis.high)], "line")]
    for (row, _), pair in zip(rows, pairs, strict=True):
        difference, kind = pair.win_rate, "ours" if pair.settled else "muted"
        if difference.low is not None and difference.high is not None:
            series.append(Series("", f"{kind} wide", [(difference.low, row), (difference.high, row)], "line"))
        dots = [(value, row - 0.22) for value in difference.by_competition.values()]
        notes = [f"{name}: {points(value)}" for name, value in difference.by_competition.items()]
        series.append(Series("", "good", dots, notes=notes))
        series.append(Series("", kind, [(difference.mean, row)], glyph="◆", notes=[_note(pair)]))
    title = f"{comparison.title(comparison.leader)} and the others, in percentage points of teams beaten"
    left_margin = min(10 * max(map(len, names)) + 12, 420)
    return Chart(title, x_axis, y_axis, series, height=70 + _ROW * len(pairs), room=(left_margin, 26, 14, 42))


def _values(pair: Pair) -> Sequence[float]:
    difference = pair.win_rate
    bounds = [end for end in (difference.low, difference.high) if end is not None]
    return [difference.mean, *bounds, *difference.by_competition.values()]


def _note(pair: Pair) -> str:
    difference = pair.win_rate
    within = f" ({interval(difference)})" if interval(difference) else ""
    basis = f"{plural(difference.competitions, 'competition')}, {plural(difference.pairs, 'pair')}"
    return f"{points(difference.mean)} points{within}; {basis}; p {percentage(pair.chance, '= ')}"
