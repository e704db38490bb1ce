"""Scores over time as lines and points of an SVG drawing: time runs right, better is up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.report.range import axis_range
from bot.report.words import duration, score

WIDTH, HEIGHT = 560, 220
SMALL_WIDTH, SMALL_HEIGHT = 160, 40
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 10, 26
_MARKS = 4
"""Lines of the grid."""

Point = tuple[datetime, float]


@dataclass(frozen=True)
class Series:
    """Values over time, in order; `kind` is the class by which the style sheet colours it."""

    name: str
    kind: str
    points: Sequence[Point]
    line: bool = False
    """Whether they are joined by steps."""


@dataclass(frozen=True)
class Drawn:
    """One series in units of the drawing."""

    name: str
    kind: str
    path: str
    """Of its steps; empty if it is points."""
    dots: tuple[tuple[float, float, str], ...]
    """Across, down, and the value in words."""


@dataclass(frozen=True)
class Chart:
    """The whole drawing."""

    width: int
    height: int
    series: tuple[Drawn, ...]
    marks: tuple[tuple[float, str], ...]
    """Height and label of each line of the grid."""
    span: str
    """How long the time is that it shows, in words."""
    left: int


def chart(series: Sequence[Series], *, lower_is_better: bool, small: bool = False, whole: bool = False) -> Chart | None:
    """Draw series that share their axes; None if there is no point.

    Args:
        series: those without a point are left out.
        lower_is_better: then low values are drawn above.
        small: without axes, for a row of a table.
        whole: whether values are counts, such as ranks.
    """
    shown = [one for one in series if one.points]
    if not shown:
        return None
    width, height = (SMALL_WIDTH, SMALL_HEIGHT) if small else (WIDTH, HEIGHT)
    left, right, top, bottom = (3, 3, 4, 4) if small else (_LEFT, _RIGHT, _TOP, _BOTTOM)
    times = [at for one in shown for at, _ in one.points]
    begin, seconds = min(times), max(1.0, (max(times) - min(times)).total_seconds())
    values = [value for one in shown for _, value in one.points]
    wanted = [value for one in shown if one.line for _, value in one.points[1:]] or values[:1]
    axis = axis_range(values, wanted)

    def place(point: Point) -> tuple[float, float]:
        share = (axis.clamp(point[1]) - axis.low) / (axis.high - axis.low)
        down = share if lower_is_better else 1 - share
        across = (point[0] - begin).total_seconds() / seconds
        return round(left + across * (width - left - right), 1), round(top + down * (height - top - bottom), 1)

    steps = [axis.low + (axis.high - axis.low) * number / (_MARKS + 1) for number in range(1, _MARKS + 1)]
    steps = sorted({float(round(value)) for value in steps}) if whole else steps
    form = "{:,.0f}" if whole else "{:.4g}"
    return Chart(
        width=width,
        height=height,
        series=tuple(_drawn(one, [place(point) for point in one.points]) for one in shown),
        marks=() if small else tuple((place((begin, value))[1], form.format(value)) for value in steps),
        span=duration(seconds),
        left=left,
    )


def _drawn(one: Series, places: Sequence[tuple[float, float]]) -> Drawn:
    path = ""
    if one.line:
        # Of several changes within one unit of the drawing only the last can be seen.
        (x, y), *rest = {round(across): (across, down) for across, down in places}.values()
        path = f"M{x} {y}" + "".join(f"H{across}V{down}" for across, down in rest)
    named = zip(places, one.points, strict=True)
    dots = () if one.line else tuple((x, y, f"{score(value)} at {at:%Y-%m-%d %H:%M}") for (x, y), (at, value) in named)
    return Drawn(one.name, one.kind, path, dots)
