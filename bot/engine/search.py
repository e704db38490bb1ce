"""The search: asks the policy whenever a slot is free, runs playbooks, and shuts down cleanly."""

import asyncio
import contextlib
import math
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.fits import PortfolioFits
from bot.engine.pacing import SearchPacing
from bot.engine.retry_budget import RetryBudget, is_transient
from bot.engine.scripts import best_seconds, run_script
from bot.engine.sealed_runs import SealedRuns
from bot.engine.strategy import Action, Remaining, Script, Strategy
from bot.engine.suspicion import MOST_ALIKE, last_failures
from bot.engine.tree import BASELINE, SEPARATE, Tree
from state.errors import BotError, BudgetExceeded, ModelMisconfigured, ModelUnavailable, ModelUseless
from state.labs import close_lab, labs
from state.progress import create_node, end_node, restart_node
from state.store import Transaction

MOST_FAILURES = 3
"""Failures of the engine in a row, per slot, that end a run."""
MOST_RESTARTS = 20
"""Restarts of the bot at the same step of a node after which the node is abandoned."""
MOST_CLOSING_SECONDS = 10.0
"""Seconds for a lab to close when its time is over, of those reserved for the exit."""
_RECHECK_SECONDS = 5.0
"""Seconds between checks of the time left, which depends on the machine's load."""
TRACE_CHARACTERS = 8_000
_PLAIN_FEATURES_FROM = 900.0
"""Seconds of a run from which the portfolio is also fitted on the engine's own features."""
RETRY_SHARE = 0.1
RETRY_SECONDS = 3600.0
"""Failed work is retried for this share of the run's time, but no longer than an hour."""


class SolutionSearch:
    """Runs one strategy to the end of its budget; however it stops, the best node so far stays.

    A run that was stopped or killed continues: decisions are read back, unfinished nodes are resumed, and finished steps are
    not repeated.
    """

    def __init__(
        self, context: RunContext, strategy: Strategy, slots: int = 1, pacing: SearchPacing | None = None
    ) -> None:
        """Prepare the search of a new or resumed run; without a pacing, nodes start whenever one of the slots is free."""
        self._context = context
        self._strategy = strategy
        self.blending = None if context.blender is None else Blending(context, context.blender)
        """The blends of scored scripts; None: nothing is blended."""
        self.sealed = None if context.experiments is None or context.needs_scripts else SealedRuns(context)
        """Runs of experiments on all rows; None: there are none."""
        self._decisions = context.decisions
        self._slots = slots
        self._pacing = pacing or SearchPacing()
        self._stop = asyncio.Event()
        self._running: dict[asyncio.Task[None], int] = {}
        self._due: list[tuple[int, Action, bool]] = []
        """Nodes to start: number, action, and whether an earlier start of the bot had started them."""
        self._failures = 0
        self._ended_before = 0
        """Last node of earlier starts of the bot, whose causes of failure may have been fixed since."""
        self.stopped_by: str | None = None
        """Why the search ended before its budget was used up, in one sentence; None if it did not."""
        self.misconfigured = False
        self._interrupt = asyncio.Event()
        self._broken = False

    @property
    def interrupted(self) -> bool:
        """Whether the user or the system asked to stop."""
        return self._interrupt.is_set()

    @property
    def status(self) -> Literal["finished", "stopped", "failed"]:
        """How the search ended: `finished` by its budget, `stopped` on request, else `failed`."""
        if self.interrupted:
            return "stopped"
        return "failed" if self.misconfigured or self._broken else "finished"

    @property
    def hands_in_own(self) -> bool:
        """Whether the strategy itself makes the submitted file."""
        return self._strategy.hands_in_own

    async def wait_for_interrupt(self) -> None:
        """Return when the user or the system asks to stop."""
        await self._interrupt.wait()

    def interrupt(self, notice: str | None = None) -> None:
        """Stop because the user or the system asked to; nodes in flight wait for the run to be resumed."""
        self._interrupt.set()
        folder = self._context.executor.folder.path
        self._context.say(notice or f"stopping: submitting the best so far, if any; to continue: bot resume {folder}")
        self.stop("interrupted")

    def stop(self, reason: str) -> None:
        """Stop: nothing new starts, and running work is cancelled."""
        self.stopped_by = self.stopped_by or reason
        self._stop.set()

    async def run(self) -> None:
        """Write and score the baselines, then follow the policy until steps, time or money are used up."""
        fitting = None if self.blending is None else asyncio.create_task(self.blending.keep_fitted())
        sealed = None if self.sealed is None else asyncio.create_task(self.sealed.keep_running())
        portfolio = self._context.fits
        fits = None if portfolio is None else asyncio.create_task(self._fit_portfolio(portfolio))
        baseline: asyncio.Task[None] | None = None
        try:
            idle = self._strategy.opens_labs and self._context.budget.labs
            if idle or self._context.tree_cache.spare_baseline:
                # Neither coders nor an agent that ignores it need to wait.
                baseline = asyncio.create_task(self._baseline_beside(idle=idle))
                await asyncio.sleep(0)  # its node counts as a step from now on
            else:
                await self._baseline()
            self._queue_unfinished()
            while not self._stop.is_set() and (await self._start_next() or self._running or self._pacing.more_later()):
                await self._wait()
            await self._cancel_running()
            if baseline is not None:
                await self._end_beside(baseline)
            if self.sealed is not None and not self.interrupted:
                # The remaining time is theirs, not the portfolio's.
                await _cancel(fits)
                await self.sealed.finish(self._interrupt)
            if self.blending is not None and not self.interrupted:
                seconds = self._context.budget.ensemble_seconds(best_seconds(self._context, self.tree()))
                await self._wait_unless_interrupted(asyncio.create_task(self.blending.settle(seconds)))
        finally:
            await self._cancel_running()
            if self._strategy.close is not None:
                await self._strategy.close()
            for task in (fitting, sealed, fits):
                await _cancel(task)
        await self._finish()
        if not self._may_go_on:
            # No call will be repeated.
            await self._context.asker.settle(0.0)

    def _queue_unfinished(self) -> None:
        """Queue the unfinished nodes and labs of earlier starts of the bot."""
        context = self._context
        states = {node.id: node.state for node in self.tree().nodes}
        self._ended_before = max(states, default=0)
        closed = {lab.id: lab.ended_at is not None for lab in labs(context.store, context.run_id)}
        for number, action in self._decisions:
            # A blend's node is created when it may be submitted, and kernels run beside the search.
            if action.kind in SEPARATE:
                continue
            if action.kind == "lab":
                if not closed.get(number):
                    self._due.append((number, action, number in closed))
            # A lab resumes its own nodes.
            elif action.lab is None and states.get(number, "running") == "running":
                self._due.append((number, action, number in states))

    async def _start_next(self) -> bool:
        """Start due nodes, or else those that the policy decides on; return whether anything was started."""
        retries, started = self._retry_budget(), False
        while True:
            try:
                if not self._due:
                    self._due = [(node, action, False) for node, action in await self._decide()]
                while self._due:
                    self._begin(*self._due[0])
                    del self._due[0]
                    started = True
            except (BotError, OSError) as error:
                if not is_transient(error) or not await retries.wait_to_retry(error):
                    raise
            else:
                return started

    async def _baseline(self) -> None:
        context = self._context
        while self._pacing.free(0) <= 0:
            if self._stop.is_set() or not self._pacing.more_later():
                return
            await self._wait()
        for node, script in self._baselines():
            context.say(f"node {node}: {script.plan}")
            self._launch(node, partial(run_script, context, node, script, None))
            while self._running and not self._stop.is_set():
                await self._wait()

    async def _baseline_beside(self, *, idle: bool) -> None:
        """Write and score the baselines beside the search, in the idle time of labs or as scripts; a failure ends nothing."""
        context = self._context
        for node, script in self._baselines():
            context.say(f"node {node}, {'in idle time' if idle else 'beside the others'}: {script.plan}")
            try:
                await run_script(context, node, script, None, idle=idle)
            except (BotError, OSError) as error:
                await self._fail(node, str(error))

    def _baselines(self) -> Iterator[tuple[int, Script]]:
        """Yield one baseline after the other, until the search ends, without those that ended before."""
        context = self._context
        states = {node.id: node.state for node in self.tree().nodes}
        scripts = (context.baseline(context.task, context.preview), *context.simple)
        for node, script in enumerate(scripts, BASELINE):
            if self._stop.is_set() or states.get(node, "running") != "running":
                continue
            action = "draft" if node == BASELINE else "baseline"
            with context.store.write() as tx:
                create_node(tx, context.run_id, action=action, id=node, model="builtin")
            if node not in states or self._may_restart(node):
                yield node, script

    async def _fit_portfolio(self, portfolio: PortfolioFits) -> None:
        """Fit models on coders' features; in a run that has the time, on the engine's own, too."""
        context = self._context
        features = context.baseline(context.task, context.preview).features
        if features is not None and not context.needs_scripts and context.budget.seconds >= _PLAIN_FEATURES_FROM:
            try:
                await portfolio.add_plain(features)
            except (BotError, OSError) as error:
                context.say(f"the portfolio uses only coders' features: {error}")
        await portfolio.keep_fitting()

    async def _end_beside(self, baseline: asyncio.Task[None]) -> None:
        """Wait for the baseline if there is nothing else to submit, or the time is not the budget; else end it."""
        has_time = self._context.budget.steps is not None and self._context.tree_cache.spare_baseline
        if (has_time or self.tree().best_candidate() is None) and not self.interrupted:
            await self._wait_unless_interrupted(baseline, max(1.0, self._context.budget.seconds_left()))
        await _cancel(baseline)
        if not self._may_go_on:
            for node in self.tree().nodes:
                if node.baseline and node.state == "running":
                    await self._fail(node.id, "the run ended before it had a score")

    async def _wait_unless_interrupted(self, task: asyncio.Task[None], seconds: float | None = None) -> None:
        """Wait for a task, which ends after so many seconds, or once the user or the system asks to stop."""
        interrupted = asyncio.create_task(self.wait_for_interrupt())
        try:
            await asyncio.wait({task, interrupted}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await asyncio.gather(_cancel(task), _cancel(interrupted))

    async def _decide(self) -> list[tuple[int, Action]]:
        if self._room() is None:
            return []
        await self._prepare_decision()
        # It may have taken a while.
        if self._stop.is_set() or (room := self._room()) is None:
            return []
        count, fault = last_failures(self._context.store, self._context.run_id, self._ended_before)
        if count >= MOST_ALIKE:
            # A live run notifies its owner, waits, and restarts.
            self._broken = True
            self.stop(f"{count} scripts in a row failed with the same message: {fault}")
            return []
        return await self._decisions.ask(self._strategy.policy, *room)

    def _room(self) -> tuple[Tree, Remaining, int] | None:
        """Return the tree, the budget for nodes, and how many may start now; None if none may."""
        context = self._context
        tree = self.tree()
        free = min(self._slots - len(self._running), self._pacing.free(len(self._running)))
        best = best_seconds(context, tree)
        remaining = replace(
            context.remaining(len(tree.nodes) - sum(n.action == "baseline" for n in tree.nodes), best),
            renewed_after=self._pacing.renewed_after(),
        )
        if remaining.steps is not None:
            free = min(free, remaining.steps)
        if free <= 0 or context.budget.execution_seconds(best, context.answer_seconds) is None:
            return None
        # When a spare baseline ends must make no difference to an agent that ignores it.
        nodes = tuple(node for node in tree.nodes if not (node.baseline and tree.spare_baseline))
        return replace(tree, nodes=nodes), remaining, free

    async def _prepare_decision(self) -> None:
        """Let the pacing read new posts before a decision, supervised as a node is, until the search ends."""
        number, tree = self._decisions.count, self.tree()
        reading = asyncio.create_task(self._play(None, lambda: self._pacing.before_decision(number, tree)))
        over = asyncio.create_task(self._stop_when_due())
        try:
            await asyncio.wait({reading, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, over):
                task.cancel()
            _, outcome = await asyncio.gather(over, reading, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome

    def _begin(self, node: int, action: Action, again: bool) -> None:
        """Start the work on a node; `again`: an earlier start of the bot had started it."""
        context = self._context
        draft = None if action.draft_id is None else str(action.draft_id)
        with context.store.write() as tx:
            create_node(
                tx,
                context.run_id,
                id=node,
                # A lab starts a draft: its first scored script takes this node, and each further one gets its own.
                action="draft" if action.kind == "lab" else action.kind,
                parents=action.parents,
                draft_id=draft,
                model=context.model_name,
            )
        if again and not self._may_restart(node):
            return
        origin = f" of node {action.parents[0]}" if action.parents else ""
        subject = f"lab {node}" if action.kind == "lab" else f"node {node}: {action.kind}"
        context.say(f"{subject}{origin}" + (", again" if again else ""))
        playbook = self._strategy.playbooks[action.kind]
        self._launch(node, lambda: playbook.play(action, node, self.tree()))

    def _launch(self, node: int, work: Callable[[], Awaitable[None]]) -> None:
        started = time.monotonic()
        self._pacing.begin()
        task = asyncio.create_task(self._play(node, work))
        task.add_done_callback(lambda _: self._pacing.end(time.monotonic() - started))
        self._running[task] = node

    def _may_restart(self, node: int) -> bool:
        """Return whether a node during which the bot died is retried; if not, end it as failed."""
        with self._context.store.write() as tx:
            times = restart_node(tx, self._context.run_id, node)
            if times <= MOST_RESTARTS:
                return True
            error = f"the bot stopped {times} times at the same step of this node"
            self._end_failed(tx, node, error)
        self._context.say(f"node {node} is abandoned: {error}")
        return False

    async def _wait(self) -> None:
        """Wait until a node has ended, the search must stop, or another node may start."""
        if not self._running and not self._pacing.more_later():
            return
        signals = [asyncio.create_task(self._stop_when_due()), asyncio.create_task(self._pacing.changed())]
        await asyncio.wait([*self._running, *signals], return_when=asyncio.FIRST_COMPLETED)
        for task in signals:
            task.cancel()
        for task in [t for t in self._running if t.done()]:
            del self._running[task]
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _stop_when_due(self) -> None:
        """Return when the search is stopped, or stop it when the refit needs the remaining time.

        Executions end earlier, by their own limits, and a lab closes itself within a few seconds more; this is for a model that
        does not answer.
        """
        context = self._context
        while not self._stop.is_set():
            usable = context.budget.usable(best_seconds(context, self.tree()))
            if "lab" in self._strategy.playbooks:
                usable += min(MOST_CLOSING_SECONDS, context.budget.reserve / 3)
            # Without the baseline there is nothing to submit, and it needs no model: wait for it.
            if BASELINE in self._running.values():
                usable = math.inf
            try:
                async with asyncio.timeout(min(usable, _RECHECK_SECONDS)):
                    await self._stop.wait()
            except TimeoutError:
                # Meanwhile the machine may have become busier, and more time be reserved.
                if usable <= _RECHECK_SECONDS:
                    self.stop("time is up")

    async def _cancel_running(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()

    async def _play(self, node: int | None, work: Callable[[], Awaitable[None]]) -> None:
        """Supervise the work on a node (None: reading between nodes): record errors, and keep them from other nodes.

        A node that ends with the run stays unfinished, and continues when the run is resumed.
        """
        retries = self._retry_budget()
        while True:
            try:
                await work()
                # Successful reading does not mean that nodes work again.
                self._failures = 0 if node is not None else self._failures
            except asyncio.CancelledError:
                if node is not None and not self._may_go_on:
                    await self._fail(node, "the run was stopped")
                raise
            except BudgetExceeded as error:
                if await self._pacing.renews(error):
                    continue
                await self._fail(node, str(error))
                self.stop(str(error))
            except ModelMisconfigured as error:
                self.misconfigured = True
                self.stop(str(error))
            except ModelUseless as error:
                # Answers stay: a resumed run asks again.
                self._broken = True
                self.stop(str(error))
            except Exception as error:  # the worker's supervision boundary: a traceback is kept as an event
                if is_transient(error) and await retries.wait_to_retry(error):
                    continue
                await self._give_up(node, error)
            return

    @property
    def _may_go_on(self) -> bool:
        return self.interrupted or self.misconfigured or self._broken

    async def _give_up(self, node: int | None, error: Exception) -> None:
        is_of_model = isinstance(error, ModelUnavailable)
        if is_of_model and await self._context.asker.is_model_down():
            self._broken = True
            self.stop(f"the model has taken too long to answer; last error: {error}")
            return
        is_expected = is_transient(error) or isinstance(error, BotError)
        text = str(error) if is_expected else f"{type(error).__name__}: {error}"
        await self._fail(node, text, None if is_expected else traceback.format_exc())
        self._failures += not is_of_model
        if self._failures >= MOST_FAILURES * self._slots:
            self._broken = True
            self.stop(f"{self._failures} consecutive failures; the last: {text}")

    def _retry_budget(self) -> RetryBudget:
        context = self._context
        return RetryBudget(min(RETRY_SECONDS, RETRY_SHARE * context.budget.seconds), self._pause, context.say)

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until the search is stopped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def _fail(self, node: int | None, error: str, trace: str | None = None) -> None:
        """Record that a node has failed; wait for the database if it is unavailable."""
        context, retries = self._context, self._retry_budget()
        context.say(f"{'reading posts' if node is None else f'node {node}'} did not finish: {error}")
        while True:
            try:
                with context.store.write() as tx:
                    if node is not None:
                        self._end_failed(tx, node, error)
                    if trace is not None:
                        self._record_crash(tx, node, trace)
            except (BotError, OSError) as trouble:
                if is_transient(trouble) and await retries.wait_to_retry(trouble):
                    continue
                raise
            return

    def _record_crash(self, tx: Transaction, node: int | None, trace: str) -> None:
        # Redacted before truncation, or half a secret could stay.
        trace = self._context.store.redactor.text(trace)[-TRACE_CHARACTERS:]
        tx.record("worker.crashed", run_id=self._context.run_id, node=node, traceback=trace)

    def _end_failed(self, tx: Transaction, number: int, error: str) -> None:
        """End a node, or a lab with its unfinished nodes, as failed."""
        run = self._context.run_id
        close_lab(tx, run, number, error)
        running = {node.id for node in self.tree().nodes if node.state == "running"}
        for node in running & {number, *self._decisions.of_lab(number)}:
            end_node(tx, run, node, "failed", error=error)

    async def _finish(self) -> None:
        """Let the strategy write missing reports while there is time; a failure is recorded, and ends nothing."""
        context = self._context
        finish = self._strategy.finish
        if finish is None or self._stop.is_set() or context.budget.seconds_left() <= 0:
            return
        try:
            async with asyncio.timeout(context.budget.seconds_left()):
                await finish(self.tree())
        except Exception as error:  # supervised as a node is
            context.say(f"the last reports could not be written: {error or 'no time was left'}")
            with context.store.write() as tx:
                self._record_crash(tx, None, traceback.format_exc())

    def tree(self) -> Tree:
        """Return the current tree."""
        return load_tree(self._context)


async def _cancel(task: asyncio.Task[None] | None) -> None:
    """Cancel a task, if there is one, and wait for its end."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
