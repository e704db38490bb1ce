"""The charts of a report: the leaderboard, scores over time, and validation against the scores that count.

In all of them up or right is better, whatever the metric's direction.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.evaluation.answers.diagnostics import Diagnostics
from bot.report import words
from bot.report.charts import Axis, Chart, Point, Series, score_axis, time_axis
from bot.report.nodes import NodeRow
from bot.report.result import RunResult

_BINS = 70
_LINES = ("gold", "silver", "bronze")


def leaderboard_charts(result: RunResult, board: Sequence[float]) -> Sequence[Chart]:
    """Draw the score among the teams': their histogram, and the share of teams that each score beats."""
    axis = _board_axis(result, board)
    in_view = sorted(score for score in board if axis.holds(score))
    width = (axis.high - axis.low) / _BINS
    counts = Counter(min(int((score - axis.low) / width), _BINS - 1) for score in in_view)
    max_count = float(max(counts.values()))
    bars = [(axis.low + number * width, float(counts[number])) for number in range(_BINS)]
    teams = Axis(0.0, 1.05 * max_count, "teams", "{:,.0f}".format, least_step=1.0)
    beaten = Axis(-0.03, 1.03, "teams beaten", "{:.0%}".format)
    histogram = Series("", "bars", [*bars, (axis.high, 0.0)], "area")
    ordered_scores = sorted(board)
    # The share of teams that a score beats just above each of these scores.
    shares = [(s, bisect_right(ordered_scores, s) / len(board)) for s in (axis.low, *in_view, axis.high)]
    steps = [(score, 1 - share) for score, share in shares] if result.is_lower_better else shares
    series = [Series("", "muted", steps, "steps"), *_thresholds(result, axis, beaten)]
    if result.score is not None:
        series.append(Series("", "ours", [(result.score, result.win_rate)]))
    teams_series = [*_interval(result, teams), histogram, *_thresholds(result, axis, teams)]
    title = "Distribution of leaderboard scores"
    return (
        Chart(title, replace(axis, label=""), teams, teams_series, height=200),
        Chart("Share of teams that each score beats", axis, beaten, [*_interval(result, beaten), *series], height=180),
    )


def count_outside(board: Sequence[float], result: RunResult) -> int:
    """Return how many teams lie outside the leaderboard's charts."""
    axis = _board_axis(result, board)
    return sum(not axis.holds(score) for score in board)


def _board_axis(result: RunResult, board: Sequence[float]) -> Axis:
    own_score = [] if result.score is None else [result.score]
    label = f"{words.board(result)} leaderboard score (best on the right)"
    return score_axis(board, [*result.thresholds.values(), *own_score], label=label, falling=result.is_lower_better)


def _interval(result: RunResult, y_axis: Axis) -> Sequence[Series]:
    if result.validation_interval is None:
        return ()
    low, high = result.validation_interval
    return (Series("expected (95%)", "good pale", [(low, y_axis.high), (high, y_axis.high)], "area"),)


def _thresholds(result: RunResult, axis: Axis, y_axis: Axis) -> Iterator[Series]:
    """Yield the lines of the medals, the median and our score; one off the scale is only named."""
    lines = {**result.thresholds, **({} if result.score is None else {"this run": result.score})}
    for name, value in lines.items():
        kind = "ours" if name == "this run" else f"dashed {name if name in _LINES else 'ink'}"
        is_inside = axis.holds(value)
        label = f"{name} {words.score(value)}{'' if is_inside else ' (off the scale)'}"
        yield Series(label, kind, [(value, y_axis.low), (value, y_axis.high)] if is_inside else (), "line")


def time_charts(result: RunResult, nodes: Sequence[NodeRow]) -> Sequence[Chart]:
    """Draw every node's validation score over time, the best so far, and the share of the teams that each best beats."""
    if not result.best_over_time:
        return ()
    last = max(result.best_over_time[-1][0], *(n.end_seconds for n in nodes if n.end_seconds is not None))
    x_axis, label = time_axis(last), "Validation score (best at the top)"
    scored_nodes = [n for n in nodes if n.validation is not None and n.end_seconds is not None]
    bests = [(seconds, score) for seconds, score, _ in result.best_over_time]
    values = [n.validation or 0.0 for n in scored_nodes]
    required_scores = [score for _, score in bests[1:]] or values[:1]
    y_axis = score_axis(values, required_scores, label=label, falling=result.is_lower_better)
    places = {n: (n.end_seconds or 0.0, n.validation or 0.0) for n in scored_nodes}
    visible_places = {n: point for n, point in places.items() if y_axis.holds(point[1])}
    worst = y_axis.high if y_axis.falling else y_axis.low
    lost = [n for n in nodes if n.status != "valid" and n.end_seconds is not None]
    series = [
        Series("best so far", "good", [*bests, (last, bests[-1][1])], "steps"),
        *_scripts_and_blends(visible_places),
        _marks("off the scale", "good", {n: point for n, point in places.items() if n not in visible_places}, "◆"),
        _marks("no score", "bad", {n: (n.end_seconds or 0.0, worst) for n in lost}, "×"),
        *_marked_nodes(places, result),
    ]
    series = [curve for curve in series if curve.points]
    charts = [Chart("Validation scores over time", x_axis, y_axis, series, height=280)]
    graded = [(seconds, rate) for seconds, _, rate in result.best_over_time if rate is not None]
    if graded:
        rates = Axis(-0.04, 1.04, "teams beaten", "{:.0%}".format)
        at_end = graded[-1][1] if result.is_ongoing or result.score is None else result.win_rate
        steps = Series("", "ours", [*graded, (last, at_end)], "steps")
        title = "Share of teams beaten by the best script over time, and finally by the submission"
        charts.append(Chart(title, x_axis, rates, [steps, Series("", "ours", graded)], height=170))
    return charts


def agreement_chart(result: RunResult, nodes: Sequence[NodeRow]) -> Chart | None:
    """Draw each node's validation score against its hidden or public one; None without two nodes that have both."""
    places = {n: (n.validation, n.hidden) for n in nodes if n.validation is not None and n.hidden is not None}
    if len(places) < 2:
        return None
    falling, test = result.is_lower_better, words.test(result)
    label = "Validation score (best on the right)"
    score_scale = score_axis([x for x, _ in places.values()], label=label, falling=falling)
    y_axis = score_axis([y for _, y in places.values()], label=f"{test} score (best at the top)", falling=falling)
    low, high = max(score_scale.low, y_axis.low), min(score_scale.high, y_axis.high)
    equal = [Series("equal", "muted dashed", [(low, low), (high, high)], "line")] if low < high else []
    series = [*equal, *_scripts_and_blends(places), *_marked_nodes(places, result)]
    title = f"Validation score against {test} score, one point per node"
    return Chart(title, score_scale, y_axis, series, height=340)


def error_charts(diagnostics: Diagnostics) -> Sequence[Chart]:
    """Draw the share that is true over the predicted probability, or residuals over predictions; none where neither applies."""
    charts = []
    if bins := diagnostics.calibration:
        labels = "predicted probability", "observed frequency"
        x_axis, y_axis = (Axis(-0.03, 1.03, label, "{:.0%}".format) for label in labels)
        points = [(chance, share) for chance, share, _ in bins]
        notes = [f"{chance:.0%} predicted, {share:.0%} observed, {count:,} rows" for chance, share, count in bins]
        series = [
            Series("perfect", "muted dashed", [(0.0, 0.0), (1.0, 1.0)], "line"),
            Series("this run", "good", points, "line"),
            Series("", "good", points, notes=notes),
        ]
        title = "Calibration: observed frequency by predicted probability"
        charts.append(Chart(title, x_axis, y_axis, series, height=300))
    if diagnostics.residuals:
        predictions, residuals = zip(*diagnostics.residuals, strict=True)
        x_axis = score_axis(predictions, label="prediction")
        y_axis = score_axis(residuals, [0.0], label="residual (true value minus prediction)")
        zero = Series("", "muted dashed", [(x_axis.low, 0.0), (x_axis.high, 0.0)], "line")
        series = [zero, Series("", "good pale", diagnostics.residuals)]
        charts.append(Chart("Residuals by prediction", x_axis, y_axis, series, height=300))
    return charts


def _scripts_and_blends(places: dict[NodeRow, Point]) -> list[Series]:
    scripts = _marks("script", "good", {n: point for n, point in places.items() if not n.blend})
    blends = _marks("ensemble", "good", {n: point for n, point in places.items() if n.blend}, "■")
    return [curve for curve in (scripts, blends) if curve.points]


def _marked_nodes(places: dict[NodeRow, Point], result: RunResult) -> Iterator[Series]:
    """Yield the chosen node and the one with the best hidden or public score, each named by its number."""
    for node, point in places.items():
        if node.is_best_hidden:
            yield _marks(f"node {node.id}: best on the {words.test(result)}", "ink", {node: point}, "○")
        if node.is_chosen:
            yield _marks(f"node {node.id}: {words.selected_role(result)}", "ours", {node: point}, "★")


def _marks(name: str, kind: str, places: dict[NodeRow, Point], glyph: str = "") -> Series:
    notes = [f"node {node.id}: {words.score(node.validation)}" for node in places]
    return Series(name, kind, list(places.values()), glyph=glyph, notes=notes)
