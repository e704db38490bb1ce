"""What the first lab is told to begin with."""

from pathlib import Path

import pytest

from bot.agents.builtin import BuiltinModel
from bot.agents.comind.labs import LabsBriefing
from bot.community.intake import Intake
from bot.community.reproduction.settings import ReproductionSettings
from bot.engine.attempts import load_tree
from bot.engine.strategy import Action
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from tests.bot.engine.parts import opened_on
from tests.tiny_snapshot import write_tiny


@pytest.mark.parametrize(("posted", "title"), [(True, "The best that is published"), (False, "A first solution")])
async def test_it_reads_what_is_published_only_where_something_is(tmp_path: Path, posted: bool, title: str) -> None:
    folder = write_tiny(tmp_path / "tiny-table")
    if not posted:
        for name in ("topics", "messages", "kernels", "observations"):
            (folder / "community" / f"{name}.jsonl").write_text("")
    snapshot = Snapshot.load(folder, METRIC_DIRECTIONS)
    clock, off = ReplayClock(snapshot.card.deadline), ReproductionSettings(kernels=0)
    async with opened_on(snapshot, tmp_path, None, clock, BuiltinModel(0), settings=[off]) as context:
        intake = Intake(context)
        assigned = await LabsBriefing(context, intake).lab(Action("draft", (), 1), 2, load_tree(context))
        await intake.close()
    assert assigned.title == title
