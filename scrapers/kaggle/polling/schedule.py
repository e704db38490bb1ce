"""What is due, as a function of each part's last reading, its failures since, and the intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeVar, get_args

from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.watch import Part
from state.clock import back_off
from state.errors import KaggleError, UnknownAnswer
from state.tables import Watermark

ORDER: tuple[Part, ...] = get_args(Part)
"""The order in which parts are read."""

UNTIMED: frozenset[Part] = frozenset(("messages", "sources"))
"""Parts without an interval: they are due while lists show something unread."""

_NEEDS: Mapping[Part, Part] = {"scores": "kernels", "tiers": "topics"}
"""Parts that apply to known posts only: they are not due before the posts have been read."""

_NEVER = Watermark(competition="", part="")


class Unit(Protocol):
    """Something that is read separately."""

    tried_at: datetime | None
    failures: int


UnitT = TypeVar("UnitT", bound=Unit)


def ready(units: Iterable[UnitT], now: datetime, settings: PollingSettings) -> list[UnitT]:
    """Return the units whose last failure is long enough ago.

    They rest longer than a part, as such a failure concerns one unit alone: what its author withdrew will not reappear soon.
    """
    return [
        unit
        for unit in units
        if unit.tried_at is None
        or not unit.failures
        or _seconds_left(unit.tried_at, back_off(unit.failures, 4 * settings.retry, settings.refusal_backoff), now) <= 0
    ]


def record_failure(unit: Unit, now: datetime) -> None:
    """Record that a unit could not be read."""
    unit.tried_at, unit.failures = now, unit.failures + 1


def is_refusal(error: Exception) -> bool:
    """Return whether an error is a refusal by the site; an answer that is not understood may be temporary."""
    return isinstance(error, KaggleError) and not isinstance(error, UnknownAnswer)


@dataclass(frozen=True)
class Schedule:
    """Decides what is due, from its fields and the time alone."""

    settings: PollingSettings
    watermarks: Mapping[str, Watermark] = field(default_factory=dict)
    """The last reading of each part that was read, or tried."""
    unread: frozenset[Part] = frozenset()
    """Those of `UNTIMED` with something to read."""

    def due(self, now: datetime) -> list[Part]:
        """Return the parts that are due now, in the order in which they are read."""
        slack = self.settings.grouping_window
        return [part for part in ORDER if self._wait(part, now) <= min(slack, self._interval(part) / 10)]

    def wait(self, now: datetime) -> float:
        """Return the seconds until something is due, 0 where something is."""
        return max(0.0, min(self._wait(part, now) for part in ORDER))

    def _wait(self, part: Part, now: datetime) -> float:
        last, wait = self.watermarks.get(part, _NEVER), 0.0
        if part in _NEEDS and self.watermarks.get(_NEEDS[part], _NEVER).at is None:
            return float("inf")
        if last.failures and last.tried_at is not None:
            pause = back_off(last.failures, self.settings.retry, self.settings.max_retry)
            wait = _seconds_left(last.tried_at, self.settings.refusal_backoff if last.refused else pause, now)
        if part in UNTIMED:
            return wait if part in self.unread else float("inf")
        # A failed part is due again after its pause, and one that was never read at once.
        if last.at is None or last.failures:
            return wait
        return _seconds_left(last.at, self._interval(part), now)

    def _interval(self, part: Part) -> float:
        return 0.0 if part in UNTIMED else float(getattr(self.settings, part))


def _seconds_left(since: datetime, length: float, now: datetime) -> float:
    """Return the rest of a span; 0 if the clock was set back before its beginning."""
    elapsed = now - since
    return 0.0 if elapsed < timedelta(0) else length - elapsed.total_seconds()
