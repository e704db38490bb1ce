"""Units of work that a list has told of, topics to read or kernels: which are due, and which have failed too lately."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from scrapers.kaggle.polling.settings import PollingSettings
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
