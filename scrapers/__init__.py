"""Scrapers: where posts, task cards and data come from (a snapshot now, Kaggle later)."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

# Not at run time: the processes that clean would load the database's libraries, and there are several of them.
if TYPE_CHECKING:
    from scrapers.posts.ingest import Raw

__all__ = ["CommunitySource"]


class CommunitySource(Protocol):
    """Yields what is new in a community: table rows with their own times, in any order, their texts still to be cleaned."""

    def changes(self, since: str | None) -> "AsyncIterator[Raw]":
        """Yield rows (topics, messages, kernel versions, observations) newer than the watermark; None means all."""
        ...
