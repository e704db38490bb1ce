"""The figure of a moving clock: its time during the run, the posts known by then, and the nodes that used them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bot.report.plots import WIDTH, time_unit
from bot.report.stream import PostUse, StreamRecord
from bot.report.svg import COLOURS, draw

_MOST_LINES = 300
"""Most lines from posts to nodes; more would hide one another."""


def stream_figure(stream: StreamRecord, last: float) -> Markup:
    """Draw a run's clock; `last` is the run's last second."""
    unit, unit_name = time_unit(last)

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        times = [move.seconds / unit for move in stream.moves]
        stood = [_day(stream, move.as_of) for move in stream.moves]
        across, upward = [*times, last / unit], [*stood, stood[-1]]
        axes.step(across, upward, where="post", color=COLOURS["muted"], linewidth=2, label="the clock")
        _uses(axes, stream, unit)
        _posts(axes, stream, [post for post in stream.posts if not post.nodes], unit, "muted", "read")
        _posts(axes, stream, [post for post in stream.posts if post.nodes], unit, "good", "used by a node")
        starts = [(node.seconds / unit, _day(stream, node.as_of)) for node in stream.nodes]
        if starts:
            axes.plot(*zip(*starts, strict=True), "s", color=COLOURS["ours"], markersize=7, label="node", clip_on=False)
        for node, at in zip(stream.nodes, starts, strict=True):
            axes.annotate(str(node.node), at, xytext=(6, 5), textcoords="offset points", fontsize=9.5)
        axes.set_xlim(0, 1.03 * max(last / unit, 1e-9))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda day, _: f"{stream.start + timedelta(days=day):%Y-%m-%d}"))
        axes.set_xlabel(f"{unit_name} since the start")
        axes.set_ylabel("time of the competition")
        axes.legend(loc="lower right", ncols=4, frameon=False, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)

    return draw("stream", "What became known when, and which nodes used it", (WIDTH, 5.2), fill)


def _day(stream: StreamRecord, time: datetime) -> float:
    """Return days since the clock's start."""
    return (time - stream.start).total_seconds() / 86_400


def _posts(axes: Axes, stream: StreamRecord, posts: Sequence[PostUse], unit: float, colour: str, label: str) -> None:
    if posts:
        across, upward = [post.seconds / unit for post in posts], [_day(stream, post.posted) for post in posts]
        axes.plot(across, upward, "o", color=COLOURS[colour], markersize=5, alpha=0.75, label=label, clip_on=False)


def _uses(axes: Axes, stream: StreamRecord, unit: float) -> None:
    """Draw a line from each post to the first node that used it."""
    starts = {node.node: node for node in stream.nodes}
    for post in [post for post in stream.posts if post.nodes][:_MOST_LINES]:
        node = starts[min(post.nodes)]
        across = (post.seconds / unit, node.seconds / unit)
        upward = (_day(stream, post.posted), _day(stream, node.as_of))
        axes.plot(across, upward, color=COLOURS["good"], linewidth=0.8, alpha=0.5)
