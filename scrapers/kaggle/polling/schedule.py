"""What is due: a function of when each part was read, how it failed since, and the intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar, get_args

from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.watch import Part
from state.errors import KaggleError, UnknownAnswer


class Unit(Protocol):
    """Something that is read by itself."""

    tried_at: datetime | None
    failures: int


UnitT = TypeVar("UnitT", bound=Unit)


def ready(units: Iterable[UnitT], now: datetime, settings: PollingSettings) -> list[UnitT]:
    """Return the units whose last failure is long enough ago."""
    return [unit for unit in units if _rested(unit, now, settings)]


def failed(unit: Unit, now: datetime) -> None:
    """Record that a unit could not be read."""
    unit.tried_at, unit.failures = now, unit.failures + 1


def pause(failures: int, settings: PollingSettings, *, refused: bool) -> float:
    """Return the seconds for which what failed that often in a row is left alone."""
    if refused:
        return settings.refused
    return min(settings.retry * 2.0 ** min(failures - 1, 30), settings.longest_retry)


def refusal(error: Exception) -> bool:
    """Return whether an error is the site's own no; an answer that is not understood may be a moment's."""
    return isinstance(error, KaggleError) and not isinstance(error, UnknownAnswer)


def _rested(unit: Unit, now: datetime, settings: PollingSettings) -> bool:
    if unit.tried_at is None or not unit.failures:
        return True
    # Longer than a part's, as its failure is its own: whoever took something back will not show it again soon.
    longest = min(4 * settings.retry * 2.0 ** min(unit.failures - 1, 30), settings.refused)
    # A clock that was set back must not lengthen the pause.
    return not timedelta(0) <= now - unit.tried_at < timedelta(seconds=longest)


ORDER: tuple[Part, ...] = get_args(Part)
"""In which parts are read."""

UNTIMED: frozenset[Part] = frozenset(("messages", "sources"))
"""Parts that have no interval: they are due while lists have told of something that is not read."""

_NEEDS: Mapping[Part, Part] = {"scores": "kernels", "tiers": "topics"}
"""Of what only those posts are believed that are known: it is not due before they are."""


@dataclass(frozen=True)
class Last:
    """How a part went last."""

    at: datetime | None = None
    """Our time at which it was read to its end."""
    tried_at: datetime | None = None
    """And of the last failure since."""
    failures: int = 0
    refused: bool = False


@dataclass(frozen=True)
class Schedule:
    """Says what is due; it holds nothing but what it is told."""

    settings: PollingSettings
    waiting: frozenset[Part] = frozenset()
    """Those of `UNTIMED` that have something to be read."""

    def due(self, lasts: Mapping[Part, Last], now: datetime) -> list[Part]:
        """Return the parts that are due now, in the order in which they are read."""
        slack = self.settings.slack
        return [part for part in ORDER if self._wait(part, lasts, now) <= min(slack, self._tenth(part))]

    def wait(self, lasts: Mapping[Part, Last], now: datetime) -> float:
        """Return the seconds until something is due, 0 where something is."""
        return max(0.0, min(self._wait(part, lasts, now) for part in ORDER))

    def _wait(self, part: Part, lasts: Mapping[Part, Last], now: datetime) -> float:
        """Return the seconds until a part is due."""
        last, rest = lasts.get(part, Last()), 0.0
        if part in _NEEDS and lasts.get(_NEEDS[part], Last()).at is None:
            return float("inf")
        if last.failures and last.tried_at is not None:
            length = pause(last.failures, self.settings, refused=last.refused)
            rest = _left(last.tried_at, length, now)
        interval = self._interval(part)
        if interval is None:
            return rest if part in self.waiting else float("inf")
        # A part that failed is due again after its pause, and what was never read is due at once.
        if last.at is None or last.failures:
            return rest
        return _left(last.at, interval, now)

    def _interval(self, part: Part) -> float | None:
        if part in UNTIMED:
            return None
        interval: float = getattr(self.settings, part)
        return interval

    def _tenth(self, part: Part) -> float:
        return (self._interval(part) or 0.0) / 10


def _left(since: datetime, length: float, now: datetime) -> float:
    """Return what is left of a span; none of it where the clock was set back behind its beginning."""
    passed = now - since
    return 0.0 if passed < timedelta(0) else length - passed.total_seconds()
