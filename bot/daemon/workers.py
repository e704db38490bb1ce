"""Workers: lease tasks as they fall due, run them concurrently, and record each outcome."""

import asyncio
import contextlib
import math
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Literal

from bot.daemon.supervision import record_failure, words_of
from state.clock import Clock, back_off
from state.errors import BotError, Retry, StateUnavailable
from state.store import Store, Transaction
from state.tables import Task
from state.tasks import claim_task, finish_task, next_due, recover_tasks, release_tasks, retry_task

_MIN_REST_SECONDS = 0.01


@dataclass(frozen=True)
class Handler:
    """The function that does the tasks of one kind, and its limits."""

    run: Callable[[Task], Awaitable[None]]
    """Does one; as the process may die in the middle, it may be called again for the same task. It returns when the task
    is done; raises `Retry` to set when to retry, or anything else if it failed. It must not change the row."""
    max_parallel: int = 1
    """How many of the kind may run at once; of each competition never more than one."""
    max_seconds: float = 600.0
    """Real seconds after which an attempt is cancelled."""
    max_attempts: int = 5
    """Failed attempts after which a task is given up."""


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of an attempt."""

    kind: Literal["done", "failed", "later", "released"]
    """later: to be retried, without having failed; released: cancelled because the workers stop."""
    error: BaseException | None = None
    seconds: float | None = None
    """Seconds of the bot's clock until the next attempt; None: as after a failure."""
    counted: bool = True
    """Whether it counts towards the attempts after which the task is given up."""


async def attempt(handler: Handler, task: Task, is_stopping: Callable[[], bool]) -> TaskOutcome:
    """Attempt a task; whatever the handler raises becomes an outcome. `is_stopping`: whether a cancellation is a shutdown."""
    try:
        async with asyncio.timeout(handler.max_seconds) as limit:
            await handler.run(task)
    except asyncio.CancelledError as error:
        return TaskOutcome("released") if is_stopping() else TaskOutcome("failed", error)
    except Retry as error:
        return TaskOutcome("later", error, max(0.0, error.seconds), error.counted)
    except StateUnavailable as error:
        # An unusable database is not the task's fault: the task waits, however long that takes.
        return TaskOutcome("later", error, counted=False)
    except TimeoutError as error:
        if not limit.expired():
            return TaskOutcome("failed", error)
        slow = TimeoutError(f"it exceeded its time limit of {handler.max_seconds:g} s")
        slow.__cause__ = error
        return TaskOutcome("failed", slow)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A supervision boundary. SystemExit, which a library may raise (kaggle does), would end the event loop.
        return TaskOutcome("failed", error)
    return TaskOutcome("done")


@dataclass(frozen=True)
class WorkerSettings:
    """How often the workers look for work, and how long they wait; "real" seconds are the machine's, others the clock's."""

    idle_seconds: float = 5.0
    """Real: longest time between two checks, whether or not anything is known to be due."""
    initial_pause: float = 10.0
    """After the first failed attempt; it doubles with each, and a random part of up to one half is taken off."""
    max_pause: float = 3600.0
    min_pause: float = 0.25
    """Real: no pause is shorter, however fast the clock is."""
    database_pause: float = 5.0
    """Real: pause before an unusable database is used again."""
    cancel_seconds: float = 5.0
    """Real: how long a cancelled task may take to end."""


@dataclass
class _Run:
    task: Task
    outcome: TaskOutcome | None = None
    is_abandoned: bool = False
    work: asyncio.Task[None] = field(init=False)

    def begin(self, handler: Handler, on_end: Callable[[], None]) -> None:
        """Begin an attempt; `on_end` is called when it is over."""

        async def work() -> None:
            self.outcome = await attempt(handler, self.task, lambda: self.is_abandoned)
            on_end()

        self.work = asyncio.create_task(work(), name=f"task {self.task.key}")


class Workers:
    """Does tasks; only one may use a database, as it takes every lease that is not its own for a dead process's."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        handlers: Mapping[str, Handler],
        settings: WorkerSettings | None = None,
        *,
        speed: float = 1.0,
        random: Random | None = None,
    ) -> None:
        """Set them up; `run` does the work.

        Handlers are by kind, and tasks of other kinds are left alone. `speed` is the clock's seconds per real second.
        """
        self._store, self._clock, self._handlers = store, clock, dict(handlers)
        self._settings, self._speed = settings or WorkerSettings(), speed
        self._random = random or Random()  # noqa: S311 - spreads attempts in time
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._runs: dict[str, _Run] = {}
        self.turns = 0
        """How often they have checked for work; it grows at least every `idle_seconds` while all is well."""
        self._woken = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        self._stop_at: float | None = None
        self._recovered = False

    @property
    def running(self) -> tuple[Task, ...]:
        """What is being worked on, oldest first."""
        return tuple(run.task for run in self._runs.values())

    def wake(self) -> None:
        """Check for work at once, as there is something new; call it in the event loop's thread."""
        self._woken.set()

    async def run(self) -> None:
        """Do tasks until `stop`; if cancelled, cancel what is being worked on and put it back.

        While the database cannot be used, they wait.

        Raises:
            StateCorrupted: the database is damaged.
        """
        self._ended.clear()
        self._recovered = False
        try:
            while self._stop_at is None or (self._runs and self._seconds_to_stop() > 0):
                try:
                    pause = self._turn()
                except StateUnavailable:
                    # Only a stop ends this pause early.
                    pause = min(self._settings.database_pause, self._seconds_to_stop())
                    await asyncio.sleep(max(_MIN_REST_SECONDS, pause))
                    continue
                finally:
                    self.turns += 1
                await self._wait(pause)
        finally:
            try:
                await self._abandon()
            finally:
                self._ended.set()

    async def stop(self, grace: float) -> None:
        """Start nothing more, and return when all has ended; what takes longer than `grace` real seconds is put back."""
        self._stop_at = asyncio.get_running_loop().time() + grace
        self.wake()
        await self._ended.wait()

    def _seconds_to_stop(self) -> float:
        return math.inf if self._stop_at is None else self._stop_at - asyncio.get_running_loop().time()

    def _turn(self) -> float:
        """Record what has ended, and start what is due; returns the real seconds until there may be more to do."""
        if not self._recovered:
            with self._store.write() as tx:
                for task in recover_tasks(tx, running=self._runs.keys()):
                    if task.status == "dead":
                        _record(tx, "task.died", task, BotError(task.error or ""))
            self._recovered = True
        self._settle()
        return self._begin() if self._stop_at is None else self._settings.idle_seconds

    def _settle(self) -> None:
        """Record outcomes; it never awaits, so that no cancellation can interrupt it."""
        for key, run in list(self._runs.items()):
            if run.outcome is not None:
                with self._store.write() as tx:
                    self._record_outcome(tx, run.task, run.outcome)
                del self._runs[key]

    def _record_outcome(self, tx: Transaction, task: Task, outcome: TaskOutcome) -> None:
        if outcome.kind == "done":
            finish_task(tx, task.key, self._owner)
        elif outcome.kind == "released" or outcome.error is None:
            release_tasks(tx, self._owner, [task.key])
        else:
            due_at = tx.now() + timedelta(seconds=self._pause(task, outcome))
            task_row = retry_task(
                tx,
                task.key,
                self._owner,
                due_at=due_at,
                error=words_of(outcome.error),
                limit=self._handlers[task.kind].max_attempts,
                counted=outcome.counted,
            )
            if task_row is not None and (task_row.status == "dead" or outcome.kind == "failed"):
                _record(tx, "task.died" if task_row.status == "dead" else "task.failed", task_row, outcome.error)

    def _pause(self, task: Task, outcome: TaskOutcome) -> float:
        settings, shortest = self._settings, self._settings.min_pause * self._speed
        if outcome.seconds is not None:
            return max(outcome.seconds, shortest)
        pause = back_off(task.tries + 1, settings.initial_pause, settings.max_pause)
        return max(pause * self._random.uniform(0.5, 1.0), shortest)

    def _begin(self) -> float:
        """Start what is due; returns the real seconds until the next task is, at most `idle_seconds`."""
        due = self._next_rest()
        if due > 0:
            return due
        claimed: list[Task] = []
        # A lease that a power cut undoes would have been taken back at the next start anyway.
        with self._store.write(durable=False) as tx:
            while True:
                kinds, busy = self._room(claimed)
                task = claim_task(tx, self._owner, kinds=kinds, busy=busy)
                if task is None:
                    break
                claimed.append(task)
        for task in claimed:
            self._runs[task.key] = run = _Run(task)
            run.begin(self._handlers[task.kind], self.wake)
        return self._next_rest()

    def _next_rest(self) -> float:
        now = self._clock.now()
        kinds, busy = self._room()
        with self._store.read() as session:
            due = next_due(session, now, kinds, busy) if kinds else None
        if due is None:
            return self._settings.idle_seconds
        return min((due - now).total_seconds() / self._speed, self._settings.idle_seconds)

    def _room(self, claimed: list[Task] | None = None) -> tuple[list[str], set[tuple[str, str]]]:
        """Return the kinds of which more may be started, and the pairs of kind and competition that may not."""
        current = [*self.running, *(claimed or ())]
        counts = Counter(task.kind for task in current)
        kinds = [kind for kind, handler in self._handlers.items() if counts[kind] < handler.max_parallel]
        return kinds, {(task.kind, task.competition) for task in current}

    async def _wait(self, seconds: float) -> None:
        """Rest until woken, for at most `seconds`, and no longer than a stop allows."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(_MIN_REST_SECONDS, min(seconds, self._seconds_to_stop()))):
                await self._woken.wait()
        self._woken.clear()

    async def _abandon(self) -> None:
        """Cancel what is being worked on, and put it back; what cannot be recorded is taken back at the next start."""
        for run in self._runs.values():
            run.is_abandoned = True
            run.work.cancel()
        try:
            if works := [run.work for run in self._runs.values()]:
                await asyncio.wait(works, timeout=self._settings.cancel_seconds)
        finally:
            with contextlib.suppress(StateUnavailable):
                self._settle()


def _record(tx: Transaction, type: str, task: Task, error: BaseException) -> None:
    fields = {"task": task.key, "kind": task.kind, "competition": task.competition, "tries": task.tries}
    record_failure(tx, type, error, **fields)
