"""What is visible of a community at a time, as queries whose columns are the fields of a `Post`.

They are built once, with the parameters `competition` and `as_of`: building a query takes longer than running it.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    String,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
)
from sqlalchemy.orm import aliased
from sqlalchemy.sql.elements import SQLCoreOperations
from sqlmodel import col
from sqlmodel.sql.sqltypes import UTCDateTime

from state.tables import KernelVersion, Likeness, Observation, PostedMessage, Topic

PostTable = type[Topic] | type[PostedMessage] | type[KernelVersion]


def _competition() -> BindParameter[str]:
    return bindparam("competition", type_=String())


def as_of() -> BindParameter[datetime]:
    """Return the parameter that is the time of the view."""
    return bindparam("as_of", type_=UTCDateTime())


@cache
def topics(*, collected: bool) -> Select[Any]:
    """Select the visible topics; `collected`: a value without a reading is the collected one, not unknown."""
    return select(
        col(Topic.id),
        col(Topic.posted_at).label("time"),
        col(Topic.title),
        literal("").label("text"),
        col(Topic.author),
        _latest_reading(Topic, "topic", "tier", collected=collected),
        _latest_reading(Topic, "topic", "votes", collected=collected),
        col(Topic.id).label("topic_id"),
        col(Topic.url),
    ).where(*_visible_topic())


@cache
def messages(*, collected: bool) -> Select[Any]:
    """Select the visible messages; `collected` as in `topics`."""
    title = select(col(Topic.title)).where(
        col(Topic.competition) == _competition(), col(Topic.id) == col(PostedMessage.topic_id)
    )
    return select(
        col(PostedMessage.id),
        _text_known().label("time"),
        title.scalar_subquery().label("title"),
        col(PostedMessage.markdown).label("text"),
        col(PostedMessage.author),
        _latest_reading(PostedMessage, "message", "tier", collected=collected),
        _latest_reading(PostedMessage, "message", "votes", collected=collected),
        col(PostedMessage.topic_id),
        col(PostedMessage.parent_id),
    ).where(*_visible_message())


@cache
def kernels(*, collected: bool) -> Select[Any]:
    """Select the visible kernel versions; `collected` as in `topics`."""
    return select(
        col(KernelVersion.id),
        col(KernelVersion.created_at).label("time"),
        col(KernelVersion.title),
        col(KernelVersion.text),
        col(KernelVersion.author),
        _latest_reading(KernelVersion, "kernel", "tier", collected=collected),
        _latest_reading(KernelVersion, "kernel", "votes", collected=collected),
        _latest_reading(KernelVersion, "kernel", "public_score", collected=collected),
        col(KernelVersion.ref),
        col(KernelVersion.version),
        col(KernelVersion.language),
        col(KernelVersion.kind).label("kernel_kind"),
        col(KernelVersion.parent_ref),
        col(KernelVersion.datasets),
        col(KernelVersion.url),
    ).where(*_visible_kernel())


@cache
def latest_versions(*, collected: bool) -> Select[Any]:
    """Select the highest of each kernel's visible versions; `collected` as in `topics`."""
    later = aliased(KernelVersion)
    superseded = exists().where(
        col(later.competition) == _competition(),
        col(later.ref) == col(KernelVersion.ref),
        col(later.created_at) <= as_of(),
        tuple_(*_by_number(later)) > tuple_(*_by_number(KernelVersion)),
    )
    return kernels(collected=collected).where(~superseded.correlate(KernelVersion))


@cache
def counts() -> Select[*tuple[Any, ...]]:
    """Select how many posts are visible, and how many have no time, by the fields of `CommunityCounts`."""

    def count(name: str, table: PostTable, *conditions: ColumnElement[bool]) -> ColumnElement[int]:
        return select(func.count()).select_from(table).where(*conditions).scalar_subquery().label(name)

    def undated(name: str, table: PostTable, time: SQLCoreOperations[Any]) -> ColumnElement[int]:
        return count(name, table, col(table.competition) == _competition(), time.is_(None))

    return select(
        count("topics", Topic, *_visible_topic()),
        count("messages", PostedMessage, *_visible_message()),
        count("kernels", KernelVersion, *_visible_kernel()),
        undated("undated_topics", Topic, col(Topic.posted_at)),
        undated("undated_messages", PostedMessage, col(PostedMessage.posted_at)),
        undated("undated_kernels", KernelVersion, col(KernelVersion.created_at)),
    )


@cache
def repeats() -> Select[*tuple[Any, ...]]:
    """Select kind, id, original and similarity of the visible posts that repeat an earlier one that is visible too."""

    def visible(id: SQLCoreOperations[Any]) -> ColumnElement[bool]:
        # A message's visibility depends on its topic, a kernel version's on its time alone.
        message = exists().where(col(PostedMessage.id) == id, *_visible_message()).correlate(Likeness)
        return or_(col(Likeness.kind) == "kernel", message)

    return select(col(Likeness.kind), col(Likeness.post_id), col(Likeness.original), col(Likeness.similarity)).where(
        col(Likeness.competition) == _competition(),
        col(Likeness.known_at) <= as_of(),
        col(Likeness.original).is_not(None),
        visible(col(Likeness.post_id)),
        visible(col(Likeness.original)),
    )


def _visible_topic() -> Sequence[ColumnElement[bool]]:
    return (col(Topic.competition) == _competition(), col(Topic.posted_at) <= as_of(), col(Topic.deleted).is_(False))


def _visible_message() -> Sequence[ColumnElement[bool]]:
    # A lookup for each message: SQLite, which knows no table sizes, might start a join with the topics.
    topic = exists().where(col(Topic.id) == col(PostedMessage.topic_id), *_visible_topic())
    return (
        col(PostedMessage.competition) == _competition(),
        _text_known() <= as_of(),
        col(PostedMessage.deleted).is_(False),
        topic.correlate(PostedMessage),
    )


def _visible_kernel() -> Sequence[ColumnElement[bool]]:
    # SQLite's `+` keeps a column from using an index: without statistics SQLite prefers a range of times to a list of
    # ids, and would read every row (https://sqlite.org/optoverview.html#uplus).
    created: ColumnElement[datetime] = literal_column("+kernelversion.created_at", UTCDateTime())
    return (col(KernelVersion.competition) == _competition(), created <= as_of())


def version_order(table: type[KernelVersion]) -> tuple[SQLCoreOperations[Any], ...]:
    """Return the columns by which `state.community.in_order` sorts kernel versions."""
    return (col(table.created_at), func.coalesce(table.version, 0), col(table.id))


def _latest_reading(
    table: type[Topic] | type[PostedMessage] | type[KernelVersion],
    target: Literal["topic", "message", "kernel"],
    field: Literal["votes", "public_score", "tier"],
    *,
    collected: bool,
) -> ColumnElement[Any]:
    """Return a column for a query over `table`: the row's latest reading of a field at or before the time of the view.

    Of two readings at the same time the larger wins, so that the order of insertion never matters; text compares by
    code point. Readings without the field are passed over. Without a reading the column is null or, with `collected`,
    the value from the row's collection. It costs one index lookup for each row, however many readings there are.
    """
    value = col(getattr(Observation, field))
    latest = (
        select(value)
        .where(
            col(Observation.competition) == col(table.competition),
            col(Observation.target) == target,
            col(Observation.target_id) == col(table.id),
            col(Observation.at) <= as_of(),
            value.is_not(None),
        )
        .order_by(col(Observation.at).desc(), value.desc())
        .limit(1)
        .correlate(table)
        .scalar_subquery()
    )
    return (func.coalesce(latest, getattr(table, field)) if collected else latest).label(field)


def _by_number(table: type[KernelVersion]) -> tuple[SQLCoreOperations[Any], ...]:
    """Return the columns by which one version of a kernel supersedes another.

    Not by time: a version that was missed has the time at which it was found, which may be after its successor's.
    """
    created, number, id = version_order(table)
    return (number, created, id)


def _text_known() -> ColumnElement[datetime]:
    """Return the time from which a message's text is known, null if never."""
    posted: SQLCoreOperations[Any] = col(PostedMessage.posted_at)
    return func.max(posted, func.coalesce(PostedMessage.edited_at, posted), type_=UTCDateTime())
