"""A blend as one notebook: each script predicts from weights of its own, and what comes out is what the run's own blend makes."""

import asyncio
import csv
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.engine.attempts import blend_of, load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.notebook_check import due_check_seconds, notebook_check_of, packable
from bot.engine.notebook_inputs import stage_notebook
from bot.evaluation.client.worker import Worker
from bot.execution.record import REHEARSAL, REHEARSAL_FEW
from bot.notebooks.limits import NotebookLimits
from bot.notebooks.package import Package
from bot.submission.files import made_package
from sandbox.bubblewrap import BubblewrapSandbox
from tests import needs
from tests.bot.engine.notebooks import notebook_run, score
from tests.bot.engine.parts import RUN

pytestmark = [pytest.mark.asyncio, pytest.mark.integration]

_PREDICT = """
import csv, json, math, os
from pathlib import Path

def predict(table, out, model):
    with open(out, "w") as file:
        print("id,label", file=file)
        for row in csv.DictReader(open(table)):
            a, b = float(row["a"]), float(row["b"])
            wrong = 2 * math.sin(1000 * float(row[model["errs by"]]))
            print(f"{row['id']},{1 / (1 + math.exp(b - model['slope'] * a - wrong))}", file=file)
"""
_SOLUTION = f"""{_PREDICT}
rows = sum(1 for _ in open("data/train.csv"))
model = {{"errs by": COLUMN, "slope": 2 + rows / 1e6}}
Path("weights").mkdir(exist_ok=True)
Path("weights/model.json").write_text(json.dumps(model))
for table, out in (("test", "submission"), ("validation", "validation_predictions")):
    predict(f"data/{{table}}.csv", f"{{out}}.csv", model)
"""
_INFER = f"""{_PREDICT}
assert not Path("submission.csv").exists()
model = json.loads(Path(os.environ["BOT_WEIGHTS"], "model.json").read_text())
predict(Path(os.environ["BOT_DATA"], "test.csv"), "submission.csv", model)
"""
"""The same for both scripts: only what their weights say makes them err on other rows."""


BLEND = 4
"""Number of the blend's node."""


def _table(file: Path) -> tuple[Sequence[str], Sequence[float]]:
    with file.open() as lines:
        rows = list(csv.reader(lines))[1:]
    return [id for id, _ in rows], [float(cell) for _, cell in rows]


async def _check(context: RunContext, worker: Worker, made: Path, view: str, files: dict[int, Path]) -> None:
    """Compare what a notebook has written with what the worker makes of its scripts' files."""
    data, own = (await context.executor.view(view)).data, made.with_name("own.csv")
    blended = blend_of(context.store, RUN, BLEND)
    assert blended is not None
    await worker.write_blend(blended.recipe, files, data, context.card, own)
    (ids, theirs), (expected, ours) = _table(made), _table(own)
    assert ids == expected
    assert theirs == pytest.approx(ours, abs=1e-6)
    assert theirs != pytest.approx(_table(files[1])[1], abs=1e-3)


async def test_the_notebook_of_a_blend_predicts_what_the_run_s_own_blend_predicts(tmp_path: Path) -> None:
    needs.bubblewrap()
    async with (
        aclosing(Worker()) as worker,
        notebook_run(tmp_path, BubblewrapSandbox(), rows=3000, blender=worker) as context,
    ):
        for node, column in ((1, "a"), (2, "b")):
            await score(context, node, _INFER, _SOLUTION.replace("COLUMN", repr(column)))
        await score(context, 3, None, _SOLUTION.replace("COLUMN", "'a'"))
        assert set(packable(context)) == {1, 2}, "a script without infer.py is in no notebook of a blend"
        blending = Blending(context, worker)
        fitting = asyncio.create_task(blending.keep_fitted())
        async with asyncio.timeout(120):
            await context.blended.wait()
        fitting.cancel()
        alone = [notebook_check_of(context, one) for one in (1, 2)]
        due = 2 * sum(one.seconds for one in alone if one)
        assert due == due_check_seconds(context.store, context.decisions, context.steps, RUN) > 0
        node = await blending.as_node()
        assert due_check_seconds(context.store, context.decisions, context.steps, RUN) == 0
        assert node is not None
        assert (node.id, node.valid, node.parents) == (BLEND, True, (1, 2))
        assert load_tree(context).best_candidate() == node
        # Kaggle's newer layout, then its older one.
        runs = context.executor.folder.executions
        for view in (REHEARSAL_FEW, REHEARSAL):
            own = {one: runs / f"n{one}-{view}-0" / "submission.csv" for one in (1, 2)}
            await _check(context, worker, runs / f"n{BLEND}-{view}-0" / "submission.csv", view, own)
        found = notebook_check_of(context, BLEND)
        assert found is not None
        assert found.score == pytest.approx(node.score, abs=0.03)

        packed = await made_package(context, BLEND, worker, tmp_path / "packages")
        assert "2 of 2 members refitted on all data" in packed.note
        package = Package.open(packed.file)
        assert (package.facts.runs, package.facts.weights_from) == ("blend", "refit")
        assert [one.path for one in package.facts.weights] == ["node1/model.json", "node2/model.json"]
        data = (await context.executor.view(REHEARSAL_FEW)).data
        files = {}
        for one in (1, 2):
            stage = await stage_notebook(
                context, one, {one: context.executor.weights_of(f"n{one}-full-0")}, tmp_path / f"flat{one}"
            )
            done = await context.executor.execute(
                one, stage.script.as_script(), REHEARSAL_FEW, 60.0, attempt=1, inputs=stage.inputs(data, new=True)
            )
            files[one] = runs / done.id / "submission.csv"
        await _check(context, worker, runs / f"n{BLEND}-{REHEARSAL_FEW}-1" / "submission.csv", REHEARSAL_FEW, files)

        room = sum(one.scaled for one in alone if one) * 0.99 / (0.6 * 3600)
        assert len(packable(replace(context, notebook_limits=NotebookLimits(hours=room)))) == 1
