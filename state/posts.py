"""A post as it may be known at a time, and the order of posts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

PostKind = Literal["topic", "message", "kernel"]


@dataclass(frozen=True)
class Post:
    """A topic, a message or a kernel version as it may be known; None means unknown or not applicable."""

    kind: PostKind
    id: str
    time: datetime
    """The time from which this text is known: posted, edited or created."""
    title: str
    """A message has its topic's title."""
    text: str
    """Markdown of a message, cleaned text and code of a kernel version, empty for a topic."""
    author: str | None
    tier: str | None
    votes: int | None
    public_score: float | None = None
    topic_id: str | None = None
    parent_id: str | None = None
    """The message that a message answers, visible or not."""
    ref: str | None = None
    version: int | None = None
    language: str | None = None
    kernel_kind: str | None = None
    parent_ref: str | None = None
    datasets: tuple[Any, ...] = ()
    url: str | None = None

    @property
    def item(self) -> str:
        """Its name in prompts and provenance, such as `message/233009`."""
        return f"{self.kind}/{self.id}"


def in_order(posts: Iterable[Post]) -> list[Post]:
    """Sort by time, then kind, version and id, whatever order the rows were added in."""
    return sorted(posts, key=lambda post: (post.time, post.kind, post.version or 0, post.id))
