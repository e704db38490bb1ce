"""A run of four scripts that is over: `python -m tests.bot.submission.raced FOLDER [scored | MOMENT LABEL COUNT]`.

It makes the last choice, race included, and prints it as JSON; with `scored` it ends before. With a boundary it kills itself
there (see `tests.chaos.doomed`).
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.scripts import Limits, run_script
from bot.engine.strategy import Script
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models.recorded import RecordedModel
from bot.submission.last_choice import last_choice, selection_of
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.progress import create_node
from tests.bot.engine.parts import RUN, opened_on
from tests.chaos.doomed import Doom
from tests.tiny_snapshot import write_tiny

_SCRIPT = """
import csv, math, time
time.sleep(0.5)
for table, out in (("test", "submission"), ("validation", "validation_predictions")):
    with open(f"{out}.csv", "w") as file:
        print("id,label", file=file)
        for row in csv.DictReader(open(f"data/{table}.csv")):
            p = 1 / (1 + math.exp(float(row["b"]) - 2 * float(row["a"]) - WRONG * math.sin(NODE * 1000 * float(row["c"]))))
            print(f"{row['id']},{p}", file=file)
"""
WRONG = (0.30, 0.31, 0.32, 0.33, 9.0)
"""How wrong the script of each node is: but for the last, their scores are within noise of each other."""


class _Still:
    """A stopwatch that stands still, so that a slow machine decides nothing."""

    def wall(self) -> float:
        return 0.0


@asynccontextmanager
async def run_of(folder: Path, seconds: float = 600.0, wrong: tuple[float, ...] = WRONG) -> AsyncIterator[RunContext]:
    """Give a run whose scripts have scores, at the time 0; one in the folder goes on."""
    if not (folder / "tiny").exists():
        write_tiny(folder / "tiny", rows=600)
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(folder)
    async with (
        aclosing(Worker()) as blender,
        opened_on(snapshot, folder, None, clock, model, community=False, baseline=False, seconds=seconds) as opened,
    ):
        context = replace(opened, blender=blender, budget=replace(opened.budget, races=True, elapsed=_Still()))
        for node, much in enumerate(wrong, 1):
            with context.store.write() as tx:
                create_node(tx, RUN, action="draft", id=node)
            if load_tree(context)[node].state == "running":
                text = _SCRIPT.replace("WRONG", str(much)).replace("NODE", str(node))
                await run_script(context, node, Script("A plan.", text, "draft"), None, Limits(60.0, None))
        yield context


async def _main(folder: Path, *, choose: bool) -> None:
    async with run_of(folder) as context, aclosing(Worker()) as worker:
        if not choose:
            return
        chosen = await last_choice(context, worker, over=True)
        selection = selection_of(context)
        assert chosen is not None and selection is not None
        print(json.dumps([chosen.id, selection.model_dump(mode="json")]))


if __name__ == "__main__":
    place, *boundary = sys.argv[1:]
    scores_only = boundary == ["scored"]
    if boundary and not scores_only:
        moment, wanted, count = boundary
        Doom(moment, wanted, int(count))
    asyncio.run(_main(Path(place), choose=not scores_only))
