"""Steps: a finished one is never run again, an unfinished one is."""

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from state.clock import SystemClock
from state.steps import Steps, rng
from state.store import Store


class Paid:
    """An effect that counts how often it was paid for."""

    def __init__(self, answer: dict[str, Any] | None = None) -> None:
        self.times = 0
        self._answer = {"answer": 42} if answer is None else answer

    async def __call__(self) -> dict[str, Any]:
        self.times += 1
        return self._answer


async def test_a_finished_step_gives_back_its_result_without_running(store: Store, run_id: str) -> None:
    effect = Paid()
    first = await Steps(store, run_id).once("ask", effect, node=3)
    again = await Steps(store, run_id).once("ask", effect, node=3)
    assert first == again == {"answer": 42}
    assert effect.times == 1


async def test_node_name_attempt_and_run_each_make_a_step_of_its_own(store: Store, run_id: str) -> None:
    effect = Paid()
    steps = Steps(store, run_id)
    await steps.once("ask", effect)
    await steps.once("answer", effect, node=1)
    await steps.once("ask", effect, node=1, attempt=1)
    await steps.once("ask", effect, node=1)
    await Steps(store, "another run").once("ask", effect)
    assert effect.times == 5


async def test_a_result_is_the_same_the_first_time_and_later(store: Store, run_id: str) -> None:
    effect = Paid({"pair": (1, 2), 3: "three"})  # type: ignore[dict-item]  # what JSON turns into text
    first = await Steps(store, run_id).once("ask", effect)
    assert first == await Steps(store, run_id).once("ask", effect) == {"pair": [1, 2], "3": "three"}


async def test_an_empty_result_is_a_result(store: Store, run_id: str) -> None:
    effect = Paid({})
    assert await Steps(store, run_id).once("ask", effect) == {}
    assert await Steps(store, run_id).once("ask", effect) == {}
    assert effect.times == 1


async def test_a_step_that_failed_runs_again(store: Store, run_id: str) -> None:
    async def fails() -> dict[str, Any]:
        raise ConnectionError

    effect = Paid()
    steps = Steps(store, run_id)
    with pytest.raises(ConnectionError):
        await steps.once("ask", fails)
    assert await steps.once("ask", effect) == {"answer": 42}
    assert effect.times == 1


async def test_a_step_that_was_cancelled_runs_again(store: Store, run_id: str) -> None:
    entered = asyncio.Event()

    async def hangs() -> dict[str, Any]:
        entered.set()
        await asyncio.Event().wait()
        return {}

    steps = Steps(store, run_id)
    task = asyncio.create_task(steps.once("ask", hangs))
    await entered.wait()
    with pytest.raises(RuntimeError, match="already running"):
        await steps.once("ask", Paid())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await steps.once("ask", Paid()) == {"answer": 42}


async def test_another_prompt_is_only_noted(store: Store, run_id: str) -> None:
    effect = Paid()
    await Steps(store, run_id).once("ask", effect, node=2, prompt_hash="old")
    assert await Steps(store, run_id).once("ask", effect, node=2, prompt_hash="new") == {"answer": 42}
    await Steps(store, run_id).once("ask", effect, node=2, prompt_hash="old")
    assert effect.times == 1
    changed = [event for event in store.export_events(run_id) if event["type"] == "step.prompt_changed"]
    assert [(event["node"], event["stored"], event["now"]) for event in changed] == [(2, "old", "new")]


async def test_start_and_end_are_events(store: Store, run_id: str) -> None:
    await Steps(store, run_id).once("ask", Paid(), node=1)
    events = [(e["type"], e["node"], e.get("name")) for e in store.export_events(run_id)][1:]
    assert events == [("step.started", 1, "ask"), ("step.ended", 1, "ask")]


@pytest.mark.integration
async def test_after_a_kill_the_finished_is_kept_and_the_begun_runs_again(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    program = f"""
        import asyncio, os, signal
        from pathlib import Path
        from state.clock import SystemClock
        from state.steps import Steps
        from state.store import Store

        async def finished(): return {{"by": "the killed process"}}
        async def killed(): os.kill(os.getpid(), signal.SIGKILL)

        async def main():
            steps = Steps(Store.open(Path({str(path)!r}), SystemClock()), "r")
            await steps.once("one", finished)
            await steps.once("two", killed)
        asyncio.run(main())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -9
    effect = Paid()
    with Store.open(path, SystemClock()) as store:
        steps = Steps(store, "r")
        assert await steps.once("one", effect) == {"by": "the killed process"}
        assert await steps.once("two", effect) == {"answer": 42}
    assert effect.times == 1


async def test_a_decision_is_made_once_and_follows_the_runs_seed(store: Store, run_id: str) -> None:
    first = await Steps(store, run_id).decision(4, lambda random: {"pick": random.randrange(10**9)})
    again = await Steps(store, run_id).decision(4, lambda _: {"pick": "never asked"})
    other = await Steps(store, run_id).decision(5, lambda random: {"pick": random.randrange(10**9)})
    assert first == again == {"pick": rng(7, 4).randrange(10**9)}
    assert other != first


def test_the_generator_of_a_decision_is_the_same_on_every_machine() -> None:
    assert [rng(7, 1).randrange(1000), rng(7, 2).randrange(1000), rng(8, 1).randrange(1000)] == [56, 678, 58]
