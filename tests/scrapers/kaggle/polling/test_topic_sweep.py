"""The sweep: votes of old topics, and topics that are gone."""

import pytest

from scrapers.kaggle.polling.poller import Poller
from state.community import CommunityView
from state.errors import SiteUnavailable
from state.store import Store
from tests.scrapers.kaggle.polling.test_topics import topics, votes
from tests.scrapers.kaggle.polling.world import SLUG, World, down


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
