"""The drawings of a comparison, laid out: paired differences with their intervals, and curves."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bot.bench.comparing.comparison import Comparison, Pair
from bot.bench.comparing.curves import Curve
from bot.bench.comparing.verdict import interval, percentage, points
from state.words import plural

WIDTH = 1000
_LABEL, _VALUE = 240, 320
"""Room for the names on the left and the figures on the right."""
_ROW, _HEAD, _FOOT = 58, 34, 56
_TICKS = 8
_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))
_CURVES_HEIGHT, _LINE = 320, 18
"""Height of the plot of curves, and of a line of text beside it."""


@dataclass(frozen=True)
class Scale:
    """A scale of a drawing, from values to places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the place of a value, within the scale."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class ForestRow:
    """One paired difference: the leader's over another contender."""

    name: str
    y: float
    mean: float
    ends: tuple[float, float] | None
    dots: tuple[tuple[float, str], ...]
    """Place and words of each competition's difference."""
    settled: bool
    figures: str
    basis: str


@dataclass(frozen=True)
class Forest:
    """All paired differences of the leader, in the drawing's units."""

    height: int
    left: float
    right: float
    zero: float
    ticks: tuple[Tick, ...]
    rows: tuple[ForestRow, ...]


@dataclass(frozen=True)
class DrawnCurve:
    """One contender's curve, and where its name stands."""

    name: str
    path: str
    end: float
    label: float
    number: int


@dataclass(frozen=True)
class Plot:
    """Curves in one plot."""

    height: int
    left: float
    right: float
    bottom: float
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    curves: tuple[DrawnCurve, ...]


def forest(found: Comparison) -> Forest | None:
    """Lay out the leader's paired differences; None where it has none."""
    pairs = found.against_leader
    if not pairs:
        return None
    values = [0.0, *(value for pair in pairs for value in _values(pair))]
    margin = 0.06 * (max(values) - min(values)) or 0.01
    scale = Scale(min(values) - margin, max(values) + margin, _LABEL, WIDTH - _VALUE)
    ticks = tuple(
        Tick(scale.at(value), f"{100 * value:+g}".replace("-", "\N{MINUS SIGN}") if value else "0")
        for value in _nice(scale.low, scale.high)
    )
    rows = tuple(_row(found, pair, scale, _HEAD + (number + 0.5) * _ROW) for number, pair in enumerate(pairs))
    return Forest(_HEAD + len(rows) * _ROW + _FOOT, scale.start, scale.end, scale.at(0.0), ticks, rows)


def _values(pair: Pair) -> Sequence[float]:
    found = pair.win_rate
    ends = [end for end in (found.low, found.high) if end is not None]
    return [found.mean, *ends, *found.by_competition.values()]


def _row(found: Comparison, pair: Pair, scale: Scale, y: float) -> ForestRow:
    it = pair.win_rate
    ends = None if it.low is None or it.high is None else (scale.at(it.low), scale.at(it.high))
    return ForestRow(
        name=f"over {found.title(pair.other)}",
        y=y,
        mean=scale.at(it.mean),
        ends=ends,
        dots=tuple((scale.at(value), f"{name}: {points(value)}") for name, value in it.by_competition.items()),
        settled=pair.settled,
        figures=f"{points(it.mean)} points" + (f" ({interval(it)})" if ends else ""),
        basis=f"{plural(it.competitions, 'competition')}, {plural(it.pairs, 'pair')}; by chance {percentage(pair.chance)}",
    )


def curve_plot(found: Comparison, curves: Sequence[Curve], *, over_money: bool) -> Plot | None:
    """Lay out curves; None where there are none."""
    if not curves:
        return None
    last, best = curves[0].points[-1][0], max(share for curve in curves for _, share in curve.points)
    across = Scale(0.0, last, 56, WIDTH - _VALUE)
    up = Scale(0.0, max(0.1, 1.05 * best), _CURVES_HEIGHT - 44, 12)
    ends = [up.at(curve.points[-1][1]) for curve in curves]
    drawn = tuple(
        DrawnCurve(
            name=f"{found.title(curve.contender)} {curve.points[-1][1]:.1%}",
            path=_steps([(across.at(x), up.at(y)) for x, y in curve.points]),
            end=end,
            label=label,
            number=number,
        )
        for number, (curve, end, label) in enumerate(zip(curves, ends, _apart(ends), strict=True))
    )
    return Plot(
        height=max(_CURVES_HEIGHT, _LINE * len(curves) + 24),
        left=across.start,
        right=across.end,
        bottom=up.start,
        across=tuple(_across(across, over_money=over_money)),
        up=tuple(Tick(up.at(value), f"{value:.0%}") for value in _nice(0.0, up.high)),
        curves=drawn,
    )


def _across(scale: Scale, *, over_money: bool) -> Iterator[Tick]:
    """Yield the marks of USD, or of seconds in the unit that fits them."""
    unit, name = (1.0, "") if over_money else next((one for one in _UNITS if scale.high >= 2 * one[0]), _UNITS[-1])
    for value in _nice(0.0, scale.high / unit):
        yield Tick(scale.at(value * unit), f"${value:g}" if over_money else f"{value:g} {name}")


def _steps(places: Sequence[tuple[float, float]]) -> str:
    """Return a path that stays level until the next place."""
    (x, y), *rest = places
    return f"M{x} {y}" + "".join(f" H{x} V{y}" for x, y in rest)


def _apart(places: Sequence[float]) -> list[float]:
    """Move places apart until lines of text fit, each as little as may be, the upper ones first."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = list(places)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + _LINE)
    return moved


def _nice(low: float, high: float) -> list[float]:
    """Return round values between two bounds, about as many as an axis has room for."""
    raw = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw)
    return [round(number * step, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
