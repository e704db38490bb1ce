"""The long kill test, `make chaos`: real runs, killed again and again, and what must hold afterwards; prints figures.

Without arguments all parts run; else those named: `kills`, `boundaries`, `cap`, `snapshots`.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bot.execution.folder import run_folders
from sandbox.bubblewrap import BubblewrapSandbox
from tests.chaos.doomed import label
from tests.chaos.invariants import Memory, check, events, outcome, tree
from tests.chaos.world import CALL_COST, PRICE, SteadyAnswers, World, bad_days
from tests.scripted_endpoint import ScriptedEndpoint

KILLS = 200
FEWEST_RUNS = 6
STEPS = "16"
LONGEST_LIFE = 14.0
"""Seconds of work before a kill, more than any step takes; one kill in five comes while the bot starts."""
AT_ONCE = 2
GROUPS = 8
"""Runs among which the boundaries are shared out, so that none dies over one step too often."""
LAB = ("--coder", "lab", "--time", "20m")
AFFORDABLE = 400
"""Calls that a dollar pays."""
_UNSTEADY = {"run.beat"}


def sandboxes() -> Sequence[str]:
    """Return the back ends to run scripts in: bubblewrap too, where it works."""
    return ["process"] if BubblewrapSandbox().problem() else ["process", "bubblewrap"]


def undisturbed(place: Path, options: Sequence[str], sandbox: str = "process") -> list[tuple[Any, ...]]:
    """Return the tree of a run that nobody disturbs."""
    with ScriptedEndpoint(SteadyAnswers()) as endpoint:
        world = World(place, endpoint, sandbox=sandbox, options=options)
        assert world.live(), world.log()
        check(world, slots=1)
        return tree(run_folders([world.out])[0].path)


def random_kills(place: Path) -> dict[str, int]:
    """Kill runs at random moments, half of them with two slots, until there were enough kills."""
    kinds = sandboxes()
    agents = ("comind", "aide", "lab") if "bubblewrap" in kinds else ("comind", "aide")
    trees = {
        agent: undisturbed(place / f"calm-{agent}", options_of(agent, 1), kinds[-1 if agent == "lab" else 0])
        for agent in agents
    }
    total: Counter[str] = Counter()

    def one(number: int) -> Counter[str]:
        agent, slots = agents[number // 2 % len(agents)], 1 + number % 2
        rng = random.Random(number)
        with ScriptedEndpoint(SteadyAnswers(faulty=bad_days)) as endpoint:
            options, kind = options_of(agent, slots), kinds[-1 if agent == "lab" else number // 4 % len(kinds)]
            world = World(place / f"run-{number}", endpoint, sandbox=kind, options=options)
            memory = Memory()
            while not world.live(rng.uniform(0.0, LONGEST_LIFE), at_work=rng.random() < 0.8) or has_failed(world):
                memory.look(world.out)
            memory.look(world.out)
            figures = check(world, slots=slots)
            if slots == 1:
                found = tree(run_folders([world.out])[0].path)
                assert found == trees[agent], f"another tree than undisturbed:\n{found}\n{trees[agent]}"
            print(f"  run {number}: {agent}, {kind}, {slots} slot(s): {world.kills} kills, {figures}", flush=True)
            return Counter(figures) + Counter(runs=1, kills=world.kills)

    number = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while total["kills"] < KILLS or total["runs"] < FEWEST_RUNS:
            for figures in pool.map(one, range(number, number + AT_ONCE)):
                total += figures
            number += AT_ONCE
    return dict(total)


def has_failed(world: World) -> bool:
    """Return whether a run ended for reasons outside it, as when the first that an endpoint says is an HTML page."""
    results = [json.loads(folder.result.read_text()) for folder in run_folders([world.out])]
    return any(result["status"] == "failed" for result in results)


def options_of(agent: str, slots: int) -> tuple[str, ...]:
    """Return the options of a run."""
    common = ("--steps", STEPS, "--parallel", str(slots))
    return (*LAB, *common) if agent == "lab" else ("--agent", agent, *common)


def every_boundary(place: Path) -> dict[str, int]:
    """Kill at every named boundary of a run that writes scripts alone, and of one whose coder works in a lab."""
    figures = Counter(boundaries_of(place / "scripts", ("--steps", "6"), "process"))
    if "bubblewrap" in sandboxes():
        figures += Counter(boundaries_of(place / "lab", (*LAB, "--steps", "4"), "bubblewrap"))
    return dict(figures)


def boundaries_of(place: Path, options: Sequence[str], sandbox: str) -> dict[str, int]:
    """Kill at every named boundary, before its commit and after; the tree and what is handed in must be the same."""
    expected = undisturbed(place / "calm", options, sandbox)
    calm = run_folders([place / "calm" / "runs"])[0].path
    assert "lab" in options or outcome(calm)["blend"], "nothing was blended, so that little is killed"
    found = [label(e["type"], e) for e in events(calm)]
    names = [name for name in dict.fromkeys(found) if name not in _UNSTEADY]
    dooms = [(moment, name, "1") for name in names for moment in ("before", "after")]
    dooms += [("before", "run.resumed", "1"), ("after", "run.resumed", "1")]

    def one(group: int) -> int:
        with ScriptedEndpoint(SteadyAnswers()) as endpoint:
            world = World(place / f"group-{group}", endpoint, sandbox=sandbox, options=options)
            memory = Memory()
            for doom in dooms[group::GROUPS]:
                ended = world.live(doom=doom)
                memory.look(world.out)
                assert not ended, f"it did not come to {doom}: {world.log()}"
            assert world.live(), world.log()
            memory.look(world.out)
            check(world, slots=1)
            (run,) = run_folders([world.out])
            assert tree(run.path) == expected, f"group {group}: another tree than undisturbed"
            assert outcome(run.path) == outcome(calm), f"group {group}: another outcome than undisturbed"
            return world.kills

    with ThreadPoolExecutor(AT_ONCE) as pool:
        kills = sum(pool.map(one, range(GROUPS)))
    print("  boundaries:", ", ".join(names))
    return {"boundaries": len(names), "kills": kills, "runs": GROUPS}


def dollar_cap(place: Path) -> Mapping[str, float]:
    """Let eight coders at a time spend a dollar."""
    with ScriptedEndpoint(SteadyAnswers()) as endpoint:
        options = ("--parallel", "8", "--max-cost", "1", "--steps", "400", "--agent", "aide", "--time", "20m")
        world = World(place / "cap", endpoint, options=options, price=PRICE / (AFFORDABLE * CALL_COST))
        assert world.live(), world.log()
        result = json.loads(run_folders([world.out])[0].result.read_text())
    cost = result["llm"]["cost_usd"]
    assert 0.8 < cost <= 1.0, cost
    assert "cap" in result["stopped_by"], result["stopped_by"]
    assert result["valid_submission"]
    return {"spent_usd": round(cost, 4), "calls": result["llm"]["calls"], "nodes": result["nodes"]}


def all_snapshots(place: Path) -> Mapping[str, int]:
    """Replay every snapshot with both agents in one command, killed twice."""
    folder = os.environ.get("BOT_SNAPSHOTS")
    if not folder:
        print("  skipped: BOT_SNAPSHOTS names no folder of snapshots")
        return {}
    snapshots = sorted(path.parent for path in Path(folder).glob("*/snapshot.json"))
    with ScriptedEndpoint(SteadyAnswers(copies=True)) as endpoint:
        options = ("--agent", "comind,aide", "--steps", "2")
        world = World(place / "all", endpoint, options=options, snapshots=snapshots)
        memory = Memory()
        for seconds in (40.0, 75.0):
            assert not world.live(seconds), "it ended before it was killed"
            memory.look(world.out)
        assert world.live(), world.log()
        memory.look(world.out)
        figures = check(world, slots=1)
        results = [json.loads(line) for line in (world.place / "results").read_text().splitlines()]
    assert len(results) == 2 * len(snapshots)
    return {**figures, "results": len(results), "kills": world.kills}


PARTS: Mapping[str, Callable[[Path], Mapping[str, float]]] = {
    "kills": random_kills,
    "boundaries": every_boundary,
    "cap": dollar_cap,
    "snapshots": all_snapshots,
}


def main(names: Sequence[str]) -> None:
    """Run the parts and print what came of them; an invariant that does not hold ends it with a traceback."""
    for name in names or PARTS:
        print(f"{name}: ", flush=True)
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="bot-chaos-", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o755)
            figures = PARTS[name](Path(folder))
        print(f"{name}: every invariant held; {dict(figures)}; {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
