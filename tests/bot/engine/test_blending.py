"""The blend of a run's scored scripts: a node only where it may be handed in, and the same after any kill."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from bot.engine.attempts import blend_of, load_tree
from bot.engine.results import BLENDED, newest_blend
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action
from bot.engine.suspicion import last_failures
from bot.submission.final_submission import make_final_submission
from state.experiments import withdraw_node
from state.progress import create_node, end_node
from tests.bot.engine.blended import WRONG, blended_run, score
from tests.bot.engine.parts import RUN


@pytest.mark.integration
@pytest.mark.asyncio
async def test_two_scripts_that_err_on_other_rows_are_blended_and_the_node_counts_as_no_script(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, blending):
        await score(context, 1, WRONG[1])
        assert await blending.as_node() is None
        await score(context, 2, WRONG[2])
        node = await blending.as_node()
        assert node is not None
        assert await blending.as_node() == node
        tree, blend = load_tree(context), newest_blend(context.store, RUN)
        assert blend is not None
        assert (node.id, node.action, node.parents, node.valid) == (3, "ensemble", (1, 2), True)
        assert node.score == blend.score.value
        assert node.score < min(one.score or 9.0 for one in tree.nodes)
        assert tree.best_candidate() == node
        assert (tree.best() or node).id in (1, 2)
        assert [one.id for one in tree.nodes] == [one.node for one in context.results] == [1, 2]
        assert tree.is_leaf(tree[1])
        kept = blend_of(context.store, RUN, node.id)
        assert kept is not None
        assert kept.recipe.weights == blend.weights
        assert context.executor.submission_of(node.id, "holdout").is_file()
        assert context.executor.final_score(node.id) == kept.score.final
        shown = next(e for e in context.store.export_events(RUN) if e["type"] == BLENDED)
        assert "final" not in json.dumps(shown)


@pytest.mark.asyncio
@pytest.mark.integration
async def test_after_a_withdrawal_a_blend_of_as_many_scripts_is_another(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, blending):
        for node, wrong in WRONG.items():
            await score(context, node, wrong)
        first = await blending.as_node()
        assert first is not None and first.parents == (1, 2)
        with context.store.write() as tx:
            withdraw_node(tx, RUN, 1, "baseline", "learns from later rows")
        assert await blending.as_node() is None and context.blend is None
        assert [node.id for node in load_tree(context).candidates()] == [2]
        await score(context, 4, WRONG[1])
        second = await blending.as_node()
        assert second is not None and second.parents == (2, 4)
        assert context.blend is not None and context.blend.nodes == (2, 4)
        assert first.id not in [node.id for node in load_tree(context).candidates()]


@pytest.mark.asyncio
@pytest.mark.integration
async def test_a_blend_is_fitted_as_soon_as_a_script_is_scored_and_the_next_script_makes_another(
    tmp_path: Path,
) -> None:
    async with blended_run(tmp_path) as (context, blending):
        fitted: list[int] = []
        blending.on_fitted = lambda: fitted.append(len(context.results))
        beside = asyncio.create_task(blending.keep_fitted())
        for node, wrong in {**WRONG, 3: "2 * math.sin(1000 * (a + b))"}.items():
            await score(context, node, wrong)
            assert not context.blended.is_set()
            async with asyncio.timeout(120):
                await context.blended.wait()
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        newest = context.blend
        assert newest is not None
        assert newest.nodes == (1, 2, 3)
        assert fitted[-1] == 3


@pytest.mark.asyncio
@pytest.mark.integration
async def test_a_fit_that_runs_when_the_search_ends_is_not_begun_again(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, blending):
        for node, wrong in WRONG.items():
            await score(context, node, wrong)
        beside = asyncio.create_task(blending.keep_fitted())
        while context.blender is None or context.blender.pid is None:
            await asyncio.sleep(0.01)
        await blending.settle(120.0)
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        worker = context.blender.pid
        assert await blending.as_node() is not None
        assert context.blender.pid == worker
        begun = [event for event in context.store.export_events(RUN) if event["type"] == "step.started"]
        assert sum(event["name"] == "holdout ensemble" for event in begun) == 1


@pytest.mark.asyncio
@pytest.mark.integration
async def test_an_ensemble_that_is_not_fitted_in_time_is_done_without(tmp_path: Path) -> None:
    """A forecast of three minutes waited for its ensemble past its time."""
    async with blended_run(tmp_path) as (context, blending):
        for node, wrong in WRONG.items():
            await score(context, node, wrong)
        beside = asyncio.create_task(blending.keep_fitted())
        while all(event.get("name") != "holdout ensemble" for event in context.store.export_events(RUN)):
            await asyncio.sleep(0.01)
        await blending.settle(0.0)
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        assert await blending.as_node() is None and context.blend is None


@pytest.mark.asyncio
@pytest.mark.integration
async def test_a_stopped_run_submits_an_ensemble_only_if_it_is_fitted(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, blending):
        for node, wrong in WRONG.items():
            await score(context, node, wrong)
        worker, out = context.blender, tmp_path / "submission.csv"
        assert worker is not None
        single = await make_final_submission(context, blending, out, worker, hurried=True)
        assert single.node in WRONG and single.source == "holdout" and out.is_file()
        ensemble = await blending.as_node()
        assert ensemble is not None
        again = await make_final_submission(context, blending, out, worker, hurried=True)
        assert again.node == ensemble.id


@pytest.mark.asyncio
@pytest.mark.integration
async def test_no_time_is_kept_for_a_refit_of_the_baseline_until_a_script_of_the_search_has_a_score(tmp_path) -> None:
    """On a busy machine its refit needed all the time that was left of three minutes, so nothing was searched."""
    async with blended_run(tmp_path) as (context, _):
        await score(context, 1, WRONG[1])
        await score(context, 2, "undefined")
        assert best_seconds(context, load_tree(context)) is None
        await score(context, 3, WRONG[2])
        assert best_seconds(context, load_tree(context)) is not None


@pytest.mark.asyncio
@pytest.mark.integration
async def test_a_worker_that_dies_while_it_fits_costs_nothing_but_that_fit(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, blending):
        for node, wrong in WRONG.items():
            await score(context, node, wrong)
        beside, worker = asyncio.create_task(blending.keep_fitted()), context.blender
        assert worker is not None
        while worker.pid is None:
            await asyncio.sleep(0.01)
        os.kill(worker.pid, signal.SIGKILL)
        async with asyncio.timeout(120):
            await context.blended.wait()
        assert context.blend is None
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        node = await blending.as_node()
        assert node is not None
        assert node.id == 3


@pytest.mark.asyncio
async def test_a_blend_between_scripts_that_fail_alike_hides_none_of_them(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, _):
        with context.store.write() as tx:
            for node, action in enumerate(("draft", "ensemble", "draft"), start=1):
                create_node(tx, RUN, action=action, id=node)
                status = "valid" if action == "ensemble" else "buggy"
                end_node(tx, RUN, node, status, score=0.5 if status == "valid" else None, error="no module named x")
        assert last_failures(context.store, RUN, 0) == (2, "no module named x")


@pytest.mark.asyncio
async def test_the_number_of_a_blend_is_that_of_its_decision_and_scripts_are_numbered_after_it(tmp_path: Path) -> None:
    async with blended_run(tmp_path) as (context, _):
        first = await context.decisions.number_of(Action("ensemble", (1, 2), look=2))
        assert await context.decisions.number_of(Action("ensemble", (1, 2), look=2)) == first
        assert await context.decisions.number_of(Action("ensemble", (1, 2, 3), look=3)) == first + 1
