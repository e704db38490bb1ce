"""A run of scripts that err on other rows, so that a blend of them is better than each."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.engine.attempts import load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.scripts import ScriptTimeLimits, run_script
from bot.engine.strategy import Remaining, Script
from bot.engine.tree import BASELINE
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models.recordings import RecordedModel
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.progress import create_node
from tests.bot.engine.parts import opened_on
from tests.bot.engine.test_search_pacing import Drafts
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
            p = 1 / (1 + math.exp(b - 2 * a - (WRONG)))
            print(f"{row['id']},{p}", file=file)
"""
WRONG = {1: "2 * math.sin(1000 * a)", 2: "2 * math.sin(1000 * b)"}
"""How each node's script errs by itself: the mean of two such scripts is better than both."""


@asynccontextmanager
async def blended_run(folder: Path) -> AsyncIterator[tuple[RunContext, Blending]]:
    """Give a run in a folder, begun or gone on with."""
    if not (folder / "tiny").exists():
        write_tiny(folder / "tiny", rows=_ROWS)
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(folder)
    async with (
        aclosing(Worker()) as blender,
        opened_on(snapshot, folder, 20, clock, model, community=False, baseline=False, worker=blender) as opened,
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
        await run_script(context, node, script, None, ScriptTimeLimits(60.0, None))
