"""What has been posted since: read once, made into ideas once, beside the search; and the first plan's cost."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import select

from bot.agents.builtin import BuiltinModel
from bot.community.drafts.planning import plan_drafts
from bot.community.drafts.prompts import Room
from bot.community.intake import Intake
from bot.community.news import NewsLook, looks, take_in_news
from bot.community.reading.batches import read_batch, read_news
from bot.engine.context import RunContext
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock, StreamClock
from state.errors import ModelUnavailable
from state.knowledge import drafts, ideas
from state.tables import ModelCall
from tests import needs
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
        clock.move(clock.time_at(0.2))
        assert await take_in_news(context) == NewsLook((), False), "before anything was read nothing is news"
        assert model.calls == 0
        assert sorted(await read_batch(context, 1)) == ["kernel/21", "topic/1"]
        assert await take_in_news(context) == NewsLook((), False)
        clock.move(clock.time_at(0.8))
        assert await take_in_news(context) == NewsLook(("topic/15",), True)
        assert "topic/15" in sources(context)
        calls = model.calls
        assert (await take_in_news(context)).posts == ()
        assert model.calls == calls, "nobody is asked twice"


async def test_what_a_batch_has_read_is_no_news(snapshot: Snapshot, tmp_path: Path) -> None:
    async with reading(snapshot, tmp_path) as (context, clock, _):
        clock.move(clock.time_at(0.8))
        assert "topic/15" in await read_batch(context, 1)
        assert await take_in_news(context) == NewsLook((), False)


async def test_a_numbered_look_finds_again_what_it_found_before_a_kill(snapshot: Snapshot, tmp_path: Path) -> None:
    async with reading(snapshot, tmp_path) as (context, clock, model):
        clock.move(clock.time_at(0.2))
        await read_batch(context, 1)
        clock.move(clock.time_at(0.8))
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
        clock.move(clock.time_at(0.2))
        assert "topic/1" in await read_batch(context, 1)
        clock.move(clock.time_at(0.8))
        assert await read_batch(context, 2) == ["topic/15"]


async def test_a_failed_batch_fails_all_who_wait_and_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    async def reproduce(context: Any, number: int, *, shares_cores: bool) -> list[int]:
        tries.append(number)
        await asyncio.sleep(0)
        if len(tries) == 1:
            raise ModelUnavailable("not now")
        return []

    monkeypatch.setattr("bot.community.intake.reproduce_batch", reproduce)
    intake = Intake(SimpleNamespace())  # type: ignore[arg-type] # nothing of the run is needed
    waited = await asyncio.gather(*(intake.ready("kernels", 1) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in waited] == [ModelUnavailable, ModelUnavailable]
    await intake.ready("kernels", 2)
    assert tries == [1, 1, 2]
    await intake.ready("kernels", 2)
    assert tries == [1, 1, 2]
    await intake.close()


MOST_TOKENS = 20_000


@pytest.mark.integration
async def test_reading_ideas_and_the_first_plan_take_few_tokens(tmp_path: Path) -> None:
    path = needs.snapshots() / "spooky-author-identification"
    snapshot = Snapshot.load(path, METRIC_DIRECTIONS)
    clock = ReplayClock(snapshot.card.deadline)
    async with opened_on(snapshot, tmp_path, None, clock, BuiltinModel(0), seconds=10_800.0) as context:
        await Intake(context).ready("posts", 1)
        await plan_drafts(context, 1, 1, lambda: Room(1, 0.12, 0.03, 1.0, 300.0, seconds=1700.0))
        assert len(drafts(context.store, RUN, context.clock.as_of())) == 1
        with context.store.read() as session:
            calls = session.exec(select(ModelCall)).all()
    assert {call.role for call in calls} == {"analyst", "proposer", "coordinator"}
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
    print(f"tokens before the first draft: {tokens}")
    assert tokens <= MOST_TOKENS


async def test_where_one_lab_lasts_for_the_run_suggestions_become_ideas_though_nothing_is_left_for_reading(
    snapshot, tmp_path, monkeypatch
) -> None:
    async with reading(snapshot, tmp_path) as (context, clock, _):
        object.__setattr__(context, "budget", replace(context.budget, labs=True, seconds=2_700.0))
        clock.move(clock.time_at(0.2))
        monkeypatch.setattr("bot.community.ideas.pool.may_read", lambda context: False)
        await Intake(context).ready("posts", 1)
        with context.store.read() as session:
            roles = {call.role for call in session.exec(select(ModelCall)).all()}
        assert sources(context) and roles == {"analyst"}
