"""Messages: only of topics that moved; edits, deletions, replies, and the message that opens a topic."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.posts.cleaners import CleanText, RawPost
from state.community import CommunityView, Repeat
from state.errors import NotEntered, SiteUnavailable
from state.store import Store
from state.tables import Observation, PolledTopic, PostedMessage
from tests.scrapers.in_process import Here
from tests.scrapers.kaggle.parts import START, answer
from tests.scrapers.kaggle.polling.world import SLUG, World, down, poller_of


def messages(store: Store) -> dict[str, PostedMessage]:
    with store.read() as session:
        return {row.id: row for row in session.exec(select(PostedMessage))}


def votes(store: Store, id: str) -> list[int | None]:
    with store.read() as session:
        query = select(Observation).where(Observation.target == "message", Observation.target_id == id)
        return [row.votes for row in session.exec(query.order_by(Observation.pk))]


def read(world: World) -> list[int]:
    """Return the topics whose messages were asked for since the last time."""
    asked = [body["topicId"] for method, body in world.asked if method == "ListTopicMessages"]
    world.asked.clear()
    return asked


async def poll(poller: Poller) -> dict[str, list[str]]:
    """Poll topics and their messages, and return what is new of messages."""
    await poller.poll(SLUG, "topics")
    news = await poller.poll(SLUG, "messages")
    return {kind: news.ids(kind) for kind in news.ids_by_kind if kind.startswith("message")}


async def test_a_tree_of_replies_is_stored_with_what_each_answers(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    first = world.comment(1, 101, minutes=1, text="why <b>so</b>?", votes=2)
    reply = world.comment(1, 102, minutes=2, to=first, author="bob")
    world.comment(1, 103, minutes=3, to=reply, raw="`because`")
    assert await poll(poller) == {"message new": ["100", "101", "102", "103"]}
    rows = messages(store)
    assert {id: row.parent_id for id, row in rows.items()} == {"100": None, "101": None, "102": "101", "103": "102"}
    assert {id: row.markdown for id, row in rows.items()} == {
        "100": "opening 1",
        "101": "why **so**?",
        "102": "comment 102",
        "103": "`because`",
    }
    assert (rows["102"].author, rows["102"].topic_id, rows["102"].posted_at) == (
        "bob",
        "1",
        START + timedelta(minutes=2),
    )
    assert votes(store, "101") == [2]
    assert [post.id for post in CommunityView(store, SLUG, world.clock.now() + timedelta(hours=1)).messages()] == [
        *("100", "101", "102", "103")
    ]


async def test_only_topics_that_moved_are_read(world: World, store: Store, poller: Poller) -> None:
    for id in (1, 2, 3):
        world.thread(id)
    await poll(poller)
    assert sorted(read(world)) == [1, 2, 3]
    assert await poll(poller) == {}
    assert read(world) == []
    world.comment(2, 201, minutes=5)
    assert await poll(poller) == {"message new": ["201"]}
    assert read(world) == [2]


async def test_an_edit_is_dated_with_when_it_was_seen(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    post = world.comment(1, 101, minutes=1)
    await poll(poller)
    assert messages(store)["101"].edited_at is None
    post.text = "better"
    world.comment(1, 102, minutes=2)
    world.clock.advance(600)
    assert await poll(poller) == {"message new": ["102"], "message edited": ["101"]}
    row = messages(store)["101"]
    assert (row.markdown, row.edited_at, row.posted_at) == ("better", world.clock.now(), START + timedelta(minutes=1))
    then = CommunityView(store, SLUG, world.clock.now() - timedelta(seconds=1))
    assert [post.id for post in then.messages()] == ["100", "102"]


async def test_markdown_that_is_served_only_now_and_then_is_no_edit(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    post = world.comment(1, 101, minutes=1, text="<i>a</i>")
    for turn, raw in enumerate(("", "*a*", "", "*a*")):
        post.raw = raw
        world.comment(1, 200 + turn, minutes=2 + turn)
        assert "message edited" not in await poll(poller)
    post.raw = "*b*"
    world.comment(1, 300, minutes=9)
    assert (await poll(poller))["message edited"] == ["101"]


async def test_an_address_that_is_good_for_a_while_only_is_no_edit(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    post = world.comment(1, 101, minutes=1)
    for turn in range(3):
        post.text = f'see <img src="https://images.example/a.png?signature={turn}" alt="the plot">'
        world.comment(1, 200 + turn, minutes=2 + turn)
        assert "message edited" not in await poll(poller)
    post.text = post.text.replace("see", "look at")
    world.comment(1, 300, minutes=9)
    assert (await poll(poller))["message edited"] == ["101"]


async def test_a_message_that_repeats_another_is_reported_while_both_are_there(world, store, poller) -> None:
    def repeats() -> dict[str, Repeat]:
        return CommunityView(store, SLUG, world.clock.now()).repeats()

    world.thread(1, minutes=1)
    world.thread(2, minutes=2)
    first = world.comment(1, 101, minutes=3, text="Use <b>group</b> folds")
    again = world.comment(2, 201, minutes=4, raw="use group   folds")
    await poll(poller)
    world.clock.advance(3600)
    assert repeats() == {"message/201": Repeat("message/101", 1.0)}
    again.raw = "use time folds"
    world.comment(2, 202, minutes=59, text="use group folds")
    await poll(poller)
    world.clock.advance(60)
    assert repeats() == {"message/202": Repeat("message/101", 1.0)}
    first.deleted = True
    world.comment(1, 102, minutes=60, text="why?")
    await poll(poller)
    assert repeats() == {}


class Unlocked(Here):
    """Reads only while the database may be written to by somebody else."""

    def __init__(self, database: Path) -> None:
        super().__init__()
        self._database = database
        self.read = 0

    async def clean(self, sources: Sequence[RawPost]) -> list[CleanText]:
        with closing(sqlite3.connect(self._database, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        self.read += len(sources)
        return await super().clean(sources)


async def test_texts_are_read_before_the_transaction_and_only_those_that_may_be_new(world: World, store: Store) -> None:
    world.thread(1)
    world.comment(1, 101, minutes=1, text="<p>one</p>")
    world.kernel(7)
    cleaners = Unlocked(store.path)
    async with poller_of(world, store, cleaners=cleaners) as poller:
        await poller.cycle(SLUG, everything=True)
        assert cleaners.read > 0
        cleaners.read = 0
        await poller.cycle(SLUG, everything=True)
        assert cleaners.read == 0


async def test_of_a_deleted_message_only_that_there_was_one_is_kept(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    flagged, taken = world.comment(1, 101, minutes=1), world.comment(1, 102, minutes=2)
    await poll(poller)
    flagged.deleted = True
    world.threads[1].comments.remove(taken)
    assert await poll(poller) == {"message deleted": ["101", "102"]}
    rows = messages(store)
    assert [(row.deleted, row.markdown, row.author) for row in (rows["101"], rows["102"])] == [(True, "", None)] * 2
    assert [post.id for post in CommunityView(store, SLUG, world.clock.now()).messages()] == ["100"]
    world.threads[1].comments.append(taken)
    assert await poll(poller) == {"message back": ["102"]}
    assert messages(store)["102"].markdown == "comment 102"


async def test_no_messages_at_all_where_there_were_some_is_no_answer(world, store, poller) -> None:
    world.thread(1)
    world.comment(1, 101, minutes=1)
    await poll(poller)
    world.comment(1, 102, minutes=2)
    world.bad["ListTopicMessages"] = [answer({})]
    assert await poll(poller) == {}
    assert not any(row.deleted for row in messages(store).values())
    world.clock.advance(3600)
    assert await poll(poller) == {"message new": ["102"]}


async def test_the_opening_message_is_found_where_it_does_not_come_first(world, store, poller) -> None:
    world.thread(1)
    world.comment(1, 99, minutes=1)
    shown = World._ListTopicMessages

    def reversed_order(body: dict[str, object]) -> object:
        found = shown(world, body)
        assert isinstance(found, dict)
        return {"messages": list(reversed(found["messages"]))}

    world._ListTopicMessages = reversed_order  # type: ignore[assignment,method-assign]
    await poll(poller)
    with store.read() as session:
        assert session.get_one(PolledTopic, (SLUG, "1")).opening_id == "100"
    assert set(messages(store)) == {"99", "100"}


async def test_an_opening_message_that_is_left_out_is_asked_for_and_its_edits_are_seen(world, store, poller) -> None:
    world.opening_included = False
    world.thread(1, text="hello")
    world.comment(1, 101, minutes=1)
    assert await poll(poller) == {"message new": ["topic-1", "101"]}
    opening = messages(store)["topic-1"]
    assert (opening.markdown, opening.author, opening.posted_at) == ("hello", "ann", START)
    world.threads[1].opening.text = "hello, all"
    world.comment(1, 102, minutes=2)
    assert await poll(poller) == {"message edited": ["topic-1"], "message new": ["102"]}


async def test_an_opening_message_that_the_site_begins_to_leave_out_is_not_taken_for_deleted(world, store, poller):
    world.thread(1, text="hello")
    await poll(poller)
    assert [method for method in world.methods() if method == "GetTopic"] == ["GetTopic"]
    world.opening_included = False
    world.comment(1, 101, minutes=1)
    assert await poll(poller) == {"message new": ["101"]}
    assert not messages(store)["100"].deleted
    world.opening_included = True
    world.comment(1, 102, minutes=2)
    world.asked.clear()
    assert await poll(poller) == {"message new": ["102"]}
    world.comment(1, 103, minutes=3)
    world.asked.clear()
    await poll(poller)
    assert "GetTopic" not in world.methods()


async def test_a_topic_that_cannot_be_read_keeps_no_other_from_being_read(world, store, poller) -> None:
    for id in (1, 2, 3):
        world.thread(id, minutes=id)
    await poller.poll(SLUG, "topics")
    del world.threads[2]
    assert (await poller.poll(SLUG, "messages")).ids("message new") == ["300", "100"]
    read(world)
    await poller.poll(SLUG, "messages")
    assert read(world) == []
    world.clock.advance(3600)
    await poller.poll(SLUG, "messages")
    assert read(world) == [2]


async def test_trouble_of_the_whole_site_ends_the_poll_and_the_rest_is_read_next_time(world, store, poller) -> None:
    for id in (1, 2, 3):
        world.thread(id, minutes=id)
    await poller.poll(SLUG, "topics")
    denied = answer({"code": 403, "message": "Permission 'competitions.get' was denied"}, 403)
    for bad, error in ((down, SiteUnavailable), (denied, NotEntered)):
        world.bad["ListTopicMessages"] = [bad]
        with pytest.raises(error):
            await poller.poll(SLUG, "messages")
        world.clock.advance(1)
    read(world)
    assert (await poller.poll(SLUG, "messages")).ids("message new") == ["300", "200", "100"]
    assert read(world) == [3, 2, 1]


async def test_what_comes_while_messages_are_read_makes_the_topic_due_again(world, store, poller) -> None:
    world.thread(1)
    await poller.poll(SLUG, "topics")

    def comment_between(method: str, body: object) -> None:
        if method == "GetTopic":
            world.before = lambda method, body: None
            world.comment(1, 101, minutes=5)

    world.before = comment_between
    assert (await poller.poll(SLUG, "messages")).ids("message new") == ["100"]
    assert await poll(poller) == {"message new": ["101"]}


@pytest.mark.integration
async def test_topics_that_do_not_move_are_read_again_the_rarer_the_older_they_are(world: World, store: Store) -> None:
    settings = PollingSettings(max_rereads_per_cycle=1)
    world.thread(1, minutes=-40 * 1440)
    world.thread(2, minutes=0)
    async with poller_of(world, store, settings) as poller:
        await poll(poller)
        read(world)
        again: dict[int, list[int]] = {1: [], 2: []}
        for hour in range(4, 15 * 24, 4):
            world.clock.advance(4 * 3600)
            await poller.poll(SLUG, "rereads")
            for id in read(world):
                again[id].append(hour)
    assert again[1] == [240]
    assert again[2][:4] == [24, 48, 72, 96]
    assert len(again[2]) < 15


async def test_a_rereading_finds_votes_and_edits(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    post = world.comment(1, 101, minutes=1)
    await poll(poller)
    post.votes, post.text = 7, "better"
    world.clock.advance(2 * 86_400)
    news = await poller.poll(SLUG, "rereads")
    assert (news.ids("votes"), news.ids("message edited")) == (["message/101"], ["101"])
    assert votes(store, "101") == [0, 7]
    assert not (await poller.poll(SLUG, "rereads")).ids_by_kind
