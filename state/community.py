"""Community as of a time: what the forum and the kernels say, and nothing later than the clock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, func
from sqlmodel import Session, col, or_, select

from state.collect import add_community
from state.store import Store
from state.tables import KernelVersion, Message, Observation, Topic

__all__ = ["CommunityCounts", "CommunityView", "Post", "Signals", "add_community"]

Signals = Literal["asof", "collected"]
PostKind = Literal["topic", "message", "kernel"]
_Field = Literal["votes", "public_score", "tier"]


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


@dataclass(frozen=True)
class CommunityCounts:
    """How many are visible (kernels: versions), and how many never are, as they have no time."""

    topics: int
    messages: int
    kernels: int
    undated_topics: int
    undated_messages: int
    undated_kernels: int


class CommunityView:
    """A competition's community as it may be known at `as_of`.

    Visible are topics and kernel versions from their own time, messages from theirs or their edit's, whichever is
    later, within visible topics; what is deleted is not visible at any time. A row without a time is never visible.
    Votes, scores and tiers are each the latest reading at or before `as_of`; without one they are unknown, or, with
    `signals="collected"`, as the row was collected.

    Raises:
        ValueError: `as_of` is naive.
    """

    def __init__(self, store: Store, competition: str, as_of: datetime, signals: Signals = "asof") -> None:
        if as_of.tzinfo is None:
            raise ValueError("as_of must be an aware time")
        self.competition = competition
        self.as_of = as_of.astimezone(UTC)
        self.signals = signals
        self._store = store

    def topics(self) -> list[Post]:
        """Return the visible topics, oldest first."""
        with self._store.read() as session:
            rows = session.exec(select(Topic).where(*self._topic_visible())).all()
            signals = self._signals(session, "topic")
        return _in_order(_topic_post(row, row.posted_at, signals) for row in rows if row.posted_at is not None)

    def messages(self) -> list[Post]:
        """Return the visible messages, by the time from which their text is known."""
        query = select(Message, Topic.title).where(*self._message_visible())
        with self._store.read() as session:
            rows = session.exec(query).all()
            signals = self._signals(session, "message")
        return _in_order(
            _message_post(row, title, max(row.posted_at, row.edited_at or row.posted_at), signals)
            for row, title in rows
            if row.posted_at is not None
        )

    def kernels(self) -> list[Post]:
        """Return every visible kernel version, oldest first, and of one moment the lowest version first."""
        with self._store.read() as session:
            rows = session.exec(select(KernelVersion).where(*self._kernel_visible())).all()
            signals = self._signals(session, "kernel")
        return _in_order(_kernel_post(row, row.created_at, signals) for row in rows if row.created_at is not None)

    def posts(self) -> list[Post]:
        """Return the visible messages and the latest visible version of each kernel, by time."""
        # The highest version, not the last in time: one that was missed is dated with when it was found, after its successor.
        versions = sorted(self.kernels(), key=lambda kernel: (kernel.version or 0, kernel.time, kernel.id))
        latest = {kernel.ref: kernel for kernel in versions}
        return _in_order([*self.messages(), *latest.values()])

    def counts(self) -> CommunityCounts:
        """Count what is visible, and what has no time."""
        here = self.competition
        with self._store.read() as session:

            def count(*where: ColumnElement[bool]) -> int:
                return session.exec(select(func.count()).where(*where)).one()

            return CommunityCounts(
                topics=count(*self._topic_visible()),
                messages=count(*self._message_visible()),
                kernels=count(*self._kernel_visible()),
                undated_topics=count(col(Topic.competition) == here, col(Topic.posted_at).is_(None)),
                undated_messages=count(col(Message.competition) == here, col(Message.posted_at).is_(None)),
                undated_kernels=count(col(KernelVersion.competition) == here, col(KernelVersion.created_at).is_(None)),
            )

    def _topic_visible(self) -> Sequence[ColumnElement[bool]]:
        return (
            col(Topic.competition) == self.competition,
            col(Topic.posted_at) <= self.as_of,
            col(Topic.deleted).is_(False),
        )

    def _message_visible(self) -> Sequence[ColumnElement[bool]]:
        return (
            *self._topic_visible(),
            col(Message.competition) == self.competition,
            col(Message.topic_id) == col(Topic.id),
            col(Message.posted_at) <= self.as_of,
            or_(col(Message.edited_at).is_(None), col(Message.edited_at) <= self.as_of),
            col(Message.deleted).is_(False),
        )

    def _kernel_visible(self) -> Sequence[ColumnElement[bool]]:
        return (col(KernelVersion.competition) == self.competition, col(KernelVersion.created_at) <= self.as_of)

    def _signals(self, session: Session, target: PostKind) -> "_Signals":
        query = select(Observation).where(
            Observation.competition == self.competition, Observation.target == target, Observation.at <= self.as_of
        )
        return _Signals(session.exec(query).all(), collected=self.signals == "collected")


class _Signals:
    """The latest reading of each changing field of each row; a field that a reading lacks was not read."""

    def __init__(self, observations: Sequence[Observation], *, collected: bool) -> None:
        self._collected = collected
        self._latest: dict[tuple[str, _Field], tuple[datetime, Any]] = {}
        for observation in observations:
            self._take(observation, "votes", observation.votes)
            self._take(observation, "public_score", observation.public_score)
            self._take(observation, "tier", observation.tier)

    def _take(self, observation: Observation, field: _Field, value: Any) -> None:
        if value is None:
            return
        key, reading = (observation.target_id, field), (observation.at, value)
        # Of two readings of one moment the larger wins, so that the order of insertion never matters.
        self._latest[key] = max(self._latest.get(key, reading), reading)

    def of(self, row: Topic | Message | KernelVersion, field: _Field) -> Any:
        """Return the field's value as it may be known, None if it is not."""
        reading = self._latest.get((row.id, field))
        if reading is not None:
            return reading[1]
        return getattr(row, field) if self._collected else None


def _in_order(posts: Iterable[Post]) -> list[Post]:
    """Sort by time, then kind, version and id, whatever order the rows were added in."""
    return sorted(posts, key=lambda post: (post.time, post.kind, post.version or 0, post.id))


def _topic_post(row: Topic, time: datetime, signals: _Signals) -> Post:
    return Post(
        kind="topic",
        id=row.id,
        time=time,
        title=row.title,
        text="",
        author=row.author,
        tier=signals.of(row, "tier"),
        votes=signals.of(row, "votes"),
        topic_id=row.id,
        url=row.url,
    )


def _message_post(row: Message, title: str, time: datetime, signals: _Signals) -> Post:
    return Post(
        kind="message",
        id=row.id,
        time=time,
        title=title,
        text=row.markdown,
        author=row.author,
        tier=signals.of(row, "tier"),
        votes=signals.of(row, "votes"),
        topic_id=row.topic_id,
        parent_id=row.parent_id,
    )


def _kernel_post(row: KernelVersion, time: datetime, signals: _Signals) -> Post:
    return Post(
        kind="kernel",
        id=row.id,
        time=time,
        title=row.title,
        text=row.text,
        author=row.author,
        tier=signals.of(row, "tier"),
        votes=signals.of(row, "votes"),
        public_score=signals.of(row, "public_score"),
        ref=row.ref,
        version=row.version,
        language=row.language,
        kernel_kind=row.kind,
        parent_ref=row.parent_ref,
        datasets=tuple(row.datasets),
        url=row.url,
    )
