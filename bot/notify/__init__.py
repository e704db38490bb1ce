"""Notifications: what the owner is told, at least once, and how it gets there."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Notice", "Notifier", "Receipt"]


@dataclass(frozen=True)
class Notice:
    """One thing to tell; what comes twice under one key is the same."""

    key: str
    kind: str
    """Such as `submission.refused`."""
    title: str
    body: str
    run_id: str | None = None


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
