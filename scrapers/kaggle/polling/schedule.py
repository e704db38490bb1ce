"""What is due: a function of when each part was read, how it failed since, and the intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import get_args

from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.units import pause
from scrapers.kaggle.polling.watch import Part

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
    unordered: bool = False
    """Whether the order of topics is not to be trusted."""
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
        if part == "topic_sweep" and self.unordered:
            return min(self.settings.topics_unordered, self.settings.topic_sweep)
        interval: float = getattr(self.settings, part)
        return interval

    def _tenth(self, part: Part) -> float:
        return (self._interval(part) or 0.0) / 10


def _left(since: datetime, length: float, now: datetime) -> float:
    """Return what is left of a span; none of it where the clock was set back behind its beginning."""
    passed = now - since
    return 0.0 if passed < timedelta(0) else length - passed.total_seconds()
