"""Charts, laid out here and drawn as SVG by `charts.j2`: lines, steps, areas and marks over two axes with round ticks."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

_FENCE = 3.0
"""Values are shown up to this many interquartile ranges beyond the quartiles (Tukey's outer fence)."""
_PADDING = 0.04
_STRETCH = 0.6
"""A value that must be seen may widen the range by this share of it; beyond that it is drawn at the edge."""
_TIMES = ((172_800.0, 86_400.0, "days"), (7200.0, 3600.0, "hours"), (180.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """One axis; values beyond its ends are drawn at them."""

    low: float
    high: float
    label: str = ""
    form: Callable[[float], str] = "{:.6g}".format
    """Writes a tick's value, in units."""
    unit: float = 1.0
    """Ticks stand at round multiples of it."""
    falling: bool = False
    """Whether low values are to the right, or above."""
    least_step: float = 0.0
    """Between two ticks, in units."""
    names: Sequence[tuple[float, str]] = ()
    """Ticks in place of round ones."""

    def holds(self, value: float) -> bool:
        """Return whether the value lies inside."""
        return self.low <= value <= self.high

    def place(self, value: float, start: float, end: float) -> float:
        """Return the place of a value on an axis drawn from start to end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(start + (1 - share if self.falling else share) * (end - start), 1)

    def ticks(self, max_ticks: int) -> Sequence[tuple[float, str]]:
        """Return values and their texts, about as many as asked for."""
        if self.names:
            return self.names
        low, high = self.low / self.unit, self.high / self.unit
        raw = (high - low) / max_ticks
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw)
        step = max(step, self.least_step)
        numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
        values = [round(number * step, 12) for number in numbers]
        return [(value * self.unit, self.form(value)) for value in values]


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    name: str
    """In the legend; empty: not in it."""
    kind: str
    """Classes of the style sheet."""
    points: Sequence[Point]
    joined: Literal["", "line", "steps", "area"] = ""
    """How points are joined (an area: by steps, down to the axis); empty: each is a mark."""
    glyph: str = ""
    """The marks; empty: dots."""
    notes: Sequence[str] = ()
    """What a reader is told who points at a mark; empty: its value."""


@dataclass(frozen=True)
class Chart:
    """A chart; in the drawing, y grows downwards."""

    title: str
    """What it shows; a screen reader reads it."""
    x_axis: Axis
    y_axis: Axis
    series: Sequence[Series]
    height: int = 220
    width: int = 640
    room: tuple[int, int, int, int] = (70, 26, 14, 42)
    """Left, above, right and below the plot, for ticks and labels."""
    has_axes: bool = True

    @property
    def edges(self) -> tuple[int, int, int, int]:
        """The edges of the plot: left, top, right and bottom."""
        left_edge, top, right, bottom = self.room
        return left_edge, top, self.width - right, self.height - bottom

    def place(self, point: Point) -> Point:
        """Return a point's place in the drawing."""
        left_edge, top, right, bottom = self.edges
        return self.x_axis.place(point[0], left_edge, right), self.y_axis.place(point[1], bottom, top)

    def path(self, series: Series) -> str:
        """Return the path that joins the points of a series; empty if they are marks."""
        places = [self.place(point) for point in series.points]
        if not series.joined or not places:
            return ""
        if series.joined == "line":
            return "M" + "L".join(f"{x} {y}" for x, y in places)
        # Of several changes within one unit of the drawing only the last can be seen.
        (x, y), *later_points = {round(x): (x, y) for x, y in places}.values()
        steps = "".join(f"H{x}V{y}" for x, y in later_points)
        bottom = self.edges[3]
        return f"M{x} {bottom}V{y}{steps}V{bottom}Z" if series.joined == "area" else f"M{x} {y}{steps}"


def score_axis(
    values: Sequence[float], required_values: Sequence[float] = (), *, label: str = "", falling: bool = False
) -> Axis:
    """Return an axis for finite values (at least one in all): their bulk, and the wanted values if they are near.

    A few absurd scores do not squeeze all others into one line: outliers are cut off on both sides. The caller should
    mention that.
    """
    bulk = _bulk(values) if values else (min(required_values), max(required_values))
    low, high = bulk
    for value in sorted(required_values, key=lambda v: max(bulk[0] - v, v - bulk[1])):
        reach = _STRETCH * (high - low)
        if low - reach <= value <= high + reach or reach == 0:
            low, high = min(low, value), max(high, value)
    width = high - low
    pad = _PADDING * width if width > 0 else max(abs(high) * _PADDING, 1e-6)
    return Axis(low - pad, high + pad, label, falling=falling)


def _bulk(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 4:
        return min(values), max(values)
    first, _, third = statistics.quantiles(values, n=4)
    reach = _FENCE * (third - first)
    visible_values = [v for v in values if first - reach <= v <= third + reach]
    return (min(visible_values), max(visible_values)) if visible_values else (first, third)


def time_axis(last: float) -> Axis:
    """Return an axis of seconds since the start, in the unit that fits the last of them."""
    unit, name = next((unit, name) for max_seconds, unit, name in _TIMES if last >= max_seconds)
    return Axis(0.0, max(1.02 * last, 1.0), f"{name} since the start", unit=unit)


def timed(values: Sequence[tuple[datetime, float]], begin: datetime) -> list[Point]:
    """Return values over seconds since a time."""
    return [((time - begin).total_seconds(), value) for time, value in values]
