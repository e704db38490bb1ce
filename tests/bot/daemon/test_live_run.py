"""A competition's live run."""

import json
from pathlib import Path

import pytest

from bot.configuration import Settings
from bot.daemon.live_run import begin_run, live_run_of
from bot.daemon.preparing import Task
from bot.daemon.settings import CompetitionSettings, DaemonSettings
from state.errors import UsageError
from tests.bot.daemon.site_parts import shared
from tests.bot.rehearsal.parts import served, tiny

OWN = CompetitionSettings(model="builtin")


async def test_a_run_is_taken_up_again_and_another_agent_begins_another(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        card = site.competition.card
        async with shared(site, tmp_path / "state") as here:
            task = Task(card, site.competition.snapshot.data)
            first = begin_run(here, task, OWN)
            site.clock.pass_by(hours=1)
            assert begin_run(here, task, OWN).id == first.id
            kept = json.loads(first.folder.config.read_text())
            assert (kept["run_id"], kept["card"]["slug"], kept["live"]) == (first.id, card.slug, True)
            assert first.folder.database == here.store.path
            site.clock.pass_by(hours=1)
            other = begin_run(here, task, CompetitionSettings(model="builtin", agent="aide"))
            assert other.id != first.id
            row = live_run_of(here.store, card.slug)
            assert row is not None
            assert row.id == other.id


async def test_a_model_that_is_not_ours_needs_a_sandbox_or_the_owners_word(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        task = Task(site.competition.card, site.competition.snapshot.data)
        (tmp_path / "recording").mkdir()
        foreign = CompetitionSettings(model=f"recorded:{tmp_path / 'recording'}")
        async with shared(site, tmp_path / "auto") as here:
            with pytest.raises(UsageError, match="there is no sandbox for what recorded:"):
                begin_run(here, task, foreign)
            assert live_run_of(here.store, site.competition.slug) is None
        said = Settings(daemon=DaemonSettings(sandbox="process"))
        async with shared(site, tmp_path / "said", said) as here:
            assert begin_run(here, task, foreign).settings.sandbox == "process"
