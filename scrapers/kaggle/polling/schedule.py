"""What is due, as a function of each part's last reading, its failures since, and the intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar, get_args

from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.watch import Part
from state.errors import KaggleError, UnknownAnswer


class Unit(Protocol):
    """Something that is read separately."""

    tried_at: datetime | None
    failures: int


UnitT = TypeVar("UnitT", bound=Unit)


def ready(units: Iterable[UnitT], now: datetime, settings: PollingSettings) -> list[UnitT]:
    """Return the units whose last failure is long enough ago."""
    return [unit for unit in units if _rested(unit, now, settings)]


def record_failure(unit: Unit, now: datetime) -> None:
    """Record that a unit could not be read."""
    unit.tried_at, unit.failures = now, unit.failures + 1


def pause(failures: int, settings: PollingSettings, *, refused: bool) -> float:
    """Return the seconds to wait after so many failures in a row."""
    if refused:
        return settings.refused
    return min(settings.retry * 2.0 ** min(failures - 1, 30), settings.longest_retry)


def is_refusal(error: Exception) -> bool:
    """Return whether an error is a refusal by the site; an answer that is not understood may be temporary."""
    return isinstance(error, KaggleError) and not isinstance(error, UnknownAnswer)


def _rested(unit: Unit, now: datetime, settings: PollingSettings) -> bool:
    if unit.tried_at is None or not unit.failures:
        return True
    # Longer than a part's, as such a failure concerns one unit alone: what its author withdrew will not reappear soon.
    longest = min(4 * settings.retry * 2.0 ** min(unit.failures - 1, 30), settings.refused)
    # A clock that was set back must not lengthen the pause.
    return not timedelta(0) <= now - unit.tried_at < timedelta(seconds=longest)


ORDER: tuple[Part, ...] = get_args(Part)
"""The order in which parts are read."""

UNTIMED: frozenset[Part] = frozenset(("messages", "sources"))
"""Parts without an interval: they are due while lists show something unread."""

_NEEDS: Mapping[Part, Part] = {"scores": "kernels", "tiers": "topics"}
"""Parts that apply to known posts only: they are not due before the posts have been read."""


@dataclass(frozen=True)
class Last:
    """The last reading of a part."""

    at: datetime | None = None
    """Our time at which it was read to its end."""
    tried_at: datetime | None = None
    """Our time of the last failure since."""
    failures: int = 0
    refused: bool = False


@dataclass(frozen=True)
class Schedule:
    """Decides what is due, from its arguments alone."""

    settings: PollingSettings
    waiting: frozenset[Part] = frozenset()
    """Those of `UNTIMED` with something to read."""

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
        # A failed part is due again after its pause, and one that was never read at once.
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
    """Return the rest of a span; 0 if the clock was set back before its beginning."""
    passed = now - since
    return 0.0 if passed < timedelta(0) else length - passed.total_seconds()
