"""Topics: how far down the list is read, and the sweep for votes of old ones and those that are gone."""

from datetime import timedelta

import pytest
from sqlmodel import select

from scrapers.kaggle.polling.poller import Poller
from state.community import CommunityView
from state.errors import SiteUnavailable
from state.polling import watermark
from state.store import Store
from state.tables import Observation, Topic
from tests.scrapers.kaggle.parts import START
from tests.scrapers.kaggle.polling.world import SLUG, World, down


def topics(store: Store) -> dict[str, Topic]:
    with store.read() as session:
        return {row.id: row for row in session.exec(select(Topic))}


def votes(store: Store, id: str) -> list[int | None]:
    with store.read() as session:
        query = select(Observation).where(Observation.target == "topic", Observation.target_id == id)
        return [row.votes for row in session.exec(query.order_by(Observation.pk))]


def pages(world: World) -> list[tuple[str, int]]:
    asked = [
        (body["sortBy"].rsplit("_", 1)[-1], body["page"]) for m, body in world.asked if m == "ListCompetitionTopics"
    ]
    world.asked.clear()
    return asked


async def test_the_first_poll_reads_all_pages_and_the_next_one_only_the_first(world, store, poller) -> None:
    for id in range(1, 51):
        world.thread(id, minutes=id)
    news = await poller.poll(SLUG, "topics")
    assert pages(world) == [("RECENT", 1), ("RECENT", 2), ("RECENT", 3)]
    assert len(news.ids("topic new")) == len(topics(store)) == 50
    first = topics(store)["1"]
    assert (first.title, first.author, first.posted_at) == ("Topic 1", "ann", START + timedelta(minutes=1))
    assert first.first_seen_at == world.clock.now()
    assert not (await poller.poll(SLUG, "topics")).ids_by_kind
    assert pages(world) == [("RECENT", 1)]


async def test_pages_are_read_until_a_topic_that_is_not_sticky_is_older_than_the_watermark(world, store, poller):
    for id in range(1, 91):
        world.thread(id, minutes=id, sticky=id == 1)
    await poller.poll(SLUG, "topics")
    pages(world)
    for id in range(20, 45):
        world.comment(id, 1000 + id, minutes=200 + id)
    news = await poller.poll(SLUG, "topics")
    assert pages(world) == [("RECENT", 1), ("RECENT", 2)]
    assert set(news.ids("topic moved")) == {str(id) for id in range(20, 45)}


async def test_an_error_between_two_pages_loses_nothing_and_repeats_nothing(world, store, poller) -> None:
    for id in range(1, 71):
        world.thread(id, minutes=id)
    asked = 0

    def break_down(method: str, body: object) -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            world.bad["ListCompetitionTopics"] = [down]

    world.before = break_down
    with pytest.raises(SiteUnavailable):
        await poller.poll(SLUG, "topics")
    assert len(topics(store)) == 40
    with store.read() as session:
        assert watermark(session, SLUG, "topics").at is None
    world.asked.clear()
    world.clock.advance(1)
    await poller.poll(SLUG, "topics")
    assert pages(world) == [("RECENT", 3), ("RECENT", 4)]
    assert len(topics(store)) == 70


async def test_what_comes_while_the_list_is_read_is_seen_next_time(world: World, store: Store, poller: Poller) -> None:
    for id in range(1, 41):
        world.thread(id, minutes=id)

    def comment_between(method: str, body: dict[str, object]) -> None:
        if body.get("page") == 2:
            world.before = lambda method, body: None
            world.comment(5, 1005, minutes=500)
            world.thread(41, minutes=501)

    world.before = comment_between
    await poller.poll(SLUG, "topics")
    assert set(topics(store)) == {str(id) for id in range(1, 41)} - {"5"}
    assert (await poller.poll(SLUG, "topics")).ids("topic new") == ["41", "5"]


async def test_a_topic_that_another_one_hid_by_going_while_the_list_was_read_is_found_by_the_sweep(
    world: World, store: Store, poller: Poller
) -> None:
    for id in range(1, 61):
        world.thread(id, minutes=id)

    def take_away(method: str, body: dict[str, object]) -> None:
        if body.get("page") == 2 and 60 in world.threads:
            del world.threads[60]

    world.before = take_away
    await poller.poll(SLUG, "topics")
    await poller.poll(SLUG, "topic_sweep")
    assert set(topics(store)) == {str(id) for id in range(1, 61)}


@pytest.mark.integration
async def test_where_the_order_does_not_hold_pages_are_read_until_one_has_no_news(world, store, poller) -> None:
    for id in range(1, 51):
        world.thread(id, minutes=id)
    world.ordered = False
    await poller.cycle(SLUG)
    assert len(topics(store)) == 50
    pages(world)
    await poller.poll(SLUG, "topics")
    assert pages(world) == [("RECENT", 1)]
    world.comment(3, 1003, minutes=100)
    world.clock.advance(86_400)
    assert {"1003"} <= set((await poller.cycle(SLUG)).news.ids("message new"))


async def test_an_unchanged_topic_costs_no_row_and_a_vote_one(world: World, store: Store, poller: Poller) -> None:
    world.thread(1, votes=3)
    for _ in range(2):
        await poller.poll(SLUG, "topics")
    assert votes(store, "1") == [3]
    world.threads[1].votes = 5
    world.clock.advance(60)
    news = await poller.poll(SLUG, "topics")
    assert (votes(store, "1"), news.ids("votes")) == ([3, 5], ["topic/1"])
    seen = [CommunityView(store, SLUG, world.clock.now() - timedelta(seconds=back)).topics() for back in (1, 0)]
    assert [found[0].votes for found in seen] == [3, 5]


async def test_a_new_title_and_a_pin_are_taken_over(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    await poller.poll(SLUG, "topics")
    world.threads[1].title, world.threads[1].sticky = "Welcome", True
    assert (await poller.poll(SLUG, "topics")).ids("topic changed") == ["1"]
    assert (topics(store)["1"].title, topics(store)["1"].sticky) == ("Welcome", True)


async def test_votes_of_old_topics_are_found(world: World, store: Store, poller: Poller) -> None:
    for id in range(1, 61):
        world.thread(id, minutes=id)
    await poller.poll(SLUG, "topics")
    world.threads[1].votes = 9
    await poller.poll(SLUG, "topics")
    assert votes(store, "1") == [0]
    await poller.poll(SLUG, "topic_sweep")
    assert votes(store, "1") == [0, 9]


async def test_a_topic_that_is_gone_is_asked_for_and_then_no_more_seen(world, store, poller) -> None:
    for id in (1, 2):
        world.thread(id)
    await poller.cycle(SLUG)
    del world.threads[2]
    world.asked.clear()
    news = await poller.poll(SLUG, "topic_sweep")
    assert news.ids("topic gone") == ["2"]
    assert world.methods() == ["ListCompetitionTopics", "GetTopic"]
    seen = CommunityView(store, SLUG, world.clock.now())
    assert [post.id for post in (*seen.topics(), *seen.messages())] == ["1", "100"]
    assert (await poller.poll(SLUG, "topic_sweep")).ids("topic gone") == []
    assert world.methods() == ["ListCompetitionTopics"]


async def test_a_topic_that_is_listed_again_is_back(world: World, store: Store, poller: Poller) -> None:
    thread = world.thread(1)
    world.thread(2)
    await poller.cycle(SLUG)
    del world.threads[1]
    await poller.poll(SLUG, "topic_sweep")
    assert topics(store)["1"].deleted
    world.threads[1] = thread
    assert (await poller.poll(SLUG, "topics")).ids("topic back") == ["1"]
    assert [post.id for post in CommunityView(store, SLUG, world.clock.now()).messages()] == ["100", "200"]


async def test_a_topic_that_the_list_left_out_is_not_taken_for_gone(world: World, store: Store, poller: Poller) -> None:
    for id in range(1, 31):
        world.thread(id, minutes=id)
    await poller.poll(SLUG, "topics")
    hidden = world.threads[7]

    def leave_out(method: str, body: dict[str, object]) -> None:
        world.threads.pop(7, None)
        if method == "GetTopic":
            world.threads[7] = hidden

    world.before = leave_out
    assert not (await poller.poll(SLUG, "topic_sweep")).ids("topic gone")
    assert not topics(store)["7"].deleted


async def test_a_sweep_goes_on_where_it_broke_off(world: World, store: Store, poller: Poller) -> None:
    for id in range(1, 51):
        world.thread(id, minutes=id)
    await poller.poll(SLUG, "topics")
    for id in (10, 20):
        del world.threads[id]
    broken: set[object] = set()

    def break_down(method: str, body: dict[str, object]) -> None:
        at = body.get("page", body.get("id"))
        if at in (2, 20) and at not in broken:
            broken.add(at)
            world.bad[method] = [down]

    world.before = break_down
    world.asked.clear()
    for _ in range(2):
        with pytest.raises(SiteUnavailable):
            await poller.poll(SLUG, "topic_sweep")
        world.clock.advance(1)
    await poller.poll(SLUG, "topic_sweep")
    assert [body.get("page", body.get("id")) for _, body in world.asked] == [1, 2, 2, 3, 10, 20, 20]
    assert [topics(store)[id].deleted for id in ("10", "20", "30")] == [True, True, False]
