"""Steps: a finished effect is never paid for again, however often the run is killed, or the database cannot be written to."""

import random
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import bindparam, insert, select, update
from sqlmodel import Session, SQLModel

from state.errors import StateUnavailable
from state.store import Store, Transaction
from state.tables import Run, Step

PATIENCE = 600.0
"""Seconds to wait for the end of a full disk, a lock or a lack of descriptors."""
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 15.0

ResultT = TypeVar("ResultT")


async def write_with_retry(
    store: Store, work: Callable[[Transaction], ResultT], *, seconds: float = PATIENCE
) -> ResultT:
    """Do work in one transaction; while the database is unavailable, wait and try again.

    `work` may be called several times; a failed try leaves nothing behind. The pauses take `seconds` in all.

    Raises:
        StateUnavailable: the database stayed unavailable for longer.
        StateCorrupted: waiting would not help.
        Whatever `work` raises.
    """
    waited, pause = 0.0, _FIRST_PAUSE
    while True:
        try:
            with store.write() as tx:
                return work(tx)
        except StateUnavailable:
            if waited >= seconds:
                raise
        await store.clock.sleep(pause)
        waited, pause = waited + pause, min(2 * pause, _LONGEST_PAUSE)


T = TypeVar("T")

# Plain statements instead of objects, which are slower: each effect writes its step twice.
_STEP = SQLModel.metadata.tables[str(Step.__tablename__)]
_ID = ("run_id", "node", "name", "attempt")
_IS = [_STEP.c[name] == bindparam(f"its_{name}") for name in _ID]
_LOOK = select(_STEP.c.status, _STEP.c.result, _STEP.c.prompt_hash).where(*_IS)
_INSERT = insert(_STEP)
_BEGIN_AGAIN = (
    update(_STEP).where(*_IS).values(started_at=bindparam("started_at"), prompt_hash=bindparam("prompt_hash"))
)
_FINISH = update(_STEP).where(*_IS).values({name: bindparam(name) for name in ("status", "result", "ended_at")})


@dataclass(frozen=True)
class StepKind(Generic[T]):
    """A kind of step: one constant beside the code that makes it."""

    name: str
    result: type[T]
    """Of its results, which are stored as JSON; None is none."""

    @cached_property
    def adapter(self) -> TypeAdapter[T]:
        """What turns a result into JSON and back."""
        return TypeAdapter(self.result)

    def step(self, part: str = "") -> str:
        """Return the name of its steps in the database."""
        return f"{self.name}:{part}" if part else self.name


class Key(NamedTuple):
    """What tells the steps of one kind and run apart."""

    node: int = 0
    """0: none."""
    part: str = ""
    """Such as a view."""
    attempt: int = 0


RUN = Key()
"""Of a step that a run has once."""


def rng(seed: int, n: int) -> random.Random:
    """Return the generator of a run's n-th decision: the same for the same seed and number, on every machine."""
    return random.Random(f"{seed}/{n}")  # noqa: S311 - repeatable choices, no secrets


class Steps:
    """The steps of one run."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._in_flight: set[tuple[str, Key]] = set()
        self._seed: int | None = None

    async def once(
        self,
        kind: StepKind[T],
        make: Callable[[], Awaitable[T]],
        key: Key = RUN,
        *,
        prompt_hash: str | None = None,
        save: Callable[[Transaction, T], object] | None = None,
    ) -> T:
        """Return the result of `make` if this step has finished, in this process or an earlier one; otherwise run it.

        The result passes through JSON, the first time too. A step that was started but never finished runs again. A
        prompt's hash is only compared: a different one is logged as `step.prompt_changed`. `save` writes rows that belong
        to the result, in the transaction that stores it; it may be called several times.

        Raises:
            RuntimeError: the same step is running in this process.
            PydanticSerializationError: the result is not JSON.
            StateUnavailable: the database could not be written to; for the result this is tried for ten minutes.
            Whatever `make` raises; the step then stays unfinished.
        """
        step_id = (kind.name, key)
        if step_id in self._in_flight:
            raise RuntimeError(f"step {step_id} is already running")
        self._in_flight.add(step_id)
        try:
            # A start need not outlive a power cut: the step runs again with or without it.
            with self._store.write(durable=False) as tx:
                finished = start_step(tx, self._run_id, kind, key, prompt_hash=prompt_hash)
            if finished is not None:
                return finished
            result = kind.adapter.validate_python(kind.adapter.dump_python(await make(), mode="json"))

            def keep(tx: Transaction) -> None:
                if save is not None:
                    save(tx, result)
                finish_step(tx, self._run_id, kind, result, key)

            # It was paid for: a database that is unavailable for some minutes must not lose it.
            await write_with_retry(self._store, keep)
            return result
        finally:
            self._in_flight.discard(step_id)

    async def newest(
        self, kind: StepKind[T], is_current: Callable[[T], bool], make: Callable[[], Awaitable[T]]
    ) -> tuple[int, T]:
        """Return the newest result of a kind and its number, from 1, made anew unless it `is_current`; raises as `once`."""
        results = self.all(kind)
        number = max((key.attempt for key in results), default=0)
        if results and is_current(results[Key(attempt=number)]):
            return number, results[Key(attempt=number)]
        return number + 1, await self.once(kind, make, Key(attempt=number + 1))

    async def decision(self, kind: StepKind[T], n: int, choose: Callable[[random.Random], T]) -> T:
        """Return the run's n-th decision, made once by `choose` with `rng(seed of the run, n)`."""
        if self._seed is None:
            with self._store.read() as session:
                self._seed = session.get_one(Run, self._run_id).seed
        seed = self._seed

        async def make() -> T:
            return choose(rng(seed, n))

        return await self.once(kind, make, Key(attempt=n))

    def find(self, kind: StepKind[T], key: Key = RUN) -> T | None:
        """Return the result of a finished step; None: it has not finished."""
        with self._store.read() as session:
            return read_step(session, self._run_id, kind, key)

    def all(self, kind: StepKind[T], node: int | None = None, part: str = "") -> dict[Key, T]:
        """Return the results of a kind's finished steps in order of their attempts; of all nodes, or of one."""
        with self._store.read() as session:
            return read_steps(session, self._run_id, kind, (part,), None if node is None else (node,))


def read_step(session: Session, run_id: str, kind: StepKind[T], key: Key = RUN) -> T | None:
    """Return the result of a finished step; None: it has not finished."""
    row = session.connection().execute(_LOOK, _bound(run_id, kind, key)).one_or_none()
    return None if row is None or row.status != "finished" else kind.adapter.validate_python(row.result)


def read_steps(
    session: Session, run_id: str, kind: StepKind[T], parts: Sequence[str] = ("",), nodes: Collection[int] | None = None
) -> dict[Key, T]:
    """Return the results of a kind's finished steps, part by part, each in order of attempts; `nodes` None: of all."""
    results: dict[Key, T] = {}
    for part in parts:
        query = select(_STEP.c.node, _STEP.c.attempt, _STEP.c.result).where(
            _STEP.c.run_id == run_id, _STEP.c.name == kind.step(part), _STEP.c.status == "finished"
        )
        if nodes is not None:
            query = query.where(_STEP.c.node.in_(nodes))
        for row in session.connection().execute(query.order_by(_STEP.c.attempt, _STEP.c.node)):
            results[Key(row.node, part, row.attempt)] = kind.adapter.validate_python(row.result)
    return results


def start_step(
    tx: Transaction, run_id: str, kind: StepKind[T], key: Key = RUN, *, prompt_hash: str | None = None
) -> T | None:
    """Return the result of a finished step, or mark this one as started."""
    bound = _bound(run_id, kind, key)
    row = tx.connection.execute(_LOOK, bound).one_or_none()
    if row is not None and row.status == "finished":
        if row.prompt_hash != prompt_hash:
            _record(tx, "step.prompt_changed", run_id, kind, key, stored=row.prompt_hash, now=prompt_hash)
        return kind.adapter.validate_python(row.result)
    start = {"started_at": tx.now(), "prompt_hash": prompt_hash}
    if row is None:
        id_values = {name: bound[f"its_{name}"] for name in _ID}
        tx.connection.execute(_INSERT, {**id_values, **start, "status": "started"})
    else:
        tx.connection.execute(_BEGIN_AGAIN, {**bound, **start})
    _record(tx, "step.started", run_id, kind, key)
    return None


def finish_step(tx: Transaction, run_id: str, kind: StepKind[T], result: T, key: Key = RUN) -> None:
    """Store the result of a started step."""
    finish = {"status": "finished", "result": kind.adapter.dump_python(result, mode="json"), "ended_at": tx.now()}
    tx.connection.execute(_FINISH, {**_bound(run_id, kind, key), **finish})
    _record(tx, "step.ended", run_id, kind, key)


def _bound(run_id: str, kind: StepKind[Any], key: Key) -> dict[str, Any]:
    """Return the parameters by which the statements above identify a step."""
    return dict(zip((f"its_{name}" for name in _ID), (run_id, key.node, kind.step(key.part), key.attempt), strict=True))


def _record(tx: Transaction, type: str, run_id: str, kind: StepKind[Any], key: Key, **fields: Any) -> None:
    name = kind.step(key.part)
    tx.record(type, run_id=run_id, node=key.node or None, name=name, attempt=key.attempt, **fields)
