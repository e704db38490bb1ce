"""The first lab: it opens at once on the task alone, and its draft is planned once posts are read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.agents.builtin import BuiltinModel
from bot.agents.comind.labs import LabsBriefing
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.news import LabNews
from bot.community.drafts.planning import draft_row
from bot.community.intake import Intake
from bot.community.reproduction.settings import ReproductionSettings
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.strategy import Action
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.labs import open_lab
from tests.bot.engine.parts import RUN, opened_on
from tests.tiny_snapshot import write_tiny


@asynccontextmanager
async def first_lab(place: Path, *, posted: bool) -> AsyncIterator[tuple[RunContext, Intake, LabAssignment]]:
    folder = write_tiny(place / "tiny-table")
    if not posted:
        for name in ("topics", "messages", "kernels", "observations"):
            (folder / "community" / f"{name}.jsonl").write_text("")
    snapshot = Snapshot.load(folder, METRIC_DIRECTIONS)
    clock, off = ReplayClock(snapshot.card.deadline), ReproductionSettings(kernels=0)
    async with opened_on(snapshot, place, None, clock, BuiltinModel(0), settings=[off]) as context:
        intake = Intake(context)
        yield context, intake, await LabsBriefing(context, intake).lab(Action("lab", (), 1), 2, load_tree(context))
        await intake.close()


@pytest.mark.parametrize("posted", [True, False])
async def test_it_opens_on_the_task_alone_and_is_told_of_a_plan_only_where_something_is_posted(
    tmp_path: Path, posted: bool
) -> None:
    async with first_lab(tmp_path, posted=posted) as (context, _, assigned):
        assert assigned.draft.startswith("Start with the task alone: log a simple model early")
        assert ("will reach you as news" in assigned.draft) is posted
        row = draft_row(context, 1)
    assert row is not None and row.idea_ids == []


async def test_its_draft_is_planned_once_posts_are_read_and_reaches_its_coder_as_news(tmp_path: Path) -> None:
    async with first_lab(tmp_path, posted=True) as (context, intake, assigned):
        with context.store.write() as tx:
            open_lab(tx, RUN, 2, draft_id="1", parents=(), title=assigned.title)
        news = LabNews(context, tmp_path / "community", lab=2)
        news.begin()
        assert not any("your draft" in one for one in news.lines()), "nothing is read before the coder's first reply"
        assigned.replied()
        await intake.ready("plan", 1)
        planned = draft_row(context, 1)
        assert planned is not None and planned.title != assigned.title and planned.idea_ids
        assert planned.share is None, "its time stays as it is"
        [told] = [one for one in news.lines() if one.startswith("your draft, planned from the posts: ")]
        assert planned.title in told and planned.description.splitlines()[0][:40] in told
        assert f"draft/{planned.id}" in {item.id for item in news.take_items()}
        assert not any("your draft" in one for one in news.lines()), "once is enough"
