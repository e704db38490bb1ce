"""What the first plan of a run costs, on a real community."""

from pathlib import Path

import pytest
from sqlmodel import select

from bot.agents.builtin import BuiltinModel
from bot.community.drafts.planning import plan_drafts
from bot.community.drafts.prompts import Room
from bot.community.intake import Intake
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.knowledge import drafts
from state.tables import ModelCall
from tests import needs
from tests.bot.engine.parts import RUN, opened_on

MOST_TOKENS = 20_000


@pytest.mark.integration
async def test_reading_ideas_and_the_first_plan_take_few_tokens(tmp_path: Path) -> None:
    path = needs.snapshots() / "spooky-author-identification"
    snapshot = Snapshot.load(path, METRIC_DIRECTIONS)
    clock = ReplayClock(snapshot.card.deadline)
    async with opened_on(snapshot, tmp_path, None, clock, BuiltinModel(0), seconds=1800.0) as context:
        await Intake(context).ready("posts", 1)
        await plan_drafts(context, 1, 1, lambda: Room(1, 0.12, 0.03, 1.0, 300.0, seconds=1700.0))
        assert len(drafts(context.store, RUN, context.clock.as_of())) == 1
        with context.store.read() as session:
            calls = session.exec(select(ModelCall)).all()
    assert {call.role for call in calls} == {"analyst", "proposer", "coordinator"}
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
    print(f"tokens before the first draft: {tokens}")
    assert tokens <= MOST_TOKENS
