"""A blend in a live run: it becomes a node once it beats all nodes, and its submission is considered."""

import asyncio
from pathlib import Path

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.engine.attempts import load_tree
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.live.live_run import begin_run
from bot.live.open_run import OpenRun, open_live_run
from bot.live.preparation import PreparedTask
from scrapers.snapshots.snapshot import Snapshot
from state.tables import Event, Notification
from state.tables import Task as QueuedTask
from tests.bot.engine.blended import WRONG, score
from tests.bot.live.site_parts import shared
from tests.bot.simulator.site.parts import served, tiny
from tests.tiny_snapshot import write_tiny

OWN = CompetitionSettings(model="builtin", metric="log_loss")


@pytest.mark.integration
async def test_a_blend_that_beats_all_scripts_becomes_one_node_that_is_considered_and_notified(tmp_path: Path) -> None:
    snapshot = Snapshot.load(write_tiny(tmp_path / "tiny", rows=3000), METRIC_DIRECTIONS)
    with served(snapshot) as site:
        task = PreparedTask(site.competition.card, snapshot.data)
        async with (
            shared(site, tmp_path / "state") as here,
            open_live_run(here, run := begin_run(here, task, OWN)) as opened,
        ):
            for node, wrong in WRONG.items():
                await score(opened.context, node, wrong)
            await _fit(opened)
            with here.store.read() as session:
                tasks = session.exec(select(QueuedTask.key)).all()
            assert f"submit:{run.id}:blend of 2" in tasks
            for _ in range(2):
                await opened.submit()
                await _fit(opened)
            tree = load_tree(opened.context)
            [blend] = tree.ensembles
            assert tree.best_candidate() == blend
            with here.store.read() as session:
                considered = session.exec(select(Event.node).where(Event.type == "submission.considered")).all()
                notices = session.exec(select(Notification).where(Notification.kind == "run.best")).all()
            assert considered[0] == blend.id
            assert any("Ensemble of nodes" in one.body for one in notices)


@pytest.mark.integration
async def test_blending_is_off_where_bot_toml_says_so_and_for_aide(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        task = PreparedTask(site.competition.card, site.competition.snapshot.data)
        async with shared(site, tmp_path / "state") as here:
            for own, blends in (
                (OWN, True),
                (OWN.model_copy(update={"blend": False}), False),
                (OWN.model_copy(update={"agent": "aide"}), False),
                (OWN.model_copy(update={"agent": "aide", "blend": True}), True),
            ):
                site.clock.pass_by(hours=1)
                async with open_live_run(here, begin_run(here, task, own)) as opened:
                    assert (opened.search.blending is not None) == blends


async def _fit(opened: OpenRun) -> None:
    """Fit the newest blend, as the search does beside its work."""
    opened.context.blended.clear()
    beside = asyncio.create_task(opened.search.blending.keep_fitted())
    async with asyncio.timeout(120):
        await opened.context.blended.wait()
    beside.cancel()
    await asyncio.gather(beside, return_exceptions=True)
