"""A run of a competition that takes notebooks, and scripts for it: one pair that works, and some that are wrong in one thing."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.scripts import ScriptTimeLimits, run_script
from bot.engine.strategy import Remaining, Script
from bot.engine.tree import BASELINE
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models.recordings import RecordedModel
from bot.notebooks.limits import NotebookLimits
from sandbox import Sandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.progress import create_node
from tests.bot.engine.parts import opened_on
from tests.bot.engine.test_search_pacing import Drafts
from tests.tiny_snapshot import write_tiny

SOLUTION = """
import csv, json, math, os
from pathlib import Path

rows = list(csv.DictReader(open("data/train.csv")))
spread = (sum(float(row["a"]) ** 2 for row in rows) / len(rows)) ** 0.5
Path("weights/fold0").mkdir(parents=True, exist_ok=True)
Path("weights/fold0/model.json").write_text(json.dumps({"a": 2.0 / spread, "b": -1.0}))
saved = {}
for table, out in (("test", "submission"), ("validation", "validation_predictions")):
    with open(f"{out}.csv", "w") as file:
        print("id,label", file=file)
        for row in csv.DictReader(open(f"data/{table}.csv")):
            p = 1 / (1 + math.exp(-2.0 / spread * float(row["a"]) + float(row["b"])))
            saved[row["id"]] = p
            print(f"{row['id']},{p}", file=file)
Path("weights/predictions.json").write_text(json.dumps([one for one in saved.values()]))
"""
"""It trains, saves its model in a folder of weights/, and also what it has predicted, which no notebook should use."""
INFER = """
import csv, json, math, os
from pathlib import Path

data, weights = Path(os.environ["BOT_DATA"]), Path(os.environ["BOT_WEIGHTS"])
model = json.loads((weights / "fold0/model.json").read_text())
with open("submission.csv", "w") as file:
    print("id,label", file=file)
    for row in csv.DictReader(open(data / "test.csv")):
        p = 1 / (1 + math.exp(-model["a"] * float(row["a"]) - model["b"] * float(row["b"])))
        print(f"{row['id']},{p}", file=file)
"""


@asynccontextmanager
async def notebook_run(
    folder: Path,
    sandbox: Sandbox | None = None,
    limits: NotebookLimits | None = None,
    *,
    rows: int | None = None,
    blender: Worker | None = None,
) -> AsyncIterator[RunContext]:
    """Give a run of a competition that takes notebooks, begun or gone on with; with a blender, its scripts are blended."""
    if not (folder / "tiny").exists():
        manifest = write_tiny(folder / "tiny", **({} if rows is None else {"rows": rows})) / "snapshot.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"kind": "code"}))
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(folder)
    async with opened_on(
        snapshot, folder, 20, clock, model, community=False, baseline=False, sandbox=sandbox, worker=blender
    ) as context:
        yield replace(context, notebook_limits=limits or NotebookLimits(), blender=blender)


async def score(context: RunContext, node: int, infer: str | None, solution: str = SOLUTION) -> None:
    """Run a pair of scripts as a node."""
    if node > context.decisions.count + BASELINE:
        await context.decisions.ask(Drafts(), load_tree(context), Remaining(None, None, None, None), 1)
    with context.store.write() as tx:
        create_node(tx, context.run_id, action="draft", id=node)
    script = Script("A plan.", solution, "draft", infer)
    await run_script(context, node, script, None, ScriptTimeLimits(60.0, None))
