"""The forum as it stood at a time: its topics and messages, how they nest, and which are sticky."""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.simulator.site.identity import Numbers
from bot.simulator.site.readings import Readings
from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.community import Community, MessageRow, TopicRow

_OPENING = timedelta(minutes=10)
"""A topic's first message by its own author is the opening one if it is not later than this."""


@dataclass(frozen=True)
class SimulatedPost:
    """A visible message and the visible replies to it."""

    row: MessageRow
    number: int
    """Its number on the wire."""
    posted_at: datetime
    """When it was posted."""
    votes: int
    replies: list["SimulatedPost"] = field(default_factory=list)


@dataclass(frozen=True)
class SimulatedThread:
    """A visible topic."""

    row: TopicRow
    number: int
    """Its number on the wire."""
    posted_at: datetime
    votes: int
    posts: list[MessageRow]
    """The visible ones, oldest first."""
    opening: MessageRow | None
    """The message that opened it, if the snapshot has it."""
    sticky: bool

    @property
    def comments(self) -> int:
        """The number of visible messages apart from the opening one."""
        return len(self.posts) - (self.opening is not None)

    @property
    def last(self) -> datetime:
        """When the latest message was posted; without messages, when the topic was."""
        return max((row.posted_at for row in self.posts if row.posted_at), default=self.posted_at)


class SimulatedForum:
    """A snapshot's topics and messages; rows without a time are never visible.

    A topic is visible from its time on, a message in it from its own time or its edit's, whichever is later: the older text
    of an edited message is unknown. A deleted message is listed without its text.
    """

    def __init__(
        self, slug: str, community: Community, readings: Readings, numbers: Numbers, settings: SiteSettings
    ) -> None:
        self._readings = readings
        self._depth = settings.reply_depth
        self._topics = [row for row in community.topics if row.posted_at is not None]
        self._sticky = {row.id for row in sorted(self._topics, key=_posted)[: settings.sticky_topics]}
        self._messages: dict[str, list[MessageRow]] = defaultdict(list)
        for row in community.messages:
            if row.posted_at is not None:
                insort(self._messages[row.topic_id], row, key=_posted)
        self._topic_numbers = numbers.give("topic", slug, (row.id for row in self._topics))
        self._message_numbers = numbers.give("message", slug, (row.id for row in community.messages))
        self._by_number = {self._topic_numbers[row.id]: row for row in self._topics}

    def number(self, row: MessageRow) -> int:
        """Return a message's number on the wire."""
        return self._message_numbers[row.id]

    def threads(self, now: datetime) -> list[SimulatedThread]:
        """Return the visible topics, oldest first."""
        return [self._thread(row, now) for row in sorted(self._topics, key=_posted) if _posted(row) <= now]

    def thread(self, number: int | None, now: datetime) -> SimulatedThread | None:
        """Return the topic with a number on the wire, None if it is not visible."""
        row = self._by_number.get(number or 0)
        return self._thread(row, now) if row is not None and _posted(row) <= now else None

    def posts(self, thread: SimulatedThread, now: datetime, *, opening: bool) -> list[SimulatedPost]:
        """Return a topic's messages as a tree, oldest first, with or without the opening one.

        A reply whose parent is not visible is at the top level; one deeper than the site nests is at its deepest level.
        """
        rows = [row for row in thread.posts if opening or row is not thread.opening]
        post_of = {
            row.id: SimulatedPost(row, self.number(row), _posted(row), self._readings.votes("message", row.id, now))
            for row in rows
        }
        depths: dict[str, int] = {}
        parent_of: dict[str, SimulatedPost | None] = {}
        top: list[SimulatedPost] = []
        for row in rows:
            parent = post_of.get(row.parent_id or "")
            parent = parent if parent is not None and parent.row.id in depths else None
            while parent is not None and depths[parent.row.id] >= self._depth:
                parent = parent_of[parent.row.id]
            parent_of[row.id] = parent
            depths[row.id] = 0 if parent is None else depths[parent.row.id] + 1
            (top if parent is None else parent.replies).append(post_of[row.id])
        return top

    def visible(self, now: datetime) -> Iterable[tuple[SimulatedThread, MessageRow]]:
        """Yield every visible message that is not deleted, with its topic."""
        for thread in self.threads(now):
            yield from ((thread, row) for row in thread.posts if not row.deleted)

    def _thread(self, row: TopicRow, now: datetime) -> SimulatedThread:
        posts = [message for message in self._messages[row.id] if _known_at(message) <= now]
        first = next((message for message in posts if message.parent_id is None), None)
        opens = (
            first is not None
            and (first.author == row.author or None in (first.author, row.author))
            and _posted(first) - _posted(row) <= _OPENING
        )
        votes = self._readings.votes("topic", row.id, now)
        return SimulatedThread(
            row=row,
            number=self._topic_numbers[row.id],
            posted_at=_posted(row),
            votes=votes,
            posts=posts,
            opening=first if opens else None,
            sticky=row.id in self._sticky,
        )


def _posted(row: TopicRow | MessageRow) -> datetime:
    if row.posted_at is None:
        raise ValueError(f"{row.id} has no time")
    return row.posted_at


def _known_at(row: MessageRow) -> datetime:
    posted = _posted(row)
    return max(posted, row.edited_at) if row.edited_at else posted
