"""The final selection: experiments on training and validation rows, stacks and ensembles on validation rows alone."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bot.engine.attempts import blend_of, load_tree
from bot.engine.blending import Blending
from bot.engine.context import RunContext
from bot.engine.experiments import ExperimentLog, LabPosition, Logged
from bot.engine.results import present_ensemble
from bot.engine.strategy import Action
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.models.recordings import RecordedModel
from bot.submission.final_selection import select_final, selection_of
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.labs import open_lab
from tests.bot.engine.blended import score
from tests.bot.engine.parts import RUN, opened_on
from tests.bot.evaluation.parts import column, read
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.integration
ROWS = 1500
LAB = 2


@asynccontextmanager
async def run_in(folder: Path) -> AsyncIterator[tuple[RunContext, Worker]]:
    """Give a run whose second node is a lab's; one in the folder goes on."""
    if not (folder / "tiny").exists():
        write_tiny(folder / "tiny", rows=ROWS)
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(folder)
    async with (
        aclosing(Worker()) as worker,
        opened_on(snapshot, folder, 20, clock, model, community=False, baseline=False, worker=worker) as opened,
    ):
        log = ExperimentLog(
            RUN, opened.card, opened.seed, opened.store, opened.decisions, opened.executor, worker, "m", lambda: None
        )
        yield replace(opened, blender=worker, experiments=log), worker


@asynccontextmanager
async def lab_in(folder: Path) -> AsyncIterator[tuple[RunContext, Worker]]:
    """Give such a run with its lab open."""
    async with run_in(folder) as (context, worker):
        await context.decisions.ask(_OneLab(), load_tree(context), context.budget.remaining(0, None), 1)
        with context.store.write() as tx:
            open_lab(tx, RUN, LAB, draft_id=None, parents=(), title="a lab")
        yield context, worker


class _OneLab:
    """Opens a lab whatever the tree is."""

    def next_actions(self, *_: object) -> list[Action]:
        return [Action("lab")]


async def logged(
    context: RunContext, name: str, *, sure: float, seed: int, oof: float | None = None, uses: tuple[str, ...] = ()
) -> int:
    """Log an experiment that leans to the right class by so much, out of fold by `oof` where given; return its node."""
    executor, rng = context.executor, np.random.default_rng(seed)
    folds, view = await executor.fold_view(), await executor.view("holdout")
    assert folds is not None and context.experiments is not None
    of = {
        "oof": _labels(folds.truth, column(folds.data / "folds.csv", "id")),
        "validation": _labels(view.truth, column(view.data / "sample_validation.csv", "id")),
        "test": {row[0]: 0.5 for row in read(view.data / "sample_submission.csv")[1:]},
    }
    files = {}
    for role, labels in of.items():
        much = sure if role != "oof" or oof is None else oof
        lean = much * (2 * np.array(list(labels.values())) - 1) + rng.normal(size=len(labels))
        files[role] = context.executor.folder.path / f"{name}-{role}.npy"
        np.save(files[role], 1 / (1 + np.exp(-lean)))
    position = LabPosition(LAB, None, (), "a lab", 1)
    newest = present_ensemble(context.steps, ())
    done = await context.experiments.log(Logged(name, files, uses=uses), position, newest)  # type: ignore[arg-type]
    return done.node


def _labels(truth: Path, ids: list[str]) -> Mapping[str, float]:
    """Return the label of each id; of a row that is never validated, any."""
    known = {row[0]: float(row[1]) for row in read(truth)[1:]}
    return {id: known.get(id, 0.0) for id in ids}


async def test_experiments_are_compared_on_training_and_validation_rows_and_stacks_on_the_latter(tmp_path) -> None:
    async with lab_in(tmp_path) as (context, worker):
        plain = await logged(context, "plain", sure=0.8, seed=1)
        lucky = await logged(context, "lucky", sure=1.1, seed=2, oof=0.4)
        stack = await logged(context, "stack", sure=0.82, seed=3, oof=5.0, uses=("plain",))
        chosen = await select_final(context, worker, over=True)
        found = selection_of(context)
        assert chosen is not None and found is not None
        by_node = {one.node: one for one in found.candidates}
        kinds = {node: one.kind for node, one in by_node.items()}
        assert kinds == {plain: "experiment", lucky: "experiment", stack: "stack"}
        assert all(one.holdout is not None and one.final is not None for one in by_node.values())
        assert by_node[plain].out_of_fold is not None and by_node[stack].out_of_fold is None
        assert by_node[lucky].gain < 0, "its training rows, the most, speak against it"
        assert [one.node for one in found.candidates][-1] == lucky
        assert chosen.id == found.candidates[0].node
        assert found.candidates[0].node == (stack if by_node[stack].gain > 0 else plain), "fewer rows cost it nothing"


async def test_an_ensemble_is_compared_on_validation_rows_alone_and_wins_ties(tmp_path: Path) -> None:
    async with lab_in(tmp_path) as (context, worker):
        for seed, name in enumerate(("a", "b", "c")):
            await logged(context, name, sure=0.9, seed=seed)
        await logged(context, "useless", sure=0.0, seed=9, uses=("a",))
        node = await Blending(context, worker).as_node()
        chosen = await select_final(context, worker, over=True)
        found = selection_of(context)
        assert chosen is not None and found is not None
        one = next(one for one in found.candidates if one.node == node.id)
        assert (one.kind, one.out_of_fold, chosen.id) == ("ensemble", None, node.id)
        assert one.holdout is not None and one.final is not None
        assert len(found.candidates) == 5, "the mean with the stack is not better"


async def test_the_mean_of_the_ensemble_and_the_best_stack_is_a_candidate_if_it_is_better_out_of_fold(tmp_path) -> None:
    async with lab_in(tmp_path) as (context, worker):
        for seed, name in enumerate(("a", "b", "c")):
            await logged(context, name, sure=0.9, seed=seed)
        await logged(context, "worse", sure=1.2, seed=6, uses=("a",))
        stack = await logged(context, "stack", sure=1.5, seed=7, uses=("a", "b"))
        blending = Blending(context, worker)
        node = await blending.as_node()
        assert load_tree(context).ensembles == (node,), "the run may go on"
        assert await blending.as_node(over=True) == await blending.as_node(over=True) == node
        ensemble, mean = load_tree(context).ensembles
        assert ensemble == node and mean.fitness > ensemble.fitness
        weights, half = (
            blend_of(context.store, RUN, node.id).recipe.weights,
            blend_of(context.store, RUN, mean.id).recipe.weights,
        )
        assert half == pytest.approx({**{member: weight / 2 for member, weight in weights.items()}, stack: 0.5})
        files = [context.executor.submission_of(number, "holdout") for number in (node.id, stack, mean.id)]
        assert context.experiments is not None
        await context.experiments.write_submissions(worker, (stack,))
        logits = [np.array([np.log(float(p) / (1 - float(p))) for _, p in read(file)[1:]]) for file in files]
        assert logits[2] == pytest.approx((logits[0] + logits[1]) / 2, abs=1e-6)
        assert await select_final(context, worker, over=True) is not None
        found = selection_of(context)
        assert found is not None
        kinds = {one.node: one.kind for one in found.candidates}
        assert (kinds[node.id], kinds[mean.id], kinds[stack]) == ("ensemble", "ensemble", "stack")


async def test_an_ensemble_of_labels_is_made_of_their_probabilities(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny", rows=ROWS)
    manifest = tmp_path / "tiny/snapshot.json"
    manifest.write_text(manifest.read_text().replace('"log_loss"', '"error_rate"'))
    sample = tmp_path / "tiny/data/sample_submission.csv"
    sample.write_text(sample.read_text().replace("0.5", "0"))
    async with lab_in(tmp_path) as (context, worker):
        for seed, name in enumerate("abcdefg"):
            await logged(context, name, sure=0.5, seed=seed)
        node = await Blending(context, worker).as_node()
        assert node is not None and context.experiments is not None
        kept = blend_of(context.store, RUN, node.id)
        assert (kept.recipe.space, list(kept.recipe.classes), len(kept.recipe.weights)) == ("classes", ["0", "1"], 7)
        assert kept.score.value < min(one.result.score for one in context.experiments.all()) - 0.05
        file = read(context.executor.submission_of(node.id, "holdout"))
        assert {row[1] for row in file[1:]} == {"0", "1"}
        assert present_ensemble(context.steps, ()) is not None
        await logged(context, "later", sure=0.5, seed=9)


async def test_a_resumed_run_chooses_the_same_and_compares_nothing_again(tmp_path: Path) -> None:
    async with lab_in(tmp_path) as (context, worker):
        await logged(context, "one", sure=0.8, seed=1)
        await logged(context, "two", sure=0.9, seed=2)
        first = await select_final(context, worker, over=True)
        found = selection_of(context)
    async with run_in(tmp_path) as (context, worker):
        pid = worker.pid
        assert await select_final(context, worker, over=True) == first
        assert selection_of(context) == found and worker.pid == pid


async def test_the_internal_test_is_not_read_where_the_run_may_go_on_or_nothing_is_blended(tmp_path: Path) -> None:
    async with lab_in(tmp_path) as (context, worker):
        await logged(context, "one", sure=0.8, seed=1)
        await logged(context, "two", sure=0.9, seed=2)
        best = load_tree(context).best_candidate()
        assert best is not None
        for how in (context, replace(context, blender=None)):
            assert await select_final(how, worker, over=how is not context) == best
            assert selection_of(context) is None


async def test_scripts_are_compared_on_validation_rows(tmp_path: Path) -> None:
    async with run_in(tmp_path) as (context, worker):
        context = replace(context, experiments=None)
        for node, wrong in enumerate((0.3, 9.0), 1):
            await score(context, node, f"{wrong} * math.sin({node} * 1000 * float(row['c']))")
        chosen = await select_final(context, worker, over=True)
        found = selection_of(context)
        assert chosen is not None and found is not None
        assert [(one.node, one.kind, one.out_of_fold) for one in found.candidates] == [
            (1, "script", None),
            (2, "script", None),
        ]
