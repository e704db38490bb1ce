"""How fast the store writes events, and how a long run opens: `python -m tests.bench.bench_state`."""

import asyncio
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from bot.engine.attempts import read_tree
from bot.engine.decisions import DECIDED, Decisions
from bot.engine.strategy import Action
from bot.engine.tree import TreeCache
from bot.evaluation.answers import NodeScore
from bot.execution.folder import run_folders
from bot.execution.record import ExecutionRecord
from state.backup import back_up
from state.clock import SystemClock
from state.integrity import ensure_sound
from state.progress import create_node, end_execution, end_node, resume_run, start_execution, update_node
from state.spending import charge, read_spending
from state.steps import Key, StepKind, Steps, finish_step, start_step
from state.store import Store, Transaction
from tests.bot.execution.ended import ended
from tests.chaos.world import SteadyAnswers, World, wait_until
from tests.scripted_endpoint import ScriptedEndpoint
from tests.state.rows import add_evaluation, create_run, log_model_call

RUN = "spooky_author_identification-comind-openai_some_model-0-20261120T101500000000Z"
COMMITS = 300
ROUNDS = 5
NODES = 5_000
NODES_A_BATCH = 250
RESUME_GOAL = 5.0
"""Seconds."""
STEPS = [StepKind(name, ExecutionRecord) for name in ("plan", "write", "execute:sample", "execute:holdout", "report")]


def seconds(work: Callable[[], object]) -> float:
    """Return what a piece of work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def bare(path: Path, synchronous: str) -> float:
    """Return the seconds of commits of one small row each, by SQLite alone: what no store can do better."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute("CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, type TEXT, data TEXT)")

        def work() -> None:
            for _ in range(COMMITS):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO event (type, data) VALUES ('step.started', ?)", ("x" * 100,))
                connection.execute("COMMIT")

        return seconds(work)


def singly(store: Store, *, durable: bool) -> float:
    """Return the seconds of as many transactions with one event each."""

    def work() -> None:
        for n in range(COMMITS):
            with store.write(durable=durable) as tx:
                tx.record("step.started", run_id=RUN, node=n, name="execute:holdout", attempt=0)

    return seconds(work)


def in_one(store: Store) -> float:
    """Return the seconds of as many events in one durable transaction."""

    def work() -> None:
        with store.write() as tx:
            for n in range(COMMITS):
                tx.record("step.started", run_id=RUN, node=n, name="execute:holdout", attempt=0)

    return seconds(work)


def in_steps(store: Store, round: int) -> float:
    """Return the seconds of as many events as steps write them: one starts, without waiting for the disk; one ends."""

    async def effect() -> dict[str, Any]:
        return {"answer": 42}

    async def work() -> None:
        steps = Steps(store, RUN)
        for n in range(COMMITS // 2):
            await steps.once(StepKind("ask", dict[str, int]), effect, Key(n + 1, attempt=round))

    return seconds(lambda: asyncio.run(work()))


def rates(folder: Path) -> None:
    """Print events a second and ratios, the median of rounds that take turns."""
    kinds: dict[str, list[float]] = {}
    with Store.open(folder / "rates.db", SystemClock()) as store:
        for round in range(ROUNDS):
            taken = {
                "SQLite alone, durable": bare(folder / "bare.db", "FULL"),
                "SQLite alone": bare(folder / "bare.db", "NORMAL"),
                "one event a transaction, durable": singly(store, durable=True),
                "one event a transaction": singly(store, durable=False),
                "steps (each end durable)": in_steps(store, round),
                f"{COMMITS} events a transaction, durable": in_one(store),
            }
            for kind, figure in taken.items():
                kinds.setdefault(kind, []).append(figure)
    base = statistics.median(kinds["SQLite alone, durable"])
    for kind, figures in kinds.items():
        median = statistics.median(figures)
        print(f"{kind:36} {COMMITS / median:8.0f} events/s {base / median:8.2f} of SQLite alone, durable")


def one_node(tx: Transaction, node: int, run: str = RUN) -> None:
    """Write what one node of an AIDE run leaves, some 21 events, without bodies."""
    action = Action("improve", (max(1, node - 1),))
    start_step(tx, run, DECIDED, Key(attempt=node - 2))
    finish_step(tx, run, DECIDED, (action,), Key(attempt=node - 2))
    create_node(tx, run, action="improve", parents=[max(1, node - 1)], id=node, model="m")
    for kind in STEPS:
        start_step(tx, run, kind, Key(node), prompt_hash="0" * 64)
    update_node(tx, run, node, plan="what is tried, in a sentence or two of usual length " * 4)
    at = tx.now()
    log_model_call(
        tx, run, step=f"{node}/write", role="coder", prompt_name="write_script", model="m", as_of=at,
        items=[(f"message/{n}", at) for n in range(10)], messages=[{"role": "user", "content": "?"}], answer="!",
        prompt_hash="0" * 64, prompt_tokens=9000, completion_tokens=2000, cost_usd=0.01, node=node,
    )  # fmt: skip
    charge(tx, run, "tokens", node=node, role="coder", model="m", prompt_tokens=9000, cost_usd=0.01, seconds=20.0)
    start_execution(tx, run, f"n{node}-holdout-0", node=node, view="holdout")
    end_execution(tx, run, f"n{node}-holdout-0", reason="finished", exit_code=0, seconds=31.5)
    charge(tx, run, "execution", node=node, seconds=31.5)
    add_evaluation(tx, run, f"n{node}-holdout-0", score=1 / node, valid=True)
    done = ended(output="fold 1: 0.31\n" * 40, score=NodeScore(1 / node, 0.01))
    for kind in STEPS:
        finish_step(tx, run, kind, done, Key(node))
    end_node(tx, run, node, "valid", score=1 / node, seconds=52.0)


def grow(path: Path) -> None:
    """Write a run of thousands of nodes through the functions that the engine uses."""
    with Store.open(path, SystemClock()) as store:
        with store.write() as tx:
            create_run(tx, RUN, competition="c", agent="comind", model="m", seed=0, cutoff=None)
        for first in range(1, NODES + 1, NODES_A_BATCH):
            with store.write() as tx:
                for node in range(first, first + NODES_A_BATCH):
                    one_node(tx, node)


def long_run(folder: Path) -> None:
    """Print how large a long run's database is, and what a resumed run waits for."""
    path = folder / "long.db"
    grown = seconds(lambda: grow(path))
    reading = seconds(path.read_bytes)
    check = seconds(lambda: ensure_sound(path))
    began = time.perf_counter()
    store = Store.open(path, SystemClock())
    opened = time.perf_counter()
    with closing(store):
        cache = TreeCache()
        tree = seconds(lambda: read_tree(store, RUN, False, cache))
        decisions = seconds(lambda: Decisions(Steps(store, RUN)))
        totals = seconds(lambda: read_spending(store, RUN))
        whole = time.perf_counter() - began
        with store.write() as tx:
            end_node(tx, RUN, NODES, "buggy")
        again = seconds(lambda: read_tree(store, RUN, False, cache))
        with store.read() as session:
            events = session.connection().exec_driver_sql("SELECT count(*) FROM event").scalar_one()
        backup = seconds(lambda: back_up(store))
    size = path.stat().st_size
    print(
        f"{NODES} nodes, {events} events: {size / 1e6:.0f} MB, written in {grown:.0f} s ({events / grown:.0f} events/s)"
    )
    print(
        f"resumed in {whole:.2f} s: opened {opened - began:.2f} (its check {check:.2f}), tree {tree:.2f}, "
        f"decisions {decisions:.2f}, totals {totals:.2f}; {whole / reading:.0f} times as long as reading the file"
    )
    print(
        f"the tree after one change: {again * 1000:.1f} ms, 1/{tree / again:.0f} of the whole; a backup {backup:.2f} s"
    )


def whole_resume(place: Path) -> None:
    """Print how long `bot resume` takes from its start to the first new node of a run that has thousands."""
    with ScriptedEndpoint(SteadyAnswers()) as endpoint:
        world = World(place, endpoint, options=("--agent", "aide", "--steps", "2"))
        assert not world.live(doom=("before", "run.ended", "1")), world.log()
        (folder,) = run_folders([world.out])
        with Store.open(folder.database, SystemClock()) as store:
            with store.write() as tx:
                resume_run(tx, folder.path.name)
            for first in range(3, NODES + 1, NODES_A_BATCH):
                with store.write() as tx:
                    for node in range(first, min(first + NODES_A_BATCH, NODES + 1)):
                        one_node(tx, node, folder.path.name)
        config = json.loads(folder.config.read_text())
        config["settings"]["steps"] = NODES + 1
        folder.config.write_text(json.dumps(config))
        began = time.perf_counter()
        process = world.start()
        with closing(sqlite3.connect(folder.database)) as database:
            query = "SELECT count(*) FROM event WHERE type = 'node.created'"
            assert wait_until(lambda: database.execute(query).fetchone()[0] > NODES, 300), world.log()
        taken = time.perf_counter() - began
        process.kill()
        process.wait()
    verdict = "met" if taken < RESUME_GOAL else "MISSED"
    print(f"bot resume, from its start to the next node: {taken:.2f} s   goal {RESUME_GOAL:g} s: {verdict}")


def main() -> None:
    """Measure on a disk: one in memory, as `/tmp` often is, would tell nothing of durable commits."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        rates(Path(folder))
        long_run(Path(folder))
        whole_resume(Path(folder) / "whole")


if __name__ == "__main__":
    main()
