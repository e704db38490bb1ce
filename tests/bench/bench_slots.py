"""How busy slots are kept: `python -m tests.bench.bench_slots`. Four coders share two slots, whose executions only sleep.

With `--fleet` six coders share four slots on two nodes of a Ray cluster on this machine.

Busy is the share of both slots' time in which an execution runs, from the first moment in which both are taken to the
last one in which another execution begins, which is while work is queued.
"""

import argparse
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from bot.execution.folder import run_folders
from tests.chaos.world import SteadyAnswers, World
from tests.sandbox.fleet.nodes import small_cluster
from tests.scripted_endpoint import ScriptedEndpoint

CODERS, SLOTS, NODES = 4, 2, 40
SLEEP = 4.0
"""Seconds of an execution; real ones take minutes."""
GOAL = 0.95


def busy_share(spans: Sequence[tuple[float, float]], slots: int) -> float:
    """Return the share of the slots' time that these spans (start and end in seconds) fill while work is queued."""
    starts = sorted(start for start, _ in spans)
    begin, end = starts[slots - 1], starts[-1]
    return sum(max(0.0, min(stop, end) - max(start, begin)) for start, stop in spans) / (slots * (end - begin))


def spans_of(database: Path) -> list[tuple[float, float]]:
    """Return when each execution of the search began and ended, trials on the sample among them, the baseline's aside."""
    with sqlite3.connect(database) as connection:
        query = (
            "SELECT started_at, ended_at FROM execution "
            "WHERE view IN ('sample', 'holdout') AND node > 1 AND ended_at IS NOT NULL"
        )
        rows = connection.execute(query).fetchall()
    return [tuple(datetime.fromisoformat(at).timestamp() for at in row) for row in rows]  # type: ignore[misc]


def main() -> None:
    """Run, and print the share."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fleet", action="store_true", help="on nodes of a cluster")
    fleet = parser.parse_args().fleet
    coders, slots = (6, 4) if fleet else (CODERS, SLOTS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        endpoint = stack.enter_context(ScriptedEndpoint(SteadyAnswers(seconds=SLEEP)))
        options = ["--agent", "aide", "--parallel", str(coders), "--cpus", "1", "--gpus", "0", "--steps", str(NODES)]
        if fleet:
            os.environ["RAY_ADDRESS"] = stack.enter_context(small_cluster(0, 0)).address
            options += ["--fleet", "auto", "--sandbox", "bubblewrap"]
        world = World(folder, endpoint, options=options)
        assert world.live(), world.log()
        spans = spans_of(run_folders([world.out])[0].database)
    share = busy_share(spans, slots)
    print(f"{coders} coders on {slots} slots, a core each, {len(spans)} executions of {SLEEP:g} s:")
    verdict = "met" if share >= GOAL else "MISSED"
    print(f"slots busy {share:.1%} of the time in which work is queued   goal {GOAL:.0%}: {verdict}")


if __name__ == "__main__":
    main()
