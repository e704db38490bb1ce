"""The figures of a report: the leaderboard, scores over time, and validation against the scores that count.

In all of them up or right is better, whatever the metric's direction.
"""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bot.report import words
from bot.report.nodes import NodeRow
from bot.report.range import AxisRange, axis_range
from bot.report.result import RunResult
from bot.report.svg import COLOURS, draw
from bot.report.words import score as score_text

WIDTH, NARROW = 12.0, 5.2
"""Inches of 72 units; of a figure for a wide window, and for a phone."""
_TIMES = ((172_800.0, 86_400.0, "days"), (7200.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def leaderboard_figure(result: RunResult, board: Sequence[float], *, narrow: bool = False) -> Markup:
    """Draw the score among the teams': their histogram, and the share of teams that each score beats; narrow for phones."""
    lines = result.thresholds
    ours = [result.score] if result.score is not None else []
    shown = axis_range(board, [*lines.values(), *ours])

    def fill(figure: Figure) -> None:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1.25, 1))
        _histogram(top, board, shown)
        _beaten(bottom, board, shown, result)
        if result.validation_interval is not None:
            ends = [shown.clamp(bound) for bound in result.validation_interval]
            for axes, label in ((top, "expected (95%)"), (bottom, None)):
                axes.axvspan(*ends, color=COLOURS["good"], alpha=0.13, linewidth=0, label=label)
        _lines(top, bottom, {**lines, **({"this run": result.score} if result.score is not None else {})}, shown)
        top.legend(
            loc="lower center", ncols=2 if narrow else 6, frameon=False, bbox_to_anchor=(0.5, 1.0), borderaxespad=0.1
        )
        bottom.set_xlim(*_ends(shown, result))
        bottom.set_xlabel(f"{words.board(result)} leaderboard score (better to the right)")

    name, size = ("board-narrow", (NARROW, 5.6)) if narrow else ("board", (WIDTH, 5.2))
    return draw(name, "The score among the scores of the leaderboard's teams", size, fill)


def left_out(board: Sequence[float], result: RunResult) -> int:
    """Return how many teams lie outside the leaderboard figure."""
    ours = [result.score] if result.score is not None else []
    shown = axis_range(board, [*result.thresholds.values(), *ours])
    return sum(not shown.holds(score) for score in board)


def _histogram(axes: Axes, board: Sequence[float], shown: AxisRange) -> None:
    inside = [score for score in board if shown.holds(score)]
    axes.hist(inside, bins=70, range=(shown.low, shown.high), color=COLOURS["bars"])
    axes.set_ylabel("teams")
    axes.tick_params(bottom=False)
    axes.grid(axis="x", visible=False)


def _beaten(axes: Axes, board: Sequence[float], shown: AxisRange, result: RunResult) -> None:
    axes.ecdf(board, complementary=result.is_lower_better, color=COLOURS["muted"], linewidth=1.8)
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("teams beaten")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if result.score is not None:
        at = (shown.clamp(result.score), result.win_rate)
        axes.plot(*at, "o", color=COLOURS["ours"], markersize=8, zorder=5)


def _lines(top: Axes, bottom: Axes, lines: dict[str, float], shown: AxisRange) -> None:
    """Draw the lines of the medals, the median and our score, named above the plot; one off the scale is only named."""
    for name, value in lines.items():
        own, inside = name == "this run", shown.holds(value)
        style: dict[str, Any] = {"linewidth": 2.4 if own else 1.6, "linestyle": "-" if own else "--"}
        colour = COLOURS["ours"] if own else COLOURS.get(name, COLOURS["ink"])
        label = f"{name} {score_text(value)}{'' if inside else ' (off the scale)'}"
        top.plot([], [], color=colour, label=label, **style)
        for axes in (top, bottom) if inside else ():
            axes.axvline(value, color=colour, **style)


def _ends(shown: AxisRange, result: RunResult) -> tuple[float, float]:
    """Return the ends of the axis, the better one last."""
    return (shown.high, shown.low) if result.is_lower_better else (shown.low, shown.high)


def time_unit(last: float) -> tuple[float, str]:
    """Return the unit for an axis that ends at `last` seconds: its length in seconds, and its name."""
    return next((unit, name) for most, unit, name in _TIMES if last >= most)


def time_figure(result: RunResult, nodes: Sequence[NodeRow]) -> Markup | None:
    """Draw every node's validation score over time, the best so far, and the share of the teams that each best beats."""
    scored = [n for n in nodes if n.validation is not None and n.ended is not None]
    if not result.best_over_time:
        return None
    last = max(n.ended for n in nodes if n.ended is not None)
    unit, unit_name = time_unit(last)
    graded = [(s / unit, rate) for s, _, rate in result.best_over_time if rate is not None]

    def fill(figure: Figure) -> None:
        if graded:
            top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
            _win_rates(bottom, graded, last / unit)
        else:
            top = bottom = figure.subplots()
        _scores(top, result, nodes, scored, unit, last)
        bottom.set_xlabel(f"{unit_name} since the start")

    return draw("time", "Validation scores over time", (WIDTH, 5.6 if graded else 4.0), fill)


def _scores(
    axes: Axes, result: RunResult, nodes: Sequence[NodeRow], scored: Sequence[NodeRow], unit: float, last: float
) -> None:
    values = [n.validation or 0.0 for n in scored]
    bests = [score for _, score, _ in result.best_over_time]
    shown = axis_range(values, bests[1:] or values[:1])
    times = [seconds / unit for seconds, _, _ in result.best_over_time]
    axes.step(
        [*times, last / unit],
        [shown.clamp(score) for score in (*bests, bests[-1])],
        where="post",
        color=COLOURS["good"],
        linewidth=2,
        label="best so far",
    )
    _points(axes, scored, unit, shown)
    lost = [(n.ended or 0.0) / unit for n in nodes if n.status != "valid" and n.ended is not None]
    if lost:
        axes.plot(
            lost,
            [0.03] * len(lost),
            "x",
            transform=axes.get_xaxis_transform(),
            color=COLOURS["bad"],
            markersize=7,
            markeredgewidth=1.8,
            label="no score",
            clip_on=False,
        )
    axes.set_ylim(*_ends(shown, result))
    axes.set_xlim(0, 1.03 * max(last / unit, 1e-9))
    places = [((n.ended or 0.0) / unit, shown.clamp(n.validation or 0.0)) for n in scored]
    _number(axes, scored, places, words.chosen(result))
    axes.set_ylabel("validation score (better upwards)")
    axes.legend(loc="lower right", ncols=5, frameon=False, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)


def _points(axes: Axes, scored: Sequence[NodeRow], unit: float, shown: AxisRange) -> None:
    inside = [n for n in scored if shown.holds(n.validation or 0.0)]
    outside = [n for n in scored if n not in inside]
    blends, scripts = [n for n in inside if n.blend], [n for n in inside if not n.blend]
    for group, marker, label in ((scripts, "o", "script"), (blends, "s", "blend"), (outside, "d", "off the scale")):
        if group:
            xs = [(n.ended or 0.0) / unit for n in group]
            ys = [shown.clamp(n.validation or 0.0) for n in group]
            axes.plot(xs, ys, marker, color=COLOURS["good"], markersize=6.5, alpha=0.75, label=label, clip_on=False)


def _number(axes: Axes, nodes: Sequence[NodeRow], points: Sequence[tuple[float, float]], label: str) -> None:
    """Number the chosen node, which gets a star and a label, and the one with the best hidden or public score."""
    for node, at in zip(nodes, points, strict=True):
        if node.chosen or node.best_hidden:
            style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9.5, "color": COLOURS["muted"]}
            axes.annotate(str(node.id), at, xytext=(6, 5), **style)
        if node.chosen:
            axes.plot(*at, "*", color=COLOURS["ours"], markersize=15, zorder=6, label=label, clip_on=False)


def _win_rates(axes: Axes, graded: Sequence[tuple[float, float]], last: float) -> None:
    times, rates = zip(*graded, strict=True)
    axes.step([*times, last], [*rates, rates[-1]], where="post", color=COLOURS["ours"], linewidth=2)
    axes.plot(times, rates, "o", color=COLOURS["ours"], markersize=5)
    axes.set_ylim(-0.04, 1.04)
    axes.set_ylabel("teams beaten\nby the best")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def agreement_figure(result: RunResult, nodes: Sequence[NodeRow]) -> Markup | None:
    """Draw each node's validation score against its hidden or public one; None without two nodes that have both."""
    both = [n for n in nodes if n.validation is not None and n.hidden is not None]
    if len(both) < 2:
        return None
    across = axis_range([n.validation or 0.0 for n in both])
    upward = axis_range([n.hidden or 0.0 for n in both])

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        low, high = max(across.low, upward.low), min(across.high, upward.high)
        if low < high:
            axes.plot([low, high], [low, high], color=COLOURS["muted"], linewidth=1.2, linestyle=":", label="equal")
        points = [(across.clamp(n.validation or 0.0), upward.clamp(n.hidden or 0.0)) for n in both]
        for blend, marker, label in ((False, "o", "script"), (True, "s", "blend")):
            if group := [at for node, at in zip(both, points, strict=True) if node.blend == blend]:
                style: dict[str, Any] = {"markersize": 7, "alpha": 0.75, "label": label}
                axes.plot(*zip(*group, strict=True), marker, color=COLOURS["good"], **style)
        for node, at in zip(both, points, strict=True):
            if node.best_hidden:
                ring: dict[str, Any] = {"markersize": 15, "markerfacecolor": "none", "markeredgewidth": 1.8}
                axes.plot(*at, "o", color=COLOURS["ink"], label=f"best on the {words.test(result)}", **ring)
        axes.set_xlim(*_ends(across, result))
        axes.set_ylim(*_ends(upward, result))
        _number(axes, both, points, words.chosen(result))
        axes.set_xlabel("validation score (better to the right)")
        axes.set_ylabel(f"{words.test(result)} score (better upwards)")
        axes.legend(loc="lower right", ncols=5, frameon=False, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)

    title = f"Validation score against {words.test(result)} score, a point a node"
    return draw("agreement", title, (WIDTH, 5.2), fill)
