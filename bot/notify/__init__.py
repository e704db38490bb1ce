"""Notifications: what the owner is told, at least once, and how it gets there."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, Self

__all__ = ["Notice", "Notifier", "Plot", "Receipt"]


@dataclass(frozen=True)
class Plot:
    """One line over time, small enough for a row; it is drawn where a service takes pictures."""

    title: str
    times: tuple[datetime, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse a line whose points are not all there."""
        if len(self.times) != len(self.values):
            raise ValueError(f"the plot {self.title} has {len(self.times)} times and {len(self.values)} values")

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {
            "title": self.title,
            "times": [time.isoformat() for time in self.times],
            "values": list(self.values),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Read what `to_json` returned."""
        times = tuple(datetime.fromisoformat(time) for time in content["times"])
        return cls(content["title"], times, tuple(content["values"]))


@dataclass(frozen=True)
class Notice:
    """One thing to tell; what comes twice under one key is the same."""

    key: str
    kind: str
    """Such as `submission.refused`."""
    title: str
    body: str
    """Plain text."""
    run_id: str | None = None
    markdown: str = ""
    """The body for services that show Markdown; empty: the plain one will do."""
    urgent: bool = False
    """Told in quiet hours too."""
    plots: tuple[Plot, ...] = ()


@dataclass(frozen=True)
class Receipt:
    """That a notice was taken by whoever carries it on; `reference` is their name for it, if they give one."""

    reference: str | None = None


class Notifier(Protocol):
    """Carries notices out of the machine."""

    async def send(self, event: Notice) -> Receipt:
        """Send one notice, with its key, so that whoever gets it twice can tell.

        Raises:
            NotificationFailed: it may not have arrived; it is sent again later.
        """
        ...
