"""The community as of a time: the forum and the kernels, and nothing later than the clock."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Literal

from sqlalchemy import ColumnElement, Result, Select
from sqlalchemy.sql.elements import SQLCoreOperations
from sqlmodel import col

from state import visibility
from state.store import Store
from state.tables import KernelVersion, PostedMessage, Topic
from state.visibility import PostTable, version_order

PostKind = Literal["topic", "message", "kernel"]
Signals = Literal["asof", "collected"]
TEAM = "TEAM"
"""The tier of whoever wrote a note of the owner's folder; no data brings it along."""
NOTE = "note-"
"""How the ids of such notes begin."""
_BATCH = 500
"""Ids in one query."""


@dataclass(frozen=True)
class Post:
    """A topic, a message or a kernel version as it may be known; None is what is unknown or does not apply."""

    kind: PostKind
    id: str
    time: datetime
    """Since when this text is known: posted, or edited, or created."""
    title: str
    """Of a message: its topic's."""
    text: str
    """Markdown of a message, cleaned text and code of a kernel version, empty for a topic."""
    author: str | None
    tier: str | None
    votes: int | None
    public_score: float | None = None
    topic_id: str | None = None
    parent_id: str | None = None
    """The message that a message answers, seen or not."""
    ref: str | None = None
    version: int | None = None
    language: str | None = None
    kernel_kind: str | None = None
    parent_ref: str | None = None
    datasets: tuple[Any, ...] = ()
    url: str | None = None

    @property
    def item(self) -> str:
        """What prompts and provenance call it, such as `message/233009`."""
        return f"{self.kind}/{self.id}"


def in_order(posts: Iterable[Post]) -> list[Post]:
    """Sort by time, then kind, version and id, whatever order the rows were added in."""
    return sorted(posts, key=lambda post: (post.time, post.kind, post.version or 0, post.id))


@dataclass(frozen=True)
class CommunityCounts:
    """How many posts are visible (kernels: versions), and how many never are, as they have no time."""

    topics: int
    messages: int
    kernels: int
    undated_topics: int
    undated_messages: int
    undated_kernels: int


@dataclass(frozen=True)
class Repeat:
    """An earlier post with the same text as this one, or nearly so."""

    original: str
    """The earliest such post, such as `kernel/10`; it may repeat another one less closely."""
    similarity: float
    """Share of the text that both have, 1 where they differ in layout only."""


class CommunityView:
    """A competition's community as it may be known at `as_of`.

    Topics and kernel versions are visible from their own time; messages within visible topics from the later of their
    own time and their edit's. Deleted rows and rows without a time are never visible. Votes, scores and tiers are each
    the latest reading at or before `as_of`; without one they are unknown or, with `signals="collected"`, as they were
    when the row was collected.

    A query's cost grows with the posts that it returns, not with the size of the competition. `posts`, `topics`,
    `messages()` and `kernels` return everything: in a loop use `newest`, `find` and `messages(topic)`.

    Raises:
        ValueError: `as_of` is naive.
    """

    def __init__(self, store: Store, competition: str, as_of: datetime, signals: Signals = "asof") -> None:
        if as_of.tzinfo is None:
            raise ValueError("as_of must have a time zone")
        self.competition = competition
        self.as_of = as_of.astimezone(UTC)
        self.signals = signals
        self._store = store
        self._topics = visibility.topics(collected=signals == "collected")
        self._messages = visibility.messages(collected=signals == "collected")
        self._kernels = visibility.kernels(collected=signals == "collected")
        self._latest_versions = visibility.latest_versions(collected=signals == "collected")

    def topics(self) -> list[Post]:
        """Return the visible topics, oldest first."""
        return self._posts(("topic", self._topics))

    def messages(self, topic_id: str | None = None) -> list[Post]:
        """Return the visible messages, or those of one topic, by the time from which their text is known."""
        of_topic = () if topic_id is None else (col(PostedMessage.topic_id) == topic_id,)
        return self._posts(("message", self._messages.where(*of_topic)))

    def kernels(self) -> list[Post]:
        """Return every visible kernel version, oldest first; at the same time the lowest version comes first."""
        return self._posts(("kernel", self._kernels))

    def posts(self) -> list[Post]:
        """Return the visible messages and the latest visible version of each kernel, by time."""
        return self._posts(("message", self._messages), ("kernel", self._latest_versions))

    def newest(self, count: int, since: datetime | None = None) -> list[Post]:
        """Return the last `count` of `posts()`, or of those later than `since`. Raises ValueError if that is naive."""
        if count <= 0:
            return []
        queries: list[tuple[PostKind, Select[Any]]] = []
        # A message's time is the later of two columns: the newest are among the newest by the one or by the other.
        for time in (col(PostedMessage.posted_at), col(PostedMessage.edited_at)):
            query = self._messages.where(time <= visibility.as_of(), _after(time, since))
            queries.append(("message", query.order_by(time.desc(), col(PostedMessage.id).desc()).limit(count)))
        time = col(KernelVersion.created_at)
        query = self._latest_versions.where(time <= visibility.as_of(), _after(time, since))
        queries.append(
            ("kernel", query.order_by(*(column.desc() for column in version_order(KernelVersion))).limit(count))
        )
        posts = {post.item: post for post in self._posts(*queries)}
        return in_order(posts.values())[-count:]

    def find(self, items: Iterable[str]) -> list[Post]:
        """Return the visible ones of some items, such as `message/233009`, by time, kernels in any version. Raises ValueError."""
        tables: dict[str, tuple[PostKind, PostTable, Select[Any]]] = {
            "topic": ("topic", Topic, self._topics),
            "message": ("message", PostedMessage, self._messages),
            "kernel": ("kernel", KernelVersion, self._kernels),
        }
        ids: dict[str, set[str]] = {name: set() for name in tables}
        for item in items:
            name, _, id = item.partition("/")
            if name not in ids:
                raise ValueError(f"{item!r} is not a valid post reference, such as message/233009")
            ids[name].add(id)
        return self._posts(
            *(
                (kind, query.where(col(table.id).in_(batch)))
                for name, (kind, table, query) in tables.items()
                for batch in _batches(sorted(ids[name]))
            )
        )

    def counts(self) -> CommunityCounts:
        """Count the visible posts, and those without a time."""
        with self._store.read() as session:
            return CommunityCounts(**session.execute(visibility.counts(), self._parameters()).mappings().one())

    def repeats(self) -> dict[str, Repeat]:
        """Return, by item, the visible messages and kernel versions known to repeat an earlier one."""
        with self._store.read() as session:
            rows = session.execute(visibility.repeats(), self._parameters()).all()
        return {f"{kind}/{id}": Repeat(f"{kind}/{original}", share) for kind, id, original, share in rows}

    def _parameters(self) -> dict[str, Any]:
        return {"competition": self.competition, "as_of": self.as_of}

    def _posts(self, *queries: tuple[PostKind, Select[Any]]) -> list[Post]:
        """Run queries on one state of the database, and sort what they return."""
        with self._store.read() as session:
            posts = [_read(kind, session.execute(query, self._parameters())) for kind, query in queries]
            return in_order(chain.from_iterable(posts))


def _read(kind: PostKind, rows: Result[Any]) -> Iterator[Post]:
    fields = list(rows.keys())
    for row in rows:
        values = dict(zip(fields, row, strict=True))
        if kind == "kernel":
            values["datasets"] = tuple(values["datasets"])
        yield Post(kind=kind, **values)


def _after(time: SQLCoreOperations[Any], since: datetime | None) -> ColumnElement[bool]:
    if since is None:
        return time.is_not(None)
    if since.tzinfo is None:
        raise ValueError("since must have a time zone")
    return time > since


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))
