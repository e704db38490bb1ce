"""Votes, scores and tiers as they stood at the site's time, from a snapshot's observations."""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from scrapers.snapshots.community import ObservationRow

Target = Literal["topic", "message", "kernel"]


class Readings:
    """The latest reading of a field at or before a time; a field that a reading lacks was not read.

    The rows' own values are those of the day they were collected, and are never used here.
    """

    def __init__(self, observations: Iterable[ObservationRow]) -> None:
        self._series: dict[tuple[str, str, str], tuple[list[datetime], list[Any]]] = {}
        for row in sorted(observations, key=lambda row: row.at):
            for field in ("votes", "public_score", "tier"):
                value = getattr(row, field)
                if value is not None:
                    self._add((row.target, row.id, field), row.at, value)

    def _add(self, key: tuple[str, str, str], time: datetime, value: Any) -> None:
        times, values = self._series.setdefault(key, ([], []))
        if times and times[-1] == time:
            values[-1] = max(
                values[-1], value
            )  # of two readings at one moment the larger one, as in the engine's queries
        else:
            times.append(time)
            values.append(value)

    def _latest(self, target: Target, identifier: str, field: str, now: datetime) -> Any:
        times, values = self._series.get((target, identifier, field), ([], []))
        place = bisect_right(times, now)
        return values[place - 1] if place else None

    def votes(self, target: Target, identifier: str, now: datetime) -> int:
        """Return the votes, 0 before the first reading."""
        return self._latest(target, identifier, "votes", now) or 0

    def score(self, identifier: str, now: datetime) -> float | None:
        """Return a kernel version's public score; None before the first reading."""
        value: float | None = self._latest("kernel", identifier, "public_score", now)
        return value

    def tier(self, target: Target, identifier: str, now: datetime) -> str | None:
        """Return the author's tier by Kaggle's name, None before the first reading."""
        value = self._latest(target, identifier, "tier", now)
        return None if value is None else "_".join(str(value).upper().split())
