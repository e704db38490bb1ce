"""Askers that are cancelled, and answers that break off: what was paid for is stored or accounted, and not paid again."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.models.ask import Asker
from bot.models.endpoint import OpenAIModel
from state.errors import BrokenOff
from state.steps import Steps
from state.store import Store
from tests.bot.models.parts import GOOD, RUN, HurriedClock, Question, Value, asker_of, model_at, open_run
from tests.bot.models.test_ask import calls, ledger
from tests.scripted_endpoint import Reply, ScriptedEndpoint, chunk

SLOW = Reply(GOOD, pause=0.04)
"""About 0.3 s."""
HALF = Reply(events=[chunk({"content": GOOD[:20]})], silent_after=1)


@dataclass
class Scene:
    """An asker before a scripted endpoint."""

    asker: Asker
    store: Store
    model: OpenAIModel
    endpoint: ScriptedEndpoint

    async def ask(self, asker: Asker | None = None) -> Value:
        return await (asker or self.asker).ask(Question(), role="coder", name="write", node=3)

    async def begin_and_cancel(self) -> None:
        """Ask, and cancel that once the request has come."""
        before = len(self.endpoint.requests)
        asking = asyncio.create_task(self.ask())
        while len(self.endpoint.requests) == before:
            await asyncio.sleep(0.005)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@asynccontextmanager
async def scene(folder: Path, replies: Sequence[Reply]) -> AsyncIterator[Scene]:
    with ScriptedEndpoint(replies) as endpoint, open_run(folder) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store)
            yield Scene(asker, store, model, endpoint)
            await asker.settle(0.0)


async def test_an_answer_that_comes_after_its_asker_was_cancelled_is_stored_and_found(tmp_path: Path) -> None:
    async with scene(tmp_path, [SLOW]) as it:
        await it.begin_and_cancel()
        assert calls(it.store) == []
        await it.asker.settle()
        assert len(calls(it.store)) == len(ledger(it.store)) == 1
        assert (await it.ask(asker_of(it.model, it.store))).value == 7
        assert len(it.endpoint.requests) == 1


async def test_a_call_that_goes_on_is_waited_for_when_it_is_asked_again(tmp_path: Path) -> None:
    async with scene(tmp_path, [SLOW]) as it:
        await it.begin_and_cancel()
        assert (await it.ask()).value == 7
        assert len(it.endpoint.requests) == len(ledger(it.store)) == 1


async def test_whoever_waits_for_a_call_that_goes_on_may_be_cancelled_too(tmp_path: Path) -> None:
    async with scene(tmp_path, [SLOW]) as it:
        await it.begin_and_cancel()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await it.ask()
        assert (await it.ask()).value == 7
        assert len(it.endpoint.requests) == 1


async def test_a_call_ends_after_its_grace_and_what_came_of_it_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.models.ask.GRACE", 0.3)
    async with scene(tmp_path, [HALF, Reply(GOOD)]) as it:
        await it.begin_and_cancel()
        async with asyncio.timeout(10):
            while not ledger(it.store):
                await asyncio.sleep(0.01)
        (lost,) = calls(it.store)
        assert (lost.prompt_tokens, lost.completion_tokens) == (8, 5)
        assert it.store.blob(lost.answer_sha).decode() == GOOD[:20]
        assert (await it.ask()).value == 7, "what broke off is not taken for the answer"
        assert len(it.endpoint.requests) == len(ledger(it.store)) == 2


async def test_settling_without_patience_ends_calls_that_nobody_waits_for_alone(tmp_path: Path) -> None:
    async with scene(tmp_path, [SLOW]) as it:
        asking = asyncio.create_task(it.ask())
        while not it.endpoint.requests:
            await asyncio.sleep(0.005)
        await it.asker.settle(0.0)
        assert (await asking).value == 7


async def test_a_call_that_waits_for_its_turn_is_not_made_once_its_asker_is_gone(tmp_path: Path) -> None:
    async with scene(tmp_path, [SLOW]) as it:
        asker = Asker(it.model, it.store, RUN, HurriedClock(), Steps(it.store, RUN), in_flight=1)
        first = asyncio.create_task(it.ask(asker))
        second = asyncio.create_task(asker.ask(Question("Another?"), role="coder", name="other"))
        while not it.endpoint.requests:
            await asyncio.sleep(0.005)
        second.cancel()
        assert (await first).value == 7
        await asyncio.wait({second})
        assert len(it.endpoint.requests) == 1
        assert (await asker.ask(Question("Another?"), role="coder", name="other")).value == 7


async def test_an_answer_that_breaks_off_twice_is_logged_and_charged_and_asked_for_again(tmp_path: Path) -> None:
    broken = Reply(events=[chunk({"content": GOOD[:20]})])
    async with scene(tmp_path, [broken, broken, Reply(GOOD)]) as it:
        with pytest.raises(BrokenOff):
            await it.ask()
        assert it.asker.totals.completion_tokens == 2 * 5
        assert (await it.ask(asker_of(it.model, it.store))).value == 7
        assert [call.step for call in calls(it.store)] == ["3/write/0/broken", "3/write/0"]


async def test_an_empty_answer_whose_asker_is_cancelled_is_charged_and_no_refusal(tmp_path: Path) -> None:
    async with scene(tmp_path, [Reply(""), Reply(GOOD, delay=30.0), Reply(GOOD)]) as it:
        asking = asyncio.create_task(it.ask())
        while len(it.endpoint.requests) < 2:
            await asyncio.sleep(0.005)
        asking.cancel()
        await asyncio.wait({asking})
        await it.asker.settle(0.0)
        assert [call.step for call in calls(it.store)] == ["3/write/0/broken"]
        assert it.asker.totals.completion_tokens == 20
