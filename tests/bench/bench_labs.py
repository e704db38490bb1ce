"""What a lab costs beside the commands and scripts that run in it: `python -m tests.bench.bench_labs`, in each back end here.

A scripted model lives through 40 turns, each printing what a coder would see in full (16,000 characters), among a thousand
posts that it could read. Then: a lab whose model thinks, a lab that prints 40 times 30 MB, and `lab score` at 5,000
validation rows. The process that is measured is the bot's; the evaluator's worker is another.
"""

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import psutil
from sqlmodel import select

from bot.coder.lab.settings import LabSettings
from bot.engine.context import RunContext
from bot.models import CallLimits, Completion, Prompt
from bot.report.export import export_prompts
from sandbox import Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from state.tables import Execution, ModelCall
from tests.bot.coder.lab.scripted import SOLUTION, Scripted, lived, sh, turns, written
from tests.bot.engine.parts import RUN
from tests.tiny_snapshot import write_tiny

TURNS, POSTS, ROWS = 40, 1000, 23_000
THINKING = 20.0
"""Seconds of a reply that is waited for."""
TURN_GOAL, IDLE_GOAL, SCORE_GOAL, GROWTH_GOAL = 0.05, 0.001, 0.5, 20_000_000
AnswerT = TypeVar("AnswerT")


class Timed(Scripted):
    """Notes when it was asked and when it had replied, and calls `asked` before it replies."""

    def __init__(self, replies: Sequence[str], asked: Callable[[int], object] = lambda turn: None) -> None:
        super().__init__(replies)
        self.asked = asked
        self.came: list[tuple[float, float]] = []
        self.left: list[tuple[float, float]] = []

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Reply."""
        self.came.append((time.perf_counter(), time.process_time()))
        if asyncio.iscoroutine(waited := self.asked(len(self.came))):
            await waited
        completion = await super().complete(prompt, role=role, limits=limits)
        self.left.append((time.perf_counter(), time.process_time()))
        return completion

    @property
    def seconds(self) -> list[float]:
        """Seconds from each reply to the next question."""
        return [came[0] - left[0] for left, came in zip(self.left, self.came[1:], strict=False)]

    @property
    def own_seconds(self) -> list[float]:
        """Seconds of the processor that the bot took meanwhile."""
        return [came[1] - left[1] for left, came in zip(self.left, self.came[1:], strict=False)]


def back_ends() -> Iterator[tuple[str, Sandbox]]:
    """Yield those that have labs and work here."""
    for name, sandbox in (("bubblewrap", BubblewrapSandbox()), ("docker", DockerSandbox("bench"))):
        if problem := sandbox.problem():
            print(f"without {name}: {problem}")
        else:
            yield name, sandbox


def snapshot_in(folder: Path, rows: int = 240) -> Path:
    """Write a competition with many posts."""
    folder.mkdir()
    write_tiny(folder / "tiny", rows=rows)
    path = folder / "tiny/community/messages.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    more = (
        first | {"id": 1000 + n, "markdown": f"Remark {n}: trees of depth {n % 9} gain {n}e-5."} for n in range(POSTS)
    )
    with path.open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in more)
    return folder


async def turn_cost(folder: Path, sandbox: Sandbox, profile: bool) -> None:
    """Print what a turn takes beside its command, and what is written of a conversation."""
    model, profiler = Timed([sh("seq 100000000 | head -c 5800")] * TURNS), cProfile.Profile()
    model.asked = lambda turn: profiler.enable() if profile and turn == 2 else None
    async with lived(snapshot_in(folder), model, LabSettings(turns=TURNS), sandbox=sandbox) as context:
        profiler.disable()
        commands = context.executor.stopwatch.of("commands") / TURNS
        seconds, own = model.seconds[1:], model.own_seconds[1:]  # the first opens the sandbox
        _print("a turn, a command of nothing included", statistics.median(seconds), TURN_GOAL, _ms)
        _print("  of the bot's own processor time", statistics.median(own), TURN_GOAL, _ms)
        early, late = (_ms(statistics.median(part)) for part in (own[:10], own[-10:]))
        print(
            f"    in the sandbox {_ms(commands)}; processor: turns 2 to 11 {early}, last ten {late}, most {_ms(max(own))}"
        )
        began, path = time.perf_counter(), folder / "prompts.jsonl"
        export_prompts(context.store, RUN, path)
        took = time.perf_counter() - began
        with context.store.read() as session:
            calls = session.exec(select(ModelCall)).all()
        sizes = [len(zlib.compress(context.store.blob(call.messages_sha))) for call in calls]
        items = sum(len(json.dumps(call.items)) for call in calls)
        print(
            f"    {len(calls)} calls: {sum(sizes) / 1e6:.1f} MB of conversation in the database, {items / 1e6:.2f} MB of names "
            f"of posts; prompts.jsonl {path.stat().st_size / 1e6:.1f} MB in {took:.2f} s"
        )
    if profile:
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(60)


async def idle_cost(folder: Path, sandbox: Sandbox) -> None:
    """Print what a lab takes of the processor while its model thinks."""
    shares: list[float] = []

    async def think(turn: int) -> None:
        if turn == 2:
            before, began = _cpu_seconds(), time.perf_counter()
            await asyncio.sleep(THINKING)
            shares.append((_cpu_seconds() - before) / (time.perf_counter() - began))

    async with lived(snapshot_in(folder), Timed([sh("touch $(seq 2000)")], think), sandbox=sandbox):
        _print("share of a core while the model thinks", shares[0], IDLE_GOAL, "{:.3%}".format)


async def growth(folder: Path, sandbox: Sandbox) -> None:
    """Print by how much the bot grows over turns that print a lot."""
    sizes: list[int] = []
    model = Timed([sh("yes 'a line of no use' | head -c 30000000")] * TURNS, lambda _: sizes.append(_memory()))
    async with lived(snapshot_in(folder), model, sandbox=sandbox):
        _print(
            f"growth over {TURNS} turns of 30 MB",
            max(sizes) - sizes[0],
            GROWTH_GOAL,
            lambda size: f"{size / 1e6:.1f} MB",
        )


async def score_cost(folder: Path, sandbox: Sandbox) -> None:
    """Print what `lab score` takes beside the execution that it asks for, a sandbox's start and end included."""
    timed = "s=$(date +%s%N); lab score solution.py; echo took $(( ($(date +%s%N) - s) / 1000000 ))"
    replies = [written("solution.py", SOLUTION, timed, 0.5 + n) for n in range(5)]
    folder = snapshot_in(folder, ROWS)
    async with lived(folder, Timed(replies), sandbox=sandbox) as context:
        took = [int(seen.rpartition("took ")[2].split()[0]) / 1000 for seen in turns(context)[: len(replies)]]
        ran, sandboxed = zip(*(_execution(context, node) for node in range(2, 2 + len(replies))), strict=True)
        above = [whole - execution for whole, execution in zip(took, sandboxed, strict=True)]
        around = [execution - script for execution, script in zip(sandboxed, ran, strict=True)]
        rows = len((context.executor.folder.views / "holdout" / "validation.csv").read_text().splitlines()) - 1
        _print(
            f"`lab score` above its execution, {rows} validation rows", statistics.median(above[1:]), SCORE_GOAL, _ms
        )
        print(
            f"    scripts {', '.join(map(_ms, ran))}; above executions {', '.join(map(_ms, above))} (the first looks at the data)"
        )
        print(f"    a sandbox's start and end beside that: {_ms(statistics.median(around[1:]))}")


def _execution(context: RunContext, node: int) -> tuple[float, float]:
    """Return the seconds of a node's script, and those with its sandbox's start and end."""
    with context.store.read() as session:
        row = session.exec(select(Execution).where(Execution.node == node)).one()
    assert row.ended_at is not None
    assert row.seconds is not None
    return row.seconds, (row.ended_at - row.started_at).total_seconds()


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that live below it."""
    own = psutil.Process()
    return sum(sum(one.cpu_times()[:2]) for one in (own, *own.children(recursive=True)))


def _memory() -> int:
    return psutil.Process().memory_info().rss


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _print(what: str, value: float, goal: float, shown: Callable[[float], str]) -> None:
    print(
        f"  {what}: {shown(value)}, {value / goal:.2f} of the goal of {shown(goal)}: {'met' if value <= goal else 'MISSED'}"
    )


def main() -> None:
    """Measure in each back end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true", help="where the time of turns goes")
    profile = parser.parse_args().profile
    for name, sandbox in back_ends():
        print(f"{name}; load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
        with tempfile.TemporaryDirectory() as place:
            Path(place).chmod(0o755)
            asyncio.run(turn_cost(Path(place) / "turns", sandbox, profile))
            asyncio.run(idle_cost(Path(place) / "idle", sandbox))
            asyncio.run(growth(Path(place) / "growth", sandbox))
            asyncio.run(score_cost(Path(place) / "score", sandbox))


if __name__ == "__main__":
    main()
