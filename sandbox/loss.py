"""The rule on the loss: a training whose loss is no longer a number, or explodes, is hopeless."""

import math
import re
from dataclasses import dataclass, field
from typing import TypeGuard

_LOSS = re.compile(
    r"(?<!\w)(?P<name>[\w./'-]{0,40}?(?:loss|rmsle|rmse|mse|mae)[\w']{0,40}|(?:training|valid\w{0,20})'s \w+|learn)"
    r"(?:['\"]?\s{0,8}(?:\bis\b|\bof\b|[:=])\s{0,8}|\s{1,8})(?:tensor\()?"
    r"(?P<value>[-+]?(?:nan|inf(?:inity)?|\d+(?:\.\d*)?(?:e[-+]?\d+)?))(?:\.0)?(?![\w.]*\w)",
    re.IGNORECASE,
)
"""A loss as keras, lightning, transformers, lightgbm, xgboost, catboost and plain prints report it; lightning writes nan.0."""
_NOT_A_LOSS = re.compile(r"best|min|scale|weight|lambda|alpha|coef|from", re.IGNORECASE)
_RECORD = re.compile(r"\b(?:best|lowest|minimum|initial|previous)\b[\w\s]{0,20}$", re.IGNORECASE)
_SMALLEST = 1e-3
"""A loss below this counts as this much: growth from almost nothing is no explosion."""
_MOST_NAMES = 200


def losses(line: str) -> dict[str, float]:
    """Return the losses that a line reports, by name; NaN and infinity are among their values."""
    return {
        found["name"].lower(): float(found["value"])
        for found in _LOSS.finditer(line)
        if not _NOT_A_LOSS.search(found["name"]) and not _RECORD.search(line, 0, found.start())
    }


@dataclass
class _Bad:
    """Bad reports in a row."""

    since: float
    first: float = math.inf
    last: float = math.inf
    count: int = 0

    def add(self, value: float) -> None:
        """Take in one more."""
        self.count += 1
        self.last = value

    @property
    def grown(self) -> bool:
        """Whether it grew meanwhile: the loss on another target may be so much larger, but it falls."""
        return self.last >= 10 * self.first


@dataclass
class _Series:
    lowest: float = math.inf
    high: _Bad | None = None


@dataclass
class LossRule:
    """Bad reports must come in a row, be many, and last: one of several experiments may fail while the others count."""

    reports: int
    seconds: float
    growth: float
    """Multiple of its lowest value that is too much for a loss, if it still grows."""
    _broken: _Bad | None = None
    _series: dict[str, _Series] = field(default_factory=dict)
    _line: str = ""

    def line(self, line: str, now: float) -> None:
        """Take in a line of output, `now` in seconds since the start."""
        found = losses(line)
        if not found:
            return
        self._line = line.strip()
        finite = {name: value for name, value in found.items() if math.isfinite(value)}
        if finite:
            self._broken = None
        else:
            self._broken = self._broken or _Bad(now)
            self._broken.add(math.inf)
        for name, value in finite.items():
            self._take(name, abs(value), now)

    def check(self, now: float) -> str | None:
        """Return why it must end, if it must."""
        if self._lasting(self._broken, now):
            return f"the loss is not a number in report after report, the last: {self._line[:200]!r}"
        for name, series in self._series.items():
            if self._lasting(series.high, now) and series.high.grown:
                return f"{name} grew from {series.lowest:g} and keeps growing, the last report: {self._line[:200]!r}"
        return None

    def _take(self, name: str, value: float, now: float) -> None:
        if len(self._series) > _MOST_NAMES:
            self._series.clear()
        series = self._series.setdefault(name, _Series())
        if value <= self.growth * max(series.lowest, _SMALLEST):
            series.high = None
            series.lowest = min(series.lowest, value)
            return
        series.high = series.high or _Bad(now, value)
        series.high.add(value)

    def _lasting(self, bad: _Bad | None, now: float) -> TypeGuard[_Bad]:
        return bad is not None and bad.count >= self.reports and now - bad.since >= self.seconds
