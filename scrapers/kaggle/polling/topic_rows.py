"""Storing topics as lists show them: what is new, changed or restored."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from sqlmodel import col, select

from scrapers.kaggle.forum import ForumTopic
from scrapers.kaggle.polling.authors import known_tiers
from scrapers.kaggle.polling.watch import Watch
from scrapers.posts.cleaning import clean
from state.community_rows import observe
from state.store import Transaction
from state.tables import PolledTopic, Topic

RowT = TypeVar("RowT", Topic, PolledTopic)


def store_topics(tx: Transaction, watch: Watch, topics: Sequence[ForumTopic], served_at: datetime | None) -> set[str]:
    """Store a page of topics; return the ids of those that have changed."""
    here, ids = watch.competition, [str(topic.id) for topic in topics]
    rows = {row.id: row for row in _of(tx, Topic, here, ids)}
    polled = {row.id: row for row in _of(tx, PolledTopic, here, ids)}
    tiers = known_tiers(tx.session, {clean(topic.author_name) for topic in topics if str(topic.id) not in rows})
    changed: set[str] = set()
    for topic in topics:
        id = str(topic.id)
        row = rows.get(id)
        if row is None:
            row = rows[id] = Topic(competition=here, id=id, posted_at=topic.post_date, first_seen_at=tx.now())
            tx.add(row)
            watch.news.add("topic new", id)
            observe(tx, row, served_at, tier=tiers.get(clean(topic.author_name)))
            changed.add(id)
        if _bring_up_to_date(watch, row, topic):
            changed.add(id)
        if observe(tx, row, served_at, votes=topic.votes):
            watch.news.add("votes", f"topic/{id}")
            changed.add(id)
        if id not in polled:
            polled[id] = PolledTopic(competition=here, id=id)
            tx.add(polled[id])
        if _moved(polled[id], topic):
            watch.news.add("topic moved", id)
            changed.add(id)
    tx.session.flush()
    return changed


def mark_gone(tx: Transaction, watch: Watch, id: str) -> None:
    """Record that a topic and its messages are gone."""
    row = tx.session.get(Topic, (watch.competition, id))
    if row is not None and not row.deleted:
        row.deleted = True
        watch.news.add("topic gone", id)


def _of(tx: Transaction, table: type[RowT], competition: str, ids: Iterable[str]) -> Iterable[RowT]:
    return tx.session.exec(select(table).where(table.competition == competition, col(table.id).in_(ids)))


def _bring_up_to_date(watch: Watch, row: Topic, topic: ForumTopic) -> bool:
    """Take over what differs; return whether anything does."""
    values = {
        "title": clean(topic.title),
        "author": clean(topic.author_name) or None,
        "posted_at": topic.post_date or row.posted_at,
        "url": topic.topic_url or None,
        "sticky": topic.is_sticky,
        "deleted": False,
    }
    news = {name: value for name, value in values.items() if getattr(row, name) != value}
    if row.deleted:
        watch.news.add("topic back", row.id)
    elif news.keys() & {"title", "sticky"} and row.title:
        watch.news.add("topic changed", row.id)
    for name, value in news.items():
        setattr(row, name, value)
    return bool(news)


def _moved(polled: PolledTopic, topic: ForumTopic) -> bool:
    """Take over the fields that show new messages; return whether they differ."""
    key = (topic.last_comment_post_date, topic.comment_count)
    if key == (polled.last_comment_at, polled.comment_count):
        return False
    polled.last_comment_at, polled.comment_count = key
    return True
