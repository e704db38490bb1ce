"""Steps: an effect that is finished is never paid for again, however often the run is killed and resumed."""

import json
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from sqlalchemy import ColumnElement, insert, select, update
from sqlmodel import SQLModel

from state.store import Store, Transaction
from state.tables import Run, Step

__all__ = ["Steps", "rng"]

# Rows as they are, without objects: a step is written twice for each effect.
_STEP = SQLModel.metadata.tables[str(Step.__tablename__)]
_KEY = ("run_id", "node", "name", "attempt")


def rng(seed: int, n: int) -> random.Random:
    """Return the generator of a run's n-th decision: the same for the same seed and number, on every machine."""
    return random.Random(f"{seed}/{n}")  # noqa: S311 - repeatable choices, no secrets


class Steps:
    """The steps of one run, each known by (node, name, attempt)."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._in_flight: set[tuple[int, str, int]] = set()

    async def once(
        self,
        name: str,
        make: Callable[[], Awaitable[dict[str, Any]]],
        *,
        node: int | None = None,
        attempt: int = 0,
        prompt_hash: str | None = None,
    ) -> dict[str, Any]:
        """Return what `make` gave when this step was finished, in this process or an earlier one; else run it.

        The result is what JSON makes of it, the first time too (tuples are lists). A step that was started but
        never finished runs again. A prompt's hash is only compared: another one is logged as `step.prompt_changed`.

        Raises:
            RuntimeError: the same step is running in this process.
            TypeError: the result is not JSON.
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
            self._finish(key, result)
            return result
        finally:
            self._in_flight.discard(key)

    async def decision(self, n: int, choose: Callable[[random.Random], dict[str, Any]]) -> dict[str, Any]:
        """Return the run's n-th decision, made once by `choose` with `rng(seed of the run, n)`."""
        with self._store.read() as session:
            run = session.get_one(Run, self._run_id)

        async def make() -> dict[str, Any]:
            return choose(rng(run.seed, n))

        return await self.once("decision", make, attempt=n)

    def _start(self, key: tuple[int, str, int], prompt_hash: str | None) -> dict[str, Any] | None:
        """Return the result of a finished step, or mark this one as started.

        A start need not outlive a power cut: without it the step runs again, as it would with it.
        """
        with self._store.write(durable=False) as tx:
            row = tx.connection.execute(select(_STEP.c.status, _STEP.c.result, _STEP.c.prompt_hash).where(*self._is(key)))
            known = row.one_or_none()
            if known is not None and known.status == "finished":
                if known.prompt_hash != prompt_hash:
                    self._record(tx, "step.prompt_changed", key, stored=known.prompt_hash, now=prompt_hash)
                return known.result or {}
            begun = {"started_at": tx.now(), "prompt_hash": prompt_hash}
            if known is None:
                named = dict(zip(_KEY, (self._run_id, *key), strict=True))
                tx.connection.execute(insert(_STEP), {**named, **begun, "status": "started"})
            else:
                tx.connection.execute(update(_STEP).where(*self._is(key)), begun)
            self._record(tx, "step.started", key)
        return None

    def _finish(self, key: tuple[int, str, int], result: dict[str, Any]) -> None:
        """Keep the result, which was paid for."""
        with self._store.write() as tx:
            done = {"status": "finished", "result": result, "ended_at": tx.now()}
            tx.connection.execute(update(_STEP).where(*self._is(key)), done)
            self._record(tx, "step.ended", key)

    def _is(self, key: tuple[int, str, int]) -> Iterator[ColumnElement[bool]]:
        """Yield what a step's row is known by."""
        for name, value in zip(_KEY, (self._run_id, *key), strict=True):
            yield _STEP.c[name] == value

    def _record(self, tx: Transaction, type: str, key: tuple[int, str, int], **fields: Any) -> None:
        node, name, attempt = key
        tx.record(type, run_id=self._run_id, node=node or None, name=name, attempt=attempt, **fields)
