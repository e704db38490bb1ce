"""The search: asks the policy whenever a slot is free, lets playbooks play, and ends in order."""

import asyncio
import contextlib
import traceback
from collections.abc import Coroutine
from dataclasses import asdict
from typing import Any, Literal

from bot.coder import TaskText
from bot.models.builtin import baseline_script
from bot.runs.budget import REFIT_FACTOR
from bot.runs.context import RunContext
from bot.strategies import Action, Strategy
from bot.strategies.attempts import BASELINE, load_tree
from bot.strategies.playbooks import best_seconds, run_script
from bot.strategies.tree import Tree
from state.errors import BotError, BudgetExceeded, ModelMisconfigured, ModelUnavailable
from state.progress import create_node, end_node
from state.steps import Steps

MOST_FAILURES = 3
"""Failures of our own machinery in a row that end a run."""
UNAVAILABLE_PAUSE = 30.0
TRACE_CHARACTERS = 8_000


class Search:
    """Runs one strategy to the end of its budget; whatever stops it, the best node so far stays."""

    def __init__(self, context: RunContext, strategy: Strategy, steps: Steps, slots: int = 1) -> None:
        self._context = context
        self._strategy = strategy
        self._steps = steps
        self._slots = slots
        self._stop = asyncio.Event()
        self._running: dict[asyncio.Task[None], int] = {}
        self._decisions = 0
        self._failures = 0
        self.stopped_by: str | None = None
        """Why the search ended before its budget did, in one sentence; None where it did not."""
        self.misconfigured = False
        self._interrupt = asyncio.Event()
        self._broken = False

    @property
    def interrupted(self) -> bool:
        """Whether a person or the system asked to stop."""
        return self._interrupt.is_set()

    @property
    def status(self) -> Literal["finished", "stopped", "failed"]:
        """How it ended: a used-up budget is `finished`, a person's wish `stopped`, anything else `failed`."""
        if self.interrupted:
            return "stopped"
        return "failed" if self.misconfigured or self._broken else "finished"

    async def wait_for_interrupt(self) -> None:
        """Return when a person or the system asks to stop."""
        await self._interrupt.wait()

    def interrupt(self) -> None:
        """End in order because a person or the system asked to."""
        self._interrupt.set()
        self._context.say("stopping: the best so far will be handed in")
        self.stop("interrupted")

    def stop(self, why: str) -> None:
        """End in order: nothing new is started, what runs is cancelled."""
        self.stopped_by = self.stopped_by or why
        self._stop.set()

    async def run(self) -> None:
        """Write and score the baseline, then follow the policy until steps, time or money are used up."""
        self._running[asyncio.create_task(self._baseline())] = BASELINE
        await self._wait()
        while not self._stop.is_set():
            if not self._start_actions(await self._decide()) and not self._running:
                break
            await self._wait()
        await self._cancel_running()
        await self._finish()

    async def _baseline(self) -> None:
        context = self._context
        script = baseline_script(TaskText.from_card(context.card), context.preview)
        with context.store.write() as tx:
            create_node(tx, context.run_id, action="draft", id=BASELINE, model="builtin")
        context.say("node 1: the safe baseline")
        await self._play(BASELINE, run_script(context, BASELINE, script, None, None, sample=False))

    async def _decide(self) -> list[Action]:
        context = self._context
        tree = load_tree(context)
        free = self._slots - len(self._running)
        best = best_seconds(context, tree)
        remaining = context.budget.remaining(len(tree.nodes), best)
        if remaining.steps is not None:
            free = min(free, remaining.steps)
        if free <= 0 or context.budget.execution_seconds(best) is None:
            return []

        def choose(rng: Any) -> dict[str, Any]:
            actions = self._strategy.policy.next_actions(tree, remaining, free, rng)
            return {"actions": [asdict(a) for a in actions]}

        chosen = await self._steps.decision(self._decisions, choose)
        self._decisions += 1
        return [Action(**{**a, "parents": tuple(a["parents"])}) for a in chosen["actions"]]

    def _start_actions(self, actions: list[Action]) -> bool:
        context = self._context
        for action in actions:
            draft = None if action.draft_id is None else str(action.draft_id)
            with context.store.write() as tx:
                row = create_node(
                    tx,
                    context.run_id,
                    action=action.kind,
                    parents=action.parents,
                    draft_id=draft,
                    model=context.model_name,
                )
            about = f" of node {action.parents[0]}" if action.parents else ""
            context.say(f"node {row.id}: {action.kind}{about}")
            playbook = self._strategy.playbooks[action.kind]
            work = self._play(row.id, playbook.play(action, row.id, load_tree(context)))
            self._running[asyncio.create_task(work)] = row.id
        return bool(actions)

    async def _wait(self) -> None:
        """Wait until a node has ended or somebody asked to stop."""
        if not self._running:
            return
        stop = asyncio.create_task(self._stop_when_due())
        await asyncio.wait([*self._running, stop], return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        for task in [t for t in self._running if t.done()]:
            del self._running[task]

    async def _stop_when_due(self) -> None:
        """Return when somebody asked to stop, or when the time that is left is needed for the refit.

        Executions end by their own limits, earlier than this; it is for a model that does not answer.
        """
        context = self._context
        needed = REFIT_FACTOR * (best_seconds(context, load_tree(context)) or 0.0)
        try:
            async with asyncio.timeout(max(0.0, context.budget.left() - needed)):
                await self._stop.wait()
        except TimeoutError:
            self.stop("the time is used up")

    async def _cancel_running(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()

    async def _play(self, node: int, work: Coroutine[Any, Any, None]) -> None:
        """Supervise one node: whatever goes wrong in it is recorded, and takes nothing else down."""
        try:
            await work
            self._failures = 0
        except asyncio.CancelledError:
            self._fail(node, "the run was stopped")
            raise
        except BudgetExceeded as error:
            self._fail(node, str(error))
            self.stop(str(error))
        except ModelMisconfigured as error:
            self._fail(node, str(error))
            self.misconfigured = True
            self.stop(str(error))
        except ModelUnavailable as error:
            self._fail(node, str(error))
            self._count_failure(str(error))
            await self._pause(UNAVAILABLE_PAUSE)
        except Exception as error:  # the worker's supervision boundary: a traceback is kept as an event
            known = isinstance(error, BotError)
            text = str(error) if known else f"{type(error).__name__}: {error}"
            self._fail(node, text, None if known else traceback.format_exc())
            self._count_failure(text)

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until somebody asks to stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    def _count_failure(self, why: str) -> None:
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self._broken = True
            self.stop(f"{MOST_FAILURES} failures in a row, the last: {why}")

    def _fail(self, node: int, error: str, trace: str | None = None) -> None:
        context = self._context
        context.say(f"node {node} was not finished: {error}")
        with context.store.write() as tx:
            end_node(tx, context.run_id, node, "failed", error=error)
            if trace is not None:
                tx.record("worker.crashed", run_id=context.run_id, node=node, traceback=trace[-TRACE_CHARACTERS:])

    async def _finish(self) -> None:
        """Let the strategy write what is still missing, where there is time; a failure of it costs nothing that matters."""
        context = self._context
        if self._stop.is_set() or context.budget.left() <= 0:
            return
        try:
            async with asyncio.timeout(context.budget.left()):
                await self._strategy.finish(load_tree(context))
        except Exception as error:  # supervised as a node is
            context.say(f"the last reports were not written: {error or 'no time was left'}")
            with context.store.write() as tx:
                trace = traceback.format_exc()[-TRACE_CHARACTERS:]
                tx.record("worker.crashed", run_id=context.run_id, traceback=trace)

    def tree(self) -> Tree:
        """Return the tree as it stands."""
        return load_tree(self._context)
