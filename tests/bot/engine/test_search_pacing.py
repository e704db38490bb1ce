"""A search that waits until it may begin nodes, as several share a machine."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.engine.context import RunContext
from bot.engine.search import SolutionSearch
from bot.engine.strategy import Action, Remaining, Strategy
from bot.engine.tree import Tree
from state.errors import BudgetExceeded, ModelMisconfigured
from state.progress import end_node
from tests.bot.engine.parts import RUN, opened


class Drafts:
    """A policy that always wants another draft, and keeps the budgets it is given."""

    def __init__(self) -> None:
        self.budgets: list[Remaining] = []

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        self.budgets.append(budget)
        return [Action("draft", draft_id=len(tree.nodes))] * min(1, free_slots)


@dataclass
class Work:
    """A playbook that ends its node at once, the first time perhaps with an error."""

    context: RunContext
    error: Exception | None = None
    played: list[int] = field(default_factory=list)

    async def play(self, action: Action, node: int, tree: Tree) -> None:
        self.played.append(node)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        with self.context.store.write() as tx:
            end_node(tx, RUN, node, "valid", score=0.5)


@dataclass
class Gate:
    """Pacing by hand."""

    places: int = 0
    later: bool = True
    renewed: int | None = None
    waits: bool = False
    """Whether a day's cap has room again after it was waited for."""
    begun: int = 0
    ended: int = 0
    waited: int = 0
    numbers: list[int] = field(default_factory=list)
    trouble: Exception | None = None
    """What reading news raises, each time."""
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    def free(self, running: int) -> int:
        return self.places

    def begin(self) -> None:
        self.begun += 1
        self.places -= 1

    def end(self, seconds: float) -> None:
        self.ended += 1

    def more_later(self) -> bool:
        return self.later

    async def changed(self) -> None:
        await self.opened.wait()
        self.opened.clear()

    def renewed_after(self) -> int | None:
        return self.renewed

    async def before_decision(self, number: int, tree: Tree) -> None:
        self.numbers.append(number)
        if self.trouble is not None:
            raise self.trouble

    async def renews(self, error: BudgetExceeded) -> bool:
        self.waited += 1
        return self.waits

    def open(self, places: int = 0) -> None:
        self.places += places
        self.opened.set()


async def finish(tree: Tree) -> None:
    """Nothing is left to be written."""


def search(context: RunContext, gate: Gate, work: Work, policy: Drafts) -> SolutionSearch:
    return SolutionSearch(context, Strategy("drafts", policy, {"draft": work}, finish), 1, gate)


async def until(holds: object) -> None:
    async with asyncio.timeout(20):
        while not holds():  # type: ignore[operator]
            await asyncio.sleep(0.01)


async def test_nothing_begins_before_its_turn_and_it_ends_when_no_more_will_come(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=10) as context:
        gate, policy, work = Gate(), Drafts(), Work(context)
        going = asyncio.create_task(search(context, gate, work, policy).run())
        await asyncio.sleep(0.1)
        assert work.played == []
        assert policy.budgets == []
        gate.open(2)
        await until(lambda: gate.ended == 2)
        assert work.played == [2, 3]
        assert not going.done()
        gate.later = False
        gate.open()
        await asyncio.wait_for(going, 60)
        assert (gate.begun, gate.ended) == (2, 2)


async def test_the_policy_is_given_the_last_node_before_news(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=10) as context:
        gate, policy = Gate(places=1, later=False, renewed=7), Drafts()
        await search(context, gate, Work(context), policy).run()
        assert policy.budgets[0].renewed_after == 7


async def test_a_cap_that_renews_is_waited_for_and_another_ends_the_search(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=10) as context:
        gate = Gate(places=1, later=False, waits=True)
        work = Work(context, BudgetExceeded("the day's cap has been reached", renews=True))
        await search(context, gate, work, Drafts()).run()
        assert (work.played, gate.waited) == ([2, 2], 1)

        gate = Gate(places=1)
        work = Work(context, BudgetExceeded("the run's cap has been reached"))
        stopped = search(context, gate, work, Drafts())
        await asyncio.wait_for(stopped.run(), 60)
        assert stopped.stopped_by == "the run's cap has been reached"
        assert stopped.tree()[3].state == "failed"


@pytest.mark.integration
async def test_the_baseline_too_waits_for_its_turn(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=1, baseline=False) as context:
        gate = Gate()
        waiting = search(context, gate, Work(context), Drafts())
        going = asyncio.create_task(waiting.run())
        await asyncio.sleep(0.1)
        assert waiting.tree().nodes == ()
        gate.later = False
        gate.open(1)
        await until(lambda: gate.begun == 1)
        await asyncio.wait_for(going, 60)
        assert [node.id for node in waiting.tree().nodes] == [1]


async def test_news_are_taken_in_before_each_decision_under_its_number(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=4) as context:
        gate = Gate(places=9, later=False)
        await search(context, gate, Work(context), Drafts()).run()
        assert gate.numbers == [0, 1, 2]


async def test_news_that_cannot_be_read_cost_no_node_and_are_reported(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=3) as context:
        gate, work = Gate(places=9, later=False, trouble=ValueError("a bug")), Work(context)
        going = search(context, gate, work, Drafts())
        await going.run()
        assert (work.played, going.status) == ([2, 3], "finished")
        crashes = [event for event in context.store.export_events(RUN) if event["type"] == "worker.crashed"]
        assert len(crashes) == 2
        assert "a bug" in crashes[0]["traceback"]


async def test_a_model_that_will_never_answer_ends_the_search_also_while_news_are_taken_in(tmp_path: Path) -> None:
    async with opened(tmp_path, steps=3) as context:
        work = Work(context)
        going = search(context, Gate(places=9, trouble=ModelMisconfigured("a wrong key")), work, Drafts())
        await asyncio.wait_for(going.run(), 60)
        assert (work.played, going.misconfigured, going.stopped_by) == ([], True, "a wrong key")


async def test_who_asks_to_stop_does_not_wait_for_news(tmp_path: Path) -> None:
    class Endless(Gate):
        async def before_decision(self, number: int, tree: Tree) -> None:
            self.numbers.append(number)
            await asyncio.Event().wait()

    async with opened(tmp_path, steps=3) as context:
        gate, work, said = Endless(places=9), Work(context), list[str]()
        going = search(replace(context, say=said.append), gate, work, Drafts())
        run = asyncio.create_task(going.run())
        await until(lambda: gate.numbers == [0])
        going.interrupt()
        await asyncio.wait_for(run, 60)
        assert (work.played, going.status) == ([], "stopped")
        assert [line for line in said if line.endswith(f"to continue: bot resume {tmp_path / 'run'}")]
