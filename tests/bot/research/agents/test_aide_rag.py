"""AIDE+RAG: a model picks among titles; what it picks is summarised once a run, and shown as data."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.engine.attempts import load_tree, open_record
from bot.engine.context import RunContext
from bot.engine.strategy import Action
from bot.evaluation.client.worker import Worker
from bot.models import Item
from bot.research.agents.aide_rag import PostsByTitle, aide_rag
from bot.research.agents.rag_prompts import DocumentTitle, PickPosts
from scrapers.snapshots.snapshot import Snapshot
from state.clock import StreamClock
from state.community_rows import add_community
from state.errors import Unparsable
from state.progress import create_node, end_node
from state.tables import KernelVersion, Observation, PostedMessage, Topic
from tests.bot.agents.builtin.parts import NOW, TASK
from tests.bot.engine.parts import RUN
from tests.bot.research.agents.parts import HALVES, Told, a_run, as_json, fenced, play
from tests.tiny_snapshot import SLUG

pytestmark = pytest.mark.asyncio(loop_scope="module")

DRAFT = Action("draft")


def middle(snapshot: Snapshot) -> StreamClock:
    clock = StreamClock(snapshot.card.enabled_at, snapshot.card.deadline)
    clock.move(clock.time_at(0.5))
    return clock


def post(context: RunContext, threads: int, kernels: int, days: int = 1, first: int = 100) -> None:
    """Add threads and kernels; those of higher numbers have more votes."""
    clock: Any = context.clock
    at = clock.start + timedelta(days=days)
    rows: list[Any] = []
    for number in range(first, first + threads):
        text = f"About subject{number}, at some length, so that it counts as a text."
        rows += [
            Topic(competition=SLUG, id=str(number), title=f"Thread {number}", posted_at=at),
            PostedMessage(
                competition=SLUG, id=str(number), topic_id=str(number), posted_at=at, markdown=text, author="a"
            ),
            Observation(competition=SLUG, target="topic", target_id=str(number), at=at, votes=number),
        ]
    for number in range(first + 100, first + 100 + kernels):
        fields = {"ref": f"a/{number}", "version": 1, "title": f"Kernel {number}", "text": f"print('subject{number}')"}
        rows += [
            KernelVersion(competition=SLUG, id=str(number), created_at=at, language="python", **fields),
            Observation(competition=SLUG, target="kernel", target_id=str(number), at=at, votes=number),
        ]
    with context.store.write() as tx:
        add_community(tx, SLUG, rows)


def told(*picked: str) -> Told:
    return Told(
        {
            "pick_posts": as_json(pick=picked),
            "summarise_post": lambda prompt: f"It says: use {prompt.document.title}.",
            "write_tree_script": lambda prompt: fenced(HALVES),
        }
    )


async def test_a_draft_picks_among_the_ten_most_voted_threads_and_kernels_of_the_clock(worker: Worker, tmp_path: Path):
    model = told("kernel/211", "topic/111")
    async with a_run(worker, tmp_path, model, clock=middle) as context:
        post(context, 12, 12)
        post(context, 1, 1, days=45, first=500)
        material = await PostsByTitle(context).read(DRAFT, 2, load_tree(context))
    (prompt,) = model.of("pick_posts")
    threads = [f"topic/{number}" for number in range(111, 101, -1)]
    assert [one.item.id for one in prompt.shown] == threads + [f"kernel/{number}" for number in range(211, 201, -1)]
    assert {item.id for item in material.items} == {"kernel/211", "message/111"}
    assert '<summary id="kernel/211"' in material.text and "It says: use Thread 111." in material.text


async def test_each_document_is_summarised_once_a_run_and_a_resumed_one_pays_for_nothing_again(worker, tmp_path):
    model, second = told("topic/100", "kernel/200"), told()
    async with a_run(worker, tmp_path, model, clock=middle) as context:
        post(context, 2, 1)
        reader, tree = PostsByTitle(context), load_tree(context)
        one, two = await asyncio.gather(reader.read(DRAFT, 2, tree), reader.read(DRAFT, 3, tree))
        assert one == two
    assert sorted(model.names()) == ["pick_posts", "pick_posts", "summarise_post", "summarise_post"]
    async with a_run(worker, tmp_path, second, clock=middle) as context:
        assert await PostsByTitle(context).read(DRAFT, 2, tree) == one
        assert second.names() == []


async def test_an_improvement_or_a_repair_asks_again_among_what_is_most_like_its_parent(worker: Worker, tmp_path: Path):
    model = told()
    async with a_run(worker, tmp_path, model, clock=middle) as context:
        post(context, 12, 12)
        with context.store.write() as tx:
            create_node(tx, RUN, id=2, action="draft", plan="Use subject203 well, and subject104.")
            end_node(tx, RUN, 2, "buggy", error="subject105 is missing")
        reader = PostsByTitle(context)
        material = await reader.read(Action("debug", (2,)), 3, load_tree(context))
        assert material.text == "", "nothing was picked"
    (prompt,) = model.of("pick_posts")
    assert {one.item.id for one in prompt.shown[:3]} == {"kernel/203", "topic/104", "topic/105"}
    assert len(prompt.shown) == 10
    assert "subject105 is missing" in model.text("pick_posts")


@pytest.mark.integration
async def test_the_summaries_stand_in_the_scripts_prompt_and_their_posts_among_its_items(worker, tmp_path) -> None:
    model = told("kernel/21")
    async with a_run(worker, tmp_path, model) as context:
        assert (await play(context, aide_rag(context), DRAFT, 2)).status == "valid"
        with open_record(context) as run:
            assert {one for one in run.items_shown("coder") if one[0].startswith("kernel/")} == {("kernel/21", 2)}
    (prompt,) = model.of("write_tree_script")
    assert "It says: use Linear." in model.text("write_tree_script")
    assert "kernel/21" in {item.id for item in prompt.items()}


async def test_without_a_community_nothing_is_asked(worker: Worker, tmp_path: Path):
    model = told()
    async with a_run(worker, tmp_path, model, community=False) as context:
        assert (await PostsByTitle(context).read(DRAFT, 2, load_tree(context))).text == ""
    assert model.names() == []


async def test_a_pick_of_what_was_not_shown_is_to_be_repaired():
    prompt = PickPosts(TASK, (DocumentTitle(Item("topic/1", NOW), "One", 3, None, 2),), "draft", "")
    assert prompt.parse('{"pick": ["topic/1"]}').pick == ("topic/1",)
    with pytest.raises(Unparsable, match="unknown ids kernel/9"):
        prompt.parse('{"pick": ["kernel/9"]}')
