"""The part of an axis to show, so that a few absurd scores do not squeeze all others into one line."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

FENCE = 3.0
"""Values are shown up to this many interquartile ranges beyond the quartiles (Tukey's outer fence)."""
PADDING = 0.04
STRETCH = 0.6
"""A value that must be seen may widen the range by this share of it; beyond that it is drawn at the edge."""


@dataclass(frozen=True)
class AxisRange:
    """The part of an axis that is shown, low to high."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Return whether the value lies inside."""
        return self.low <= value <= self.high

    def clamp(self, value: float) -> float:
        """Return the value, or the nearest edge if it lies outside."""
        return min(max(value, self.low), self.high)


def axis_range(values: Sequence[float], wanted: Sequence[float] = ()) -> AxisRange:
    """Return the range for finite values (at least one in all): their bulk, and the wanted values if they are near.

    Outliers are cut off on both sides; the caller should mention that.
    """
    bulk = _bulk(values) if values else (min(wanted), max(wanted))
    low, high = bulk
    for value in sorted(wanted, key=lambda v: max(low - v, v - high)):
        reach = STRETCH * (high - low)
        if low - reach <= value <= high + reach or reach == 0:
            low, high = min(low, value), max(high, value)
    width = high - low
    pad = PADDING * width if width > 0 else max(abs(high) * PADDING, 1e-6)
    return AxisRange(low - pad, high + pad)


def _bulk(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 4:
        return min(values), max(values)
    first, _, third = statistics.quantiles(values, n=4)
    reach = FENCE * (third - first)
    inside = [v for v in values if first - reach <= v <= third + reach]
    return (min(inside), max(inside)) if inside else (first, third)
