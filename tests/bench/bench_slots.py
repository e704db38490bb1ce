"""How busy slots are kept: `python -m tests.bench.bench_slots`. Four coders share two slots, whose executions only sleep.

Busy is the share of both slots' time in which an execution runs, from the first moment in which both are taken to the
last one in which another execution begins, which is while work is queued.
"""

import os
import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from bot.execution.folder import run_folders
from tests.chaos.world import SteadyAnswers, World
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
    with tempfile.TemporaryDirectory() as folder, ScriptedEndpoint(SteadyAnswers(seconds=SLEEP)) as endpoint:
        options = ("--agent", "aide", "--parallel", str(CODERS), "--cpus", "1", "--steps", str(NODES))
        world = World(Path(folder), endpoint, options=options)
        assert world.live(), world.log()
        spans = spans_of(run_folders([world.out])[0].database)
    cores = len(os.sched_getaffinity(0))
    share = busy_share(spans, SLOTS)
    print(
        f"{CODERS} coders on {SLOTS} slots ({cores} cores, one an execution), {len(spans)} executions of {SLEEP:g} s:"
    )
    verdict = "met" if share >= GOAL else "MISSED"
    print(f"slots busy {share:.1%} of the time in which work is queued   goal {GOAL:.0%}: {verdict}")


if __name__ == "__main__":
    main()
