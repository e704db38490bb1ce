"""Data that hosts replace while the bot runs."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.live.preparing import Task, prepare
from bot.live.replaced_data import report_replaced_data
from bot.live.shared import Shared
from bot.rehearsal.faults import Fault, Faults
from state.tables import Notification
from tests.bot.live.site_parts import shared
from tests.bot.rehearsal.parts import START, served, tiny


def notices(here: Shared) -> list[str]:
    with here.store.read() as session:
        found = session.exec(select(Notification).where(Notification.kind == "problem.data")).all()
    return [row.body for row in found]


@pytest.mark.integration
async def test_its_owner_is_notified_once_and_the_data_that_was_fetched_stays(tmp_path: Path) -> None:
    faults = Faults(
        [Fault(kind="data-changed", at=START + timedelta(hours=1)), Fault(kind="unstable-lists", after=0.0)]
    )
    with served(tiny(tmp_path), faults=faults) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            task = await prepare(here, slug, CompetitionSettings(metric="log_loss"))
            assert isinstance(task, Task)
            for _ in range(3):
                await here.poller.poll(slug, "data")
                report_replaced_data(here, slug)
            assert notices(here) == []
            site.clock.pass_by(hours=2)
            for _ in range(3):
                await here.poller.poll(slug, "data")
                report_replaced_data(here, slug)
            (body,) = notices(here)
            assert "10018 bytes now" in body
            again = await prepare(here, slug, CompetitionSettings(metric="log_loss"))
            assert isinstance(again, Task) and again.data == task.data
