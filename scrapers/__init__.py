"""Scrapers: where posts, task cards and data come from (a snapshot now, Kaggle later)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from scrapers.card import MetricSpec, TaskCard
from state.tables import CommunityRow

__all__ = ["CommunitySource", "MetricSpec", "TaskCard", "TaskSource"]


class CommunitySource(Protocol):
    """Yields what is new in a community: table rows with their own times, in any order."""

    def changes(self, since: str | None) -> AsyncIterator[CommunityRow]:
        """Yield rows (topics, messages, kernel versions, observations) newer than the watermark; None means all."""
        ...


class TaskSource(Protocol):
    """Gives the task card and the competition's files."""

    async def card(self) -> TaskCard:
        """Return the task card."""
        ...

    async def files(self) -> Path:
        """Return the folder with the competition's data files, read-only."""
        ...
