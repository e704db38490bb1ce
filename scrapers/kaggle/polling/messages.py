"""Polling of messages: of topics that changed, and from time to time of the others."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import Session, col, or_, select

from scrapers.kaggle.forum import Forum, TopicText
from scrapers.kaggle.polling.message_rows import (
    TopicMessage,
    message_texts,
    messages_in,
    opening_message,
    opening_of,
    store_messages,
)
from scrapers.kaggle.polling.schedule import ready, record_failure
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.topics import topics_at_site
from scrapers.kaggle.polling.watch import PollContext
from state.errors import Forbidden, KaggleError, NotAuthenticated, NotFound, UnknownAnswer
from state.tables import PolledTopic, PostedMessage


async def poll_messages(watch: PollContext) -> None:
    """Read the messages of the topics that changed since they were last read, the latest comments first.

    A topic that cannot be read does not stop the others. Errors of the whole site as of `KaggleClient`.
    """
    with watch.store.read() as session:
        topics = topics_to_read(session, watch.competition)
    due = ready(topics, watch.now(), watch.settings)
    await _read(watch, due if watch.all_since else due[: watch.settings.max_topics_per_cycle])
    with watch.write() as tx:
        watch.move(tx, "messages", None, None)


async def reread_messages(watch: PollContext) -> None:
    """Reread a few unchanged topics, for their votes and edits: the older a topic's last comment, the less often."""
    settings, now = watch.settings, watch.now()
    query = topics_at_site(watch.competition).where(col(PolledTopic.read_at).is_not(None))
    with watch.store.read() as session:
        topics = ready(session.exec(query), now, settings)
    if watch.all_since is not None:
        due = [topic for topic in topics if topic.read_at and topic.read_at < watch.all_since]
    else:
        overdue = sorted(topics, key=lambda topic: _due_again(topic, settings, now))
        due = [topic for topic in overdue if _due_again(topic, settings, now) <= now][: settings.max_rereads_per_cycle]
    await _read(watch, due)
    with watch.write() as tx:
        watch.move(tx, "rereads", None, None)


def topics_to_read(session: Session, competition: str) -> Sequence[PolledTopic]:
    """Return the topics that changed since their messages were read, the latest comments first."""
    is_moved = or_(
        col(PolledTopic.read_at).is_(None),
        col(PolledTopic.last_comment_at).is_distinct_from(col(PolledTopic.read_last_comment_at)),
        col(PolledTopic.comment_count).is_distinct_from(col(PolledTopic.read_comment_count)),
    )
    return session.exec(
        topics_at_site(competition).where(is_moved).order_by(col(PolledTopic.last_comment_at).desc())
    ).all()


def _due_again(topic: PolledTopic, settings: PollingSettings, now: datetime) -> datetime:
    """Return when a topic is to be read again: after a quarter of the time for which it has been silent."""
    read = topic.read_at or now
    silent = (read - (topic.last_comment_at or read)).total_seconds()
    return read + timedelta(seconds=min(max(silent / 4, settings.min_reread_interval), settings.max_reread_interval))


async def _read(watch: PollContext, topics: Sequence[PolledTopic]) -> None:
    for topic in topics:
        try:
            await _read_one(watch, topic)
        except (NotAuthenticated, Forbidden):
            raise
        except KaggleError:
            # If it is gone, the sweep will notice.
            with watch.write() as tx:
                record_failure(tx.session.get_one(PolledTopic, (topic.competition, topic.id)), tx.now())


async def _read_one(watch: PollContext, topic: PolledTopic) -> None:
    forum = Forum(watch.client)
    answer = await forum.messages(watch.competition, int(topic.id))
    messages = messages_in(answer)
    if not messages and topic.comment_count and _has_messages(watch, topic):
        raise UnknownAnswer(f"Kaggle lists {topic.comment_count} comments on topic {topic.id} but returns none")
    opening, is_apart = topic.opening_id, topic.opening_apart
    if opening is None or is_apart or opening not in {message.id for message in messages}:
        try:
            text = await forum.topic(int(topic.id))
        except (NotFound, Forbidden):
            text = None
        opening, is_apart, messages = await _with_opening(watch, opening, text, messages)
    texts = await message_texts(watch, messages)
    with watch.write() as tx:
        store_messages(tx, watch, topic.id, messages, texts, answer.served_at)
        # Read up to the state that lists showed before the request.
        row = tx.session.get_one(PolledTopic, (watch.competition, topic.id))
        row.read_last_comment_at, row.read_comment_count = topic.last_comment_at, topic.comment_count
        row.read_at, row.tried_at, row.failures = tx.now(), None, 0
        row.opening_id, row.opening_apart = opening, is_apart


async def _with_opening(
    watch: PollContext, opening_id: str | None, topic: TopicText | None, messages: list[TopicMessage]
) -> tuple[str | None, bool, list[TopicMessage]]:
    """Return the opening message's id, whether the site serves it separately, and all messages including it."""
    if topic is None:
        return opening_id, False, messages
    found_id = await opening_of(topic, messages, watch.cleaners)
    if found_id is not None or not topic.content:
        return found_id, False, messages
    opening = opening_message(topic, opening_id)
    return opening.id, True, [opening, *messages]


def _has_messages(watch: PollContext, topic: PolledTopic) -> bool:
    query = select(PostedMessage.id).where(
        PostedMessage.competition == topic.competition,
        PostedMessage.topic_id == topic.id,
        col(PostedMessage.deleted).is_(False),
    )
    with watch.store.read() as session:
        return session.exec(query.limit(1)).first() is not None
