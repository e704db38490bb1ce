"""The clock of a replay that moves: how far before each decision, what is learnt then, and that no stop changes it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import col, select

from bot.agents.comind.briefing import CoMindBriefing
from bot.agents.comind.policy import RoundsPolicy
from bot.community.intake import Intake
from bot.community.reading.batches import read_batch
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.search import SolutionSearch
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.replay.stream import Stream, clock_progress
from scrapers.snapshots.snapshot import Snapshot
from state.clock import StreamClock
from state.clock_advances import clock_advances
from state.knowledge import drafts, ideas
from state.progress import end_node
from state.tables import ModelCall, Node
from state.words import iso
from tests.bot.engine.parts import RUN, opened_on
from tests.bot.replay.reader import Reader
from tests.bot.replay.stream_parts import STEPS, STOOD_AT, write_streamed
from tests.state.rows import add_draft


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return Snapshot.load(write_streamed(tmp_path_factory.mktemp("streamed") / "tiny-table"), METRIC_DIRECTIONS)


@dataclass
class Planned:
    """A playbook that plans as CoMind does, and gives each node a score without running anything."""

    context: RunContext
    intake: Intake = field(init=False)
    briefing: CoMindBriefing = field(init=False)

    def __post_init__(self) -> None:
        self.intake = Intake(self.context)
        self.briefing = CoMindBriefing(self.context, RoundsPolicy(), self.intake)

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        await self.briefing.assign(action, node, tree)
        with self.context.store.write() as tx:
            end_node(tx, RUN, node, "valid", score=0.5 - node / 100)


@asynccontextmanager
async def started(
    snapshot: Snapshot, folder: Path, steps: int | None = STEPS, stops_at: int | None = None
) -> AsyncIterator[tuple[RunContext, SolutionSearch]]:
    """Start the run in the folder, or go on with it."""
    clock, model = StreamClock(snapshot.card.enabled_at, snapshot.card.deadline), Reader(stops_at)
    async with opened_on(snapshot, folder, steps, clock, model) as context:
        work = Planned(context)
        playbooks = dict.fromkeys(("draft", "debug", "improve"), work)
        strategy = Strategy("planned", RoundsPolicy(), playbooks, nothing_is_left, work.intake.close)  # type: ignore[arg-type]
        model.search = SolutionSearch(context, strategy, 1, Stream(context, clock, 1, reads=True))
        yield context, model.search


async def nothing_is_left(tree: Tree) -> None:
    """The last reports are no matter of the clock's."""


def outcome(context: RunContext) -> dict[str, Any]:
    """Return what must be the same however often a run was stopped."""
    as_of = context.clock.as_of()
    with context.store.read() as session:
        nodes = session.exec(select(Node).order_by(col(Node.id))).all()
        made = clock_advances(session, RUN)
    return {
        "as of": iso(as_of),
        "moves": [(move.number, iso(move.as_of), move.node) for move in made],
        "nodes": [(node.id, node.action, node.parents, node.draft_id, node.status) for node in nodes],
        "ideas": [(idea.text, idea.sources, iso(idea.known_at)) for idea in ideas(context.store, RUN, as_of)],
        "drafts": [(d.id, d.idea_ids, d.codebase_node, iso(d.known_at)) for d in drafts(context.store, RUN, as_of)],
    }


def clocks_of_calls(context: RunContext) -> list[str]:
    with context.store.read() as session:
        return [iso(call.as_of) for call in session.exec(select(ModelCall).order_by(col(ModelCall.seq)))]


async def test_the_first_script_of_a_draft_is_told_its_planned_share(snapshot: Snapshot, tmp_path: Path) -> None:
    async with started(snapshot, tmp_path, 20) as (context, _):
        with context.store.write() as tx:
            add_draft(tx, RUN, "1", title="t", description="d", share=0.5, known_at=context.clock.as_of())
        briefing = CoMindBriefing(context, RoundsPolicy(), Intake(context), kernels=False)
        assignment = await briefing.assign(Action("draft", draft_id=1), 2, load_tree(context))
    assert assignment.draft_left is not None and assignment.draft_left.scripts == 10


@pytest.mark.integration
async def test_posts_of_mid_run_open_a_round_that_is_made_of_them(snapshot: Snapshot, tmp_path: Path) -> None:
    async with started(snapshot, tmp_path) as (context, search):
        await search.run()
        found = outcome(context)
    assert [as_of for _, as_of, _ in found["moves"]] == list(STOOD_AT)
    source = {sources[0]: number for number, (_, sources, _) in enumerate(found["ideas"], 1)}
    known_at = {sources[0]: time for _, sources, time in found["ideas"]}
    assert known_at["topic/15"] == "2020-02-10T00:00:00Z", "what is derived is known from its latest source on"
    # The second of a round takes none of the ideas of the first.
    first, *_, last = [draft for draft in found["drafts"] if draft[1]]
    assert source["topic/1"] in first[1]
    assert source["topic/15"] not in first[1]
    assert {source["topic/15"], source["topic/16"]} <= set(last[1])
    assert [(action, draft) for _, action, _, draft, _ in found["nodes"][1:]] == [
        ("draft", "1"),
        ("draft", "2"),
        ("draft", "3"),
        ("draft", "4"),
    ]


@pytest.mark.integration
@pytest.mark.parametrize("every", [1, 2, 3, 4])
async def test_a_run_that_is_stopped_before_every_few_calls_is_the_undisturbed_one(snapshot, tmp_path, every) -> None:
    async with started(snapshot, tmp_path / "whole") as (context, search):
        await search.run()
        whole = outcome(context)
    starts, stood = 0, ""
    while True:
        async with started(snapshot, tmp_path / "stopped", stops_at=every + 1) as (context, search):
            assert iso(context.clock.as_of()) >= stood, "the clock is where it was"
            await asyncio.wait_for(search.run(), 60)
            stood, starts = iso(context.clock.as_of()), starts + 1
            if not search.interrupted:
                break
    async with started(snapshot, tmp_path / "stopped") as (context, _):
        assert outcome(context) == whole
        calls = clocks_of_calls(context)
    assert calls == sorted(calls)
    assert starts > 2


@dataclass
class HandWatch:
    """A stopwatch that is set by hand."""

    seconds: float

    def wall(self) -> float:
        return self.seconds


async def test_the_clock_of_a_run_without_steps_moves_with_its_time(snapshot: Snapshot, tmp_path: Path) -> None:
    async with started(snapshot, tmp_path, steps=None) as (opened, _):
        watch, clock = HandWatch(60.0), opened.clock
        context = replace(opened, budget=replace(opened.budget, elapsed=watch))
        assert isinstance(clock, StreamClock)
        stream, tree = Stream(context, clock, 1, reads=False), load_tree(context)
        await stream.before_decision(0, tree)
        early = clock.as_of()
        assert clock.start < early < clock.time_at(0.2)
        watch.seconds = 30.0
        await stream.before_decision(1, tree)
        assert clock.as_of() == early, "it does not go back where a time is put back"
        watch.seconds = 0.92 * context.budget.seconds
        await stream.before_decision(2, tree)
        assert clock.as_of() == clock.cutoff


@pytest.mark.integration
async def test_beside_a_lab_the_clock_moves_between_decisions_and_a_resumed_run_goes_on_from_there(
    snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.replay.stream._MIN_STEP_SECONDS", 0.01)
    monkeypatch.setattr("bot.replay.stream._STEP_SHARE", 0.0)
    async with started(snapshot, tmp_path, steps=None) as (opened, _):
        clock = opened.clock
        assert isinstance(clock, StreamClock)
        watch = HandWatch(60.0)
        context = replace(opened, budget=replace(opened.budget, elapsed=watch))
        stream, stood = Stream(context, clock, 1, reads=True, labs=True), []
        assert await read_batch(context, 1) == [], "news are what comes after the first batch"
        for share in (0.3, 0.6, 1.0):
            watch.seconds = share * context.budget.seconds
            await stream.changed()
            stood.append(clock.as_of())
        assert stood == sorted(set(stood))
        assert stood[-1] == clock.cutoff
        with context.store.read() as session:
            assert [move.number for move in clock_advances(session, RUN)] == [0, 1, 2]
        again = StreamClock(clock.start, clock.cutoff)
        Stream(context, again, 1, reads=True, labs=True)
        assert again.as_of() == clock.cutoff
        assert set(clocks_of_calls(context)) <= {iso(one) for one in stood}
        assert clocks_of_calls(context), "what was posted meanwhile was read"


async def test_an_agent_that_reads_nothing_learns_nothing(snapshot: Snapshot, tmp_path: Path) -> None:
    async with started(snapshot, tmp_path) as (context, _):
        assert isinstance(context.clock, StreamClock)
        await Stream(context, context.clock, 1, reads=False).before_decision(0, load_tree(context))
        assert iso(context.clock.as_of()) == STOOD_AT[0]
        assert clocks_of_calls(context) == []


@given(st.integers(2, 400), st.integers(2, 8))
def test_the_clock_arrives_while_there_is_room_for_a_round_and_never_goes_back(total: int, size: int) -> None:
    gone = [clock_progress(begun, total, size) for begun in range(1, total)]
    assert gone == sorted(gone)
    assert gone[-1] == 1.0
    left = total - (gone.index(1.0) + 1)
    assert left >= min(size + 1, total // 2)
    assert 0 < gone[0] <= 1
