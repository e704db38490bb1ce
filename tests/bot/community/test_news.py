"""What has been posted since: read once, made into ideas once, and told apart from what a round has read meanwhile."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.community.news import NewsLook, looks, take_in_news
from bot.community.reading.batches import read_batch, read_news
from bot.engine.context import RunContext
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.clock import StreamClock
from state.knowledge import ideas
from tests.bot.engine.parts import RUN, opened_on
from tests.bot.replay.reader import Reader
from tests.bot.replay.stream_parts import write_streamed


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return Snapshot.load(write_streamed(tmp_path_factory.mktemp("news") / "tiny-table"), METRIC_DIRECTIONS)


@asynccontextmanager
async def reading(snapshot: Snapshot, folder: Path) -> AsyncIterator[tuple[RunContext, StreamClock, Reader]]:
    clock, model = StreamClock(snapshot.card.enabled_at, snapshot.card.deadline), Reader()
    async with opened_on(snapshot, folder, 10, clock, model) as context:
        yield context, clock, model


def sources(context: RunContext) -> list[str]:
    return [idea.sources[0] for idea in ideas(context.store, RUN, context.clock.as_of())]


async def test_new_posts_are_read_once_and_only_a_strong_one_is_worth_another_round(snapshot, tmp_path) -> None:
    async with reading(snapshot, tmp_path) as (context, clock, model):
        clock.move(clock.at(0.2))
        assert await take_in_news(context) == NewsLook((), False), "before anything was read nothing is news"
        assert model.calls == 0
        assert sorted(await read_batch(context, 1)) == ["kernel/21", "topic/1"]
        assert await take_in_news(context) == NewsLook((), False)
        clock.move(clock.at(0.8))
        assert await take_in_news(context) == NewsLook(("topic/15",), True)
        assert "topic/15" in sources(context)
        calls = model.calls
        assert (await take_in_news(context)).posts == ()
        assert model.calls == calls, "nobody is asked twice"


async def test_what_a_batch_has_read_is_no_news(snapshot: Snapshot, tmp_path: Path) -> None:
    async with reading(snapshot, tmp_path) as (context, clock, _):
        clock.move(clock.at(0.8))
        assert "topic/15" in await read_batch(context, 1)
        assert await take_in_news(context) == NewsLook((), False)


async def test_a_numbered_look_finds_again_what_it_found_before_a_kill(snapshot: Snapshot, tmp_path: Path) -> None:
    async with reading(snapshot, tmp_path) as (context, clock, model):
        clock.move(clock.at(0.2))
        await read_batch(context, 1)
        clock.move(clock.at(0.8))
        await read_news(context, 3)  # the bot was killed after this
        found = await take_in_news(context, 3)
        assert found == NewsLook(("topic/15",), True)
        assert looks(context) == {3: found}
        calls = model.calls
        assert await take_in_news(context, 3) == found
        assert model.calls == calls


async def test_what_was_posted_twice_is_read_once(tmp_path: Path) -> None:
    folder = write_streamed(tmp_path / "tiny-table")
    posts, topics = folder / "community/messages.jsonl", folder / "community/topics.jsonl"
    at = {"id": 99, "posted_at": "2020-01-20T00:00:00Z"}
    for path, more in ((posts, {"topic_id": 99, "author": "eve", "votes": 999}), (topics, {})):
        first = json.loads(path.read_text().splitlines()[0])
        path.write_text(path.read_text() + json.dumps(first | more | at) + "\n")
    async with reading(Snapshot.load(folder, METRIC_DIRECTIONS), tmp_path) as (context, clock, _):
        clock.move(clock.at(0.2))
        assert "topic/1" in await read_batch(context, 1)
        clock.move(clock.at(0.8))
        assert await read_batch(context, 2) == ["topic/15"]
