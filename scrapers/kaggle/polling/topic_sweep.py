"""The slow sweep over all topics: votes of old ones, comments that no order told of, and topics that are gone."""

from typing import Literal

from sqlmodel import col, select

from scrapers.kaggle.forum import Forum, TopicPage
from scrapers.kaggle.polling.passes import Limits, Pass, after
from scrapers.kaggle.polling.topic_rows import mark_gone, store_topics
from scrapers.kaggle.polling.topics import listed
from scrapers.kaggle.polling.watch import Mark, Watch
from state.errors import NotEntered, NotFound
from state.polled import PolledTopic, watermark
from state.tables import Topic

__all__ = ["SweepMark", "sweep_topics"]

_Order = Literal["NEW", "TOP", "ACTIVE", "HOT"]
_ORDERS: tuple[_Order, ...] = ("NEW", "TOP", "ACTIVE", "HOT")


class SweepMark(Mark):
    """How far a sweep is."""

    order: _Order = "NEW"
    """By posting: comments do not move topics within it."""
    under_way: Pass | None = None
    missing: int = 0
    """By how many topics the last sweep fell short of the site's own total."""


async def sweep_topics(watch: Watch) -> None:
    """Read all topics, and ask for those that are known and were not among them, whether they are gone.

    Where the list falls short of the total that comes with it, the first sweep reads it in other orders too. Errors as
    of `KaggleClient`; the next poll goes on from where one came.
    """
    forum = Forum(watch.client)
    with watch.store.read() as session:
        first = watermark(session, watch.competition, "topic_sweep").at is None
    mark = watch.mark("topic_sweep", SweepMark)
    while mark.under_way is None or not mark.under_way.listed:
        under_way = (mark.under_way or Pass()).resumed(watch.now())
        answer = await forum.topics(watch.competition, under_way.page, mark.order)
        with watch.write() as tx:
            store_topics(tx, watch, answer.topics, answer.served_at)
            mark = _after(mark, under_way, answer, watch, every_order=first)
            watch.move(tx, "topic_sweep", mark, answer.served_at, ended=False)
    await _ask_for_missed(watch, forum, mark, mark.under_way)


def _after(mark: SweepMark, under_way: Pass, answer: TopicPage, watch: Watch, *, every_order: bool) -> SweepMark:
    items = listed(answer.topics, set(), by_posting=True)
    limits = Limits(None, 0.0, watch.settings.most_pages)
    under_way = after(under_way, items, limits, watch.now(), total=answer.total_count)
    missing = max(0, under_way.total - len(under_way.seen))
    place = _ORDERS.index(mark.order) + 1
    if under_way.listed and missing and every_order and place < len(_ORDERS):
        # Almost all of another order was seen in this one: no page is the last for want of something new.
        under_way = Pass(seen=under_way.seen, total=under_way.total, again=watch.settings.most_pages, at=under_way.at)
        return SweepMark(order=_ORDERS[place], under_way=under_way, missing=missing)
    return SweepMark(order=mark.order, under_way=under_way, missing=missing)


async def _ask_for_missed(watch: Watch, forum: Forum, mark: SweepMark, under_way: Pass) -> None:
    """Ask for each topic that the sweep should have seen: it may have moved while the list was read."""
    for id in _missed(watch, set(under_way.seen))[: watch.settings.verified_at_once]:
        try:
            there = await forum.topic(int(id))
        except (NotFound, NotEntered):
            there = None
        under_way = under_way.model_copy(update={"seen": (*under_way.seen, id)})
        with watch.write() as tx:
            if there is None or not there.id:
                mark_gone(tx, watch, id)
            watch.move(tx, "topic_sweep", mark.model_copy(update={"under_way": under_way}), None, ended=False)
    with watch.write() as tx:
        watch.move(tx, "topic_sweep", SweepMark(missing=mark.missing), None)


def _missed(watch: Watch, seen: set[str]) -> list[str]:
    here = watch.competition
    query = (
        select(PolledTopic.id)
        .join(Topic, (col(Topic.competition) == col(PolledTopic.competition)) & (col(Topic.id) == col(PolledTopic.id)))
        .where(PolledTopic.competition == here, col(Topic.deleted).is_(False))
        .order_by(PolledTopic.id)
    )
    with watch.store.read() as session:
        return [id for id in session.exec(query) if id not in seen]
