"""Steps: a finished effect is never paid for again, however often the run is killed and resumed."""

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlmodel import SQLModel

from state.patience import patiently
from state.store import Store, Transaction
from state.tables import Run, Step

# Plain statements instead of objects, which are slower: each effect writes its step twice.
_STEP = SQLModel.metadata.tables[str(Step.__tablename__)]
_KEY = ("run_id", "node", "name", "attempt")
_Key = tuple[str, int, str, int]
_DECISION = "decision"
_IS = [_STEP.c[name] == bindparam(f"its_{name}") for name in _KEY]
_LOOK = select(_STEP.c.status, _STEP.c.result, _STEP.c.prompt_hash).where(*_IS)
_INSERT = insert(_STEP)
_BEGIN_AGAIN = (
    update(_STEP).where(*_IS).values(started_at=bindparam("started_at"), prompt_hash=bindparam("prompt_hash"))
)
_FINISH = update(_STEP).where(*_IS).values({name: bindparam(name) for name in ("status", "result", "ended_at")})


def rng(seed: int, n: int) -> random.Random:
    """Return the generator of a run's n-th decision: the same for the same seed and number, on every machine."""
    return random.Random(f"{seed}/{n}")  # noqa: S311 - repeatable choices, no secrets


class Steps:
    """The steps of one run, each identified by (node, name, attempt)."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._in_flight: set[tuple[int, str, int]] = set()
        self._seed: int | None = None

    async def once(
        self,
        name: str,
        make: Callable[[], Awaitable[dict[str, Any]]],
        *,
        node: int | None = None,
        attempt: int = 0,
        prompt_hash: str | None = None,
    ) -> dict[str, Any]:
        """Return the result of `make` if this step has finished, in this process or an earlier one; otherwise run it.

        The result passes through JSON, the first time too (tuples become lists). A step that was started but never
        finished runs again. A prompt's hash is only compared: a different one is logged as `step.prompt_changed`.

        Raises:
            RuntimeError: the same step is running in this process.
            TypeError: the result is not JSON.
            StateUnavailable: the database could not be written to; for the result this is tried for ten minutes.
            Whatever `make` raises; the step then stays unfinished.
        """
        key = (node or 0, name, attempt)
        if key in self._in_flight:
            raise RuntimeError(f"step {key} is already running")
        self._in_flight.add(key)
        try:
            finished = self._start(key, prompt_hash)
            if finished is not None:
                return finished
            result: dict[str, Any] = json.loads(json.dumps(await make()))
            await self._finish(key, result)
            return result
        finally:
            self._in_flight.discard(key)

    async def decision(self, n: int, choose: Callable[[random.Random], dict[str, Any]]) -> dict[str, Any]:
        """Return the run's n-th decision, made once by `choose` with `rng(seed of the run, n)`."""
        if self._seed is None:
            with self._store.read() as session:
                self._seed = session.get_one(Run, self._run_id).seed
        seed = self._seed

        async def make() -> dict[str, Any]:
            return choose(rng(seed, n))

        return await self.once(_DECISION, make, attempt=n)

    def decisions(self) -> dict[int, dict[str, Any]]:
        """Return the decisions made so far, by number: all at once, for a run that is resumed."""
        return self.finished(_DECISION)

    def finished(self, name: str, node: int = 0) -> dict[int, dict[str, Any]]:
        """Return the results of a node's finished steps with a name, by attempt; `node` 0 means none."""
        made = select(_STEP.c.attempt, _STEP.c.result).where(
            _STEP.c.run_id == self._run_id, _STEP.c.node == node, _STEP.c.name == name, _STEP.c.status == "finished"
        )
        with self._store.read() as session:
            return {row.attempt: row.result for row in session.connection().execute(made.order_by(_STEP.c.attempt))}

    def _start(self, key: tuple[int, str, int], prompt_hash: str | None) -> dict[str, Any] | None:
        """Return the result of a finished step, or mark this one as started.

        A start need not outlive a power cut: the step runs again with or without it.
        """
        node, name, attempt = key
        with self._store.write(durable=False) as tx:
            return start_step(tx, self._run_id, name, node=node, attempt=attempt, prompt_hash=prompt_hash)

    async def _finish(self, key: tuple[int, str, int], result: dict[str, Any]) -> None:
        """Store the result, which was paid for: a database that is unavailable for some minutes must not lose it."""
        node, name, attempt = key
        await patiently(self._store, lambda tx: finish_step(tx, self._run_id, name, result, node=node, attempt=attempt))


def start_step(
    tx: Transaction, run_id: str, name: str, *, node: int = 0, attempt: int = 0, prompt_hash: str | None = None
) -> dict[str, Any] | None:
    """Return the result of a finished step, or mark this one as started; `node` 0 means none."""
    key = (run_id, node, name, attempt)
    known = tx.connection.execute(_LOOK, _bound(key)).one_or_none()
    if known is not None and known.status == "finished":
        if known.prompt_hash != prompt_hash:
            _record(tx, "step.prompt_changed", key, stored=known.prompt_hash, now=prompt_hash)
        return known.result or {}
    begun = {"started_at": tx.now(), "prompt_hash": prompt_hash}
    if known is None:
        tx.connection.execute(_INSERT, {**dict(zip(_KEY, key, strict=True)), **begun, "status": "started"})
    else:
        tx.connection.execute(_BEGIN_AGAIN, {**_bound(key), **begun})
    _record(tx, "step.started", key)
    return None


def finish_step(
    tx: Transaction, run_id: str, name: str, result: dict[str, Any], *, node: int = 0, attempt: int = 0
) -> None:
    """Store the result of a started step."""
    key = (run_id, node, name, attempt)
    done = {"status": "finished", "result": result, "ended_at": tx.now()}
    tx.connection.execute(_FINISH, {**_bound(key), **done})
    _record(tx, "step.ended", key)


def _bound(key: _Key) -> dict[str, Any]:
    """Return the parameters by which the statements above identify a step."""
    return {f"its_{name}": value for name, value in zip(_KEY, key, strict=True)}


def _record(tx: Transaction, type: str, key: _Key, **fields: Any) -> None:
    run_id, node, name, attempt = key
    tx.record(type, run_id=run_id, node=node or None, name=name, attempt=attempt, **fields)
