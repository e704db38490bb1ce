"""Workers: lease tasks as they fall due, have them done side by side, and write down what came of each."""

import asyncio
import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Literal

from bot.daemon.failures import record_failure, words_of
from state.clock import Clock
from state.errors import BotError, Retry, StateUnavailable
from state.store import Store, Transaction
from state.tables import Task
from state.tasks import claim_task, finish_task, next_due, recover_tasks, release_tasks, retry_task

_SHORTEST_REST = 0.01


@dataclass(frozen=True)
class Handler:
    """Who does the tasks of one kind, and within which bounds."""

    run: Callable[[Task], Awaitable[None]]
    """Does one; as the process may die in the middle, it may be called again for the same. Returns when it is done; raises
    `Retry` to say when to try again, or whatever else where it failed. The row is to be read only."""
    at_once: int = 1
    """How many of the kind."""
    one_a_competition: bool = True
    """Whether no two of the kind and of one competition are done at once."""
    longest: float = 600.0
    """Real seconds after which a try is broken off."""
    tries: int = 5
    """How many may fail before a task is given up."""


@dataclass(frozen=True)
class Outcome:
    """What came of a try."""

    kind: Literal["done", "failed", "later", "released"]
    """later: to be tried again for a reason that is no failure; released: broken off, as the workers stop."""
    error: BaseException | None = None
    seconds: float | None = None
    """After how many of the bot's clock to try again; None: as after a failure."""
    counted: bool = True
    """Whether it is one of the tries after which the task is given up."""


async def attempt(handler: Handler, task: Task, is_stopping: Callable[[], bool]) -> Outcome:
    """Try to do a task; whatever the handler raises is an outcome.

    Args:
        handler: who does it.
        task: what to do.
        is_stopping: whether it is the workers' end that cancels it.
    """
    try:
        async with asyncio.timeout(handler.longest) as limit:
            await handler.run(task)
    except asyncio.CancelledError as error:
        return Outcome("released") if is_stopping() else Outcome("failed", error)
    except Retry as error:
        return Outcome("later", error, max(0.0, error.seconds), error.counted)
    except StateUnavailable as error:
        # What the database lacks is no fault of the task's: it waits, however long that lasts.
        return Outcome("later", error, counted=False)
    except TimeoutError as error:
        if not limit.expired():
            return Outcome("failed", error)
        slow = TimeoutError(f"it took longer than {handler.longest:g} s")
        slow.__cause__ = error
        return Outcome("failed", slow)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A supervision boundary. SystemExit too, which a library may raise (kaggle does): it would end the event loop.
        return Outcome("failed", error)
    return Outcome("done")


@dataclass(frozen=True)
class WorkerSettings:
    """How often the workers look, and how long they wait; `real` seconds are the machine's, others those of the clock."""

    idle_seconds: float = 5.0
    """Real: after these they look again, whether or not anything is known to be due."""
    first_pause: float = 10.0
    """After the first try that failed; it doubles with each, and up to a half of it is taken off by chance."""
    longest_pause: float = 3600.0
    shortest_pause: float = 0.25
    """Real: no pause is shorter, however fast the clock is."""
    trouble_seconds: float = 5.0
    """Real: after these the database is tried again that could not be used."""
    cancel_seconds: float = 5.0
    """Real: how long what is broken off may take to end."""


@dataclass
class _Run:
    """A task that is worked on, until what came of it is written down."""

    task: Task
    outcome: Outcome | None = None
    is_abandoned: bool = False
    work: asyncio.Task[None] = field(init=False)

    def begin(self, handler: Handler, ended: Callable[[], None]) -> None:
        """Begin a try; `ended` is called when it is over."""

        async def work() -> None:
            self.outcome = await attempt(handler, self.task, lambda: self.is_abandoned)
            ended()

        self.work = asyncio.create_task(work(), name=f"task {self.task.key}")


class Workers:
    """Does tasks; there is one of these for a database, as it takes every lease that is not its own for that of a dead one."""

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
        """Make them; `run` does the work.

        Args:
            store: where tasks are.
            clock: the time at which they are due.
            handlers: who does what, by kind; tasks of other kinds are left alone.
            settings: bounds.
            speed: the clock's seconds in a real one.
            random: takes something off the pauses between tries.
        """
        self._store, self._clock, self._handlers = store, clock, dict(handlers)
        self._settings, self._speed = settings or WorkerSettings(), speed
        self._random = random or Random()  # noqa: S311 - spreads tries in time
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._runs: dict[str, _Run] = {}
        self._turns = 0
        self._woken = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        self._stop_at: float | None = None
        self._recovered = False

    @property
    def turns(self) -> int:
        """How often they have looked for work: a number that grows at least every `idle_seconds` while all is well."""
        return self._turns

    @property
    def running(self) -> tuple[Task, ...]:
        """What is worked on now, the oldest first."""
        return tuple(run.task for run in self._runs.values())

    def wake(self) -> None:
        """Look for work at once, as there is something new; to be called in the event loop's thread."""
        self._woken.set()

    async def run(self) -> None:
        """Do tasks until `stop`; cancelled, it breaks off what is worked on and puts it back.

        A database that cannot be used makes them wait.

        Raises:
            StateCorrupted: the database is damaged.
        """
        self._ended.clear()
        self._recovered = False
        try:
            while not self._is_over():
                try:
                    rest = self._turn()
                except StateUnavailable:
                    await self._endure()
                    continue
                finally:
                    self._turns += 1
                await self._wait(rest)
        finally:
            try:
                await self._abandon()
            finally:
                self._ended.set()

    async def stop(self, grace: float) -> None:
        """Begin nothing more, ever, and return when all has ended; what takes longer than `grace` real seconds goes back."""
        self._stop_at = asyncio.get_running_loop().time() + grace
        self.wake()
        await self._ended.wait()

    def _is_over(self) -> bool:
        if self._stop_at is None:
            return False
        return not self._runs or asyncio.get_running_loop().time() >= self._stop_at

    def _turn(self) -> float:
        """Write down what has ended, and begin what is due; returns the real seconds until there may be more to do."""
        if not self._recovered:
            self._recover()
        self._settle()
        return self._begin() if self._stop_at is None else self._settings.idle_seconds

    def _recover(self) -> None:
        with self._store.write() as tx:
            for task in recover_tasks(tx, running=self._runs.keys()):
                if task.status == "dead":
                    error = BotError(task.error or "")
                    _record(tx, "task.died", task, error)
        self._recovered = True

    def _settle(self) -> None:
        """Write down what came of tries; no `await` is in between, so that no cancellation can."""
        for key, run in list(self._runs.items()):
            if run.outcome is not None:
                with self._store.write() as tx:
                    self._write_down(tx, run.task, run.outcome)
                del self._runs[key]

    def _write_down(self, tx: Transaction, task: Task, outcome: Outcome) -> None:
        if outcome.kind == "done":
            finish_task(tx, task.key, self._owner)
        elif outcome.kind == "released" or outcome.error is None:
            release_tasks(tx, self._owner, [task.key])
        else:
            due_at = tx.now() + timedelta(seconds=self._pause(task, outcome))
            left = retry_task(
                tx,
                task.key,
                self._owner,
                due_at=due_at,
                error=words_of(outcome.error),
                most=self._handlers[task.kind].tries,
                counted=outcome.counted,
            )
            if left is not None and (left.status == "dead" or outcome.kind == "failed"):
                _record(tx, "task.died" if left.status == "dead" else "task.failed", left, outcome.error)

    def _pause(self, task: Task, outcome: Outcome) -> float:
        """Return the seconds of the clock until the next try."""
        settings, shortest = self._settings, self._settings.shortest_pause * self._speed
        if outcome.seconds is not None:
            return max(outcome.seconds, shortest)
        # Of a bounded power: a float ends at 2**1024.
        pause = min(settings.first_pause * 2.0 ** min(task.tries, 64), settings.longest_pause)
        return max(pause * self._random.uniform(0.5, 1.0), shortest)

    def _begin(self) -> float:
        """Begin what is due; returns the real seconds until the next is, within bounds."""
        due = self._next_rest()
        if due > 0:
            return due
        claimed: list[Task] = []
        # A lease that a power cut forgets would have been taken back all the same.
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
        """Return the kinds of which more may be begun, and the pairs of kind and competition that may not."""
        under_way = [*self.running, *(claimed or ())]
        counts = Counter(task.kind for task in under_way)
        kinds = [kind for kind, handler in self._handlers.items() if counts[kind] < handler.at_once]
        alone = {kind for kind in kinds if self._handlers[kind].one_a_competition}
        return kinds, {(task.kind, task.competition) for task in under_way if task.kind in alone}

    async def _wait(self, seconds: float) -> None:
        """Rest until woken; no longer than that, or than a stop allows."""
        if self._stop_at is not None:
            seconds = min(seconds, self._stop_at - asyncio.get_running_loop().time())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(_SHORTEST_REST, seconds)):
                await self._woken.wait()
        self._woken.clear()

    async def _endure(self) -> None:
        """Wait while the database cannot be used, in which nothing else is a reason to look, but a stop that is short."""
        left = self._settings.trouble_seconds
        if self._stop_at is not None:
            left = min(left, self._stop_at - asyncio.get_running_loop().time())
        await asyncio.sleep(max(_SHORTEST_REST, left))

    async def _abandon(self) -> None:
        """Break off what is worked on, and put it back; what cannot be written down is taken back at the next start."""
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
    told = {"task": task.key, "kind": task.kind, "competition": task.competition, "tries": task.tries}
    record_failure(tx, type, error, **told)
