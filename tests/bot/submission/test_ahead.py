"""Refits ahead: on idle cores while a coder's model thinks, of what would be handed in, and never in its way."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.engine.attempts import holdout_seconds
from bot.engine.context import RunContext
from bot.engine.results import refits_due, refitted
from bot.evaluation.client.worker import Worker
from bot.models import CallLimits, Completion, Prompt
from bot.models.ask import Asker
from bot.submission.ahead import refits_ahead
from bot.submission.refit import refit
from tests.bot.engine.blended import WRONG, blended_run, score
from tests.bot.engine.parts import RUN
from tests.bot.models.parts import Question, Value

pytestmark = pytest.mark.integration

pytestmark = pytest.mark.asyncio


class Thinking:
    """A model that thinks until it is cancelled."""

    async def complete(self, prompt: Prompt[Value], *, role: str, limits: CallLimits) -> Completion[Value]:
        await asyncio.Event().wait()
        raise AssertionError


class Slow(Asker):
    """An asker whose coder took a minute for its last reply."""

    def longest_answer(self, role: str, first: float) -> float:
        return 60.0


class _Late:
    """A stopwatch that stands still in the middle of the run."""

    def wall(self) -> float:
        return 300.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a blend of two scripts."""
    folder = tmp_path_factory.mktemp("blended")

    async def make() -> None:
        async with blended_run(folder) as (context, blending):
            for node, wrong in WRONG.items():
                await score(context, node, wrong)
            assert await blending.as_node() is not None

    asyncio.run(make())
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "run"))


@asynccontextmanager
async def blended(folder: Path) -> AsyncIterator[tuple[RunContext, Worker]]:
    """Go on with a run that has a blend of two scripts, in the middle of its time."""
    async with blended_run(folder) as (context, _):
        asker = Slow(Thinking(), context.store, RUN, context.clock, context.steps)
        budget = replace(context.budget, elapsed=_Late(), growth=context.executor.growth)
        assert context.blender is not None
        yield replace(context, asker=asker, budget=budget), context.blender


@asynccontextmanager
async def asked(context: RunContext, role: str) -> AsyncIterator[None]:
    """Have a model think."""
    call = asyncio.create_task(context.asker.ask(Question(shown=()), role=role, name="turn:1", node=7))
    try:
        yield
    finally:
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


async def done(context: RunContext, nodes: set[int]) -> None:
    """Wait until these scripts were run on all data."""
    async with asyncio.timeout(30):
        while refitted(context.store, RUN) != nodes:
            await asyncio.sleep(0.02)


@pytest.mark.integration
async def test_while_a_coders_model_thinks_each_member_of_the_blend_is_run_on_all_data(folder: Path) -> None:
    async with blended(folder) as (context, worker), refits_ahead(context, worker, 0.01):
        seconds = holdout_seconds(context, 1)
        kept = context.budget.kept(seconds)
        assert kept > 0
        async with asked(context, "coder"):
            await done(context, {1, 2})
        made = await refit(context, 3, worker)
        assert (made.how, made.note) == ("refit", "the blend, 2 of its 2 members refitted on all data")


@pytest.mark.integration
async def test_a_coder_who_replies_at_once_is_not_kept_waiting(folder: Path) -> None:
    async with blended(folder) as (context, worker):
        asker = Asker(Thinking(), context.store, RUN, context.clock, context.steps)
        quick = replace(context, asker=asker)
        async with refits_ahead(quick, worker, 0.01), asked(quick, "coder"):
            await asyncio.sleep(1.0)
        assert refitted(context.store, RUN) == set()


@pytest.mark.integration
async def test_nothing_is_run_while_another_role_is_asked_or_the_cores_are_in_use(folder: Path) -> None:
    async with blended(folder) as (context, worker), refits_ahead(context, worker, 0.01) as settle:
        async with asked(context, "analyst"):
            await asyncio.sleep(1.0)
        async with context.executor.leasing.leases.hold(99, seconds=1.0), asked(context, "coder"):
            await asyncio.sleep(1.0)
        assert refitted(context.store, RUN) == set()
        await settle()
        async with asked(context, "coder"):
            await asyncio.sleep(1.0)
        assert refitted(context.store, RUN) == set(), "none is begun any more"


@pytest.mark.integration
async def test_what_was_run_on_all_data_keeps_no_time_back(folder: Path) -> None:
    async with blended(folder) as (context, worker):
        due = {1, 2}

        def left() -> int:
            return len(due - refitted(context.store, RUN))

        budget = replace(context.budget, refits=left)
        before = budget.kept(10.0)
        async with refits_ahead(context, worker, 0.01), asked(context, "coder"):
            await done(context, due)
        assert before > 10.0 and budget.kept(10.0) == 0.0


@pytest.mark.integration
async def test_the_best_script_is_run_on_all_data_where_there_is_no_blend_but_never_the_safe_baseline(
    tmp_path: Path,
) -> None:
    async with blended_run(tmp_path) as (context, _):
        asker = Slow(Thinking(), context.store, RUN, context.clock, context.steps)
        assert context.blender is not None
        await score(context, 1, WRONG[1])
        budget = replace(context.budget, elapsed=_Late(), growth=context.executor.growth)
        alone = replace(context, asker=asker, budget=budget)
        async with refits_ahead(alone, context.blender, 0.01), asked(alone, "coder"):
            await asyncio.sleep(1.0)
        assert refitted(context.store, RUN) == set()
        await score(context, 2, "0.1 * math.sin(1000 * b)")
        async with refits_ahead(alone, context.blender, 0.01), asked(alone, "coder"):
            await done(alone, {2})
        assert (refits_due(context.store, RUN, 2), refits_due(context.store, RUN, 1)) == (0, 1)
