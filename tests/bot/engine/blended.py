"""A run of two scripts and their blend: `python -m tests.bot.engine.blended FOLDER [MOMENT LABEL COUNT]`.

With a boundary it kills itself there (see `tests.chaos.doomed`); at its end it prints the nodes as JSON.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import astuple, replace
from pathlib import Path

from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.scripts import Limits, run_script
from bot.engine.strategy import Remaining, Script
from bot.engine.tree import BASELINE
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models.recorded import RecordedModel
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.progress import create_node
from tests.bot.engine.parts import opened_on
from tests.bot.engine.test_search_pacing import Drafts
from tests.chaos.doomed import Doom
from tests.tiny_snapshot import write_tiny

_ROWS = 3000
"""Enough that a blend of the two gains beyond chance."""
_SCRIPT = """
import csv, math
for table, out in (("test", "submission"), ("validation", "validation_predictions")):
    with open(f"{out}.csv", "w") as file:
        print("id,label", file=file)
        for row in csv.DictReader(open(f"data/{table}.csv")):
            a, b = float(row["a"]), float(row["b"])
            p = 1 / (1 + math.exp(b - 2 * a - 2 * math.sin(1000 * (WRONG))))
            print(f"{row['id']},{p}", file=file)
"""
WRONG = {1: "a", 2: "b"}
"""Where each node's script errs by itself: the mean of two such scripts is better than both."""


@asynccontextmanager
async def blended_run(folder: Path) -> AsyncIterator[tuple[RunContext, Blending]]:
    """Give a run in a folder, begun or gone on with."""
    if not (folder / "tiny").exists():
        write_tiny(folder / "tiny", rows=_ROWS)
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(folder)
    async with (
        aclosing(Worker()) as blender,
        opened_on(snapshot, folder, 20, clock, model, community=False, baseline=False) as opened,
    ):
        context = replace(opened, blender=blender)
        yield context, Blending(context, blender)


async def score(context: RunContext, node: int, wrong: str) -> None:
    """Decide on a script and score it, as far as that was not done before."""
    if node > context.decisions.count + BASELINE:
        await context.decisions.ask(Drafts(), load_tree(context), Remaining(None, None, None, None), 1)
    with context.store.write() as tx:
        create_node(tx, context.run_id, action="draft", id=node)
    if load_tree(context)[node].state == "running":
        script = Script("A plan.", _SCRIPT.replace("WRONG", wrong), "draft")
        await run_script(context, node, script, None, Limits(60.0, None))


async def _main(folder: Path) -> None:
    async with blended_run(folder) as (context, blending):
        for node, wrong in WRONG.items():
            await score(context, node, wrong)
        await blending.as_node()
        tree = load_tree(context)
        print(json.dumps([astuple(replace(one, seconds=0.0)) for one in (*tree.nodes, *tree.ensembles)]))


if __name__ == "__main__":
    place, *boundary = sys.argv[1:]
    if boundary:
        moment, wanted, count = boundary
        Doom(moment, wanted, int(count))
    asyncio.run(_main(Path(place)))
