"""Polling of topics: the latest comments first, back to those that an earlier poll has seen; and slow sweeps of all."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from scrapers.kaggle.forum import Forum, ForumTopic
from scrapers.kaggle.polling.authors import known_tiers
from scrapers.kaggle.polling.passes import ListMark, Pass, ScanLimits, ScannedItem, is_descending, next_pass
from scrapers.kaggle.polling.watch import PollContext
from scrapers.posts.cleaning import clean
from state.community_rows import observe
from state.errors import Forbidden, NotFound
from state.store import Transaction
from state.tables import PolledTopic, Topic


def store_topics(
    tx: Transaction, watch: PollContext, topics: Sequence[ForumTopic], served_at: datetime | None
) -> set[str]:
    """Store a page of topics; return the ids of those that have changed."""
    slug, ids = watch.competition, [str(topic.id) for topic in topics]
    rows, polled_rows = watch.rows(tx.session, Topic, ids), watch.rows(tx.session, PolledTopic, ids)
    tiers = known_tiers(tx.session, {clean(topic.author_name) for topic in topics if str(topic.id) not in rows})
    changed: set[str] = set()
    for topic in topics:
        id = str(topic.id)
        row = rows.get(id)
        if row is None:
            row = rows[id] = Topic(competition=slug, id=id, posted_at=topic.post_date, first_seen_at=tx.now())
            tx.add(row)
            watch.news.add("topic new", id)
            observe(tx, row, served_at, tier=tiers.get(clean(topic.author_name)))
            changed.add(id)
        if _bring_up_to_date(watch, row, topic):
            changed.add(id)
        if observe(tx, row, served_at, votes=topic.votes):
            watch.news.add("votes", f"topic/{id}")
            changed.add(id)
        if id not in polled_rows:
            polled_rows[id] = PolledTopic(competition=slug, id=id)
            tx.add(polled_rows[id])
        if _has_moved(polled_rows[id], topic):
            watch.news.add("topic moved", id)
            changed.add(id)
    tx.session.flush()
    return changed


def _bring_up_to_date(watch: PollContext, row: Topic, topic: ForumTopic) -> bool:
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


def topics_at_site(competition: str) -> SelectOfScalar[PolledTopic]:
    """Return the query of the topics that are not gone."""
    same_topic = (col(Topic.competition) == col(PolledTopic.competition)) & (col(Topic.id) == col(PolledTopic.id))
    query = select(PolledTopic).join(Topic, same_topic)
    return query.where(PolledTopic.competition == competition, col(Topic.deleted).is_(False))


def _has_moved(row: PolledTopic, topic: ForumTopic) -> bool:
    """Take over the fields that show new messages; return whether they differ."""
    key = (topic.last_comment_post_date, topic.comment_count)
    if key == (row.last_comment_at, row.comment_count):
        return False
    row.last_comment_at, row.comment_count = key
    return True


async def poll_topics(watch: PollContext) -> None:
    """Read topics until one that is not sticky is older than the watermark; the first time, read all.

    What lists do not show, such as votes of old topics, is left to the sweep. Errors as of `KaggleClient`; what was read
    before one stays, and the next poll continues there.
    """
    forum, mark, is_over = Forum(watch.client), watch.mark("topics", ListMark), False
    first = mark.high is None
    while not is_over:
        current = (mark.current or Pass()).resumed(watch.now())
        answer = await forum.topics(watch.competition, current.page, "RECENT")
        with watch.write() as tx:
            changed = store_topics(tx, watch, answer.topics, answer.served_at)
            items = scanned_items(answer.topics, changed, by_posting=False)
            # If the times are not descending, a low one proves nothing: a page without news is the last.
            is_ordered = is_descending(items)
            limits = ScanLimits(mark.high if is_ordered else None, watch.settings.overlap, watch.settings.max_pages)
            current = next_pass(current, items, limits, watch.now(), total=answer.total_count)
            is_over = current.listed or not (is_ordered or first or changed)
            high = (current.high or mark.high) if is_over else mark.high
            mark = ListMark(high=high, current=None if is_over else current)
            watch.move(tx, "topics", mark, answer.served_at, ended=is_over)
            if is_over and first and 0 < current.total <= len(current.seen):
                # A pass over all topics is a sweep.
                watch.move(tx, "topic_sweep", None, answer.served_at)


def scanned_items(topics: tuple[ForumTopic, ...], changed: set[str], *, by_posting: bool) -> list[ScannedItem]:
    """Return topics as items of a pass, with the time by which the list is ordered."""

    def time_of(topic: ForumTopic) -> datetime | None:
        return topic.post_date if by_posting else topic.last_comment_post_date or topic.post_date

    return [ScannedItem(str(topic.id), time_of(topic), topic.is_sticky, str(topic.id) in changed) for topic in topics]


async def sweep_topics(watch: PollContext) -> None:
    """Read all topics, and check whether known ones that were not listed are gone.

    Errors as of `KaggleClient`; after one the next poll continues there.
    """
    forum = Forum(watch.client)
    mark = watch.mark("topic_sweep", ListMark)
    while mark.current is None or not mark.current.listed:
        current = (mark.current or Pass()).resumed(watch.now())
        # Ordered by posting: comments do not change a topic's place.
        answer = await forum.topics(watch.competition, current.page, "NEW")
        with watch.write() as tx:
            store_topics(tx, watch, answer.topics, answer.served_at)
            items = scanned_items(answer.topics, set(), by_posting=True)
            limits = ScanLimits(None, 0.0, watch.settings.max_pages)
            mark = ListMark(current=next_pass(current, items, limits, watch.now(), total=answer.total_count))
            watch.move(tx, "topic_sweep", mark, answer.served_at, ended=False)
    await _ask_for_missed(watch, forum, mark.current)


async def _ask_for_missed(watch: PollContext, forum: Forum, current: Pass) -> None:
    """Request each topic that the sweep should have seen: it may have changed its place while the list was read."""
    query = topics_at_site(watch.competition).order_by(PolledTopic.id)
    with watch.store.read() as session:
        missed = [topic.id for topic in session.exec(query) if topic.id not in set(current.seen)]
    for id in missed[: watch.settings.max_lookups_per_cycle]:
        try:
            answer = await forum.topic(int(id))
        except (NotFound, Forbidden):
            answer = None
        current = current.model_copy(update={"seen": (*current.seen, id)})
        with watch.write() as tx:
            row = tx.session.get(Topic, (watch.competition, id))
            is_gone = answer is None or not answer.id
            if is_gone and row is not None and not row.deleted:
                row.deleted = True
                watch.news.add("topic gone", id)
            watch.move(tx, "topic_sweep", ListMark(current=current), None, ended=False)
    with watch.write() as tx:
        watch.move(tx, "topic_sweep", None, None)
