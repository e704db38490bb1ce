"""A competition's live run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.agents.settings import ReplayOptions
from bot.coder.coder_config import CoderSection
from bot.coder.lab.settings import LabSettings
from bot.configuration import Settings
from bot.configuration.competition import CompetitionSettings
from bot.execution.stopwatch import Stopwatch
from bot.live.live_run import begin_run, can_continue, live_run_of, open_run_context, reopen_run
from bot.live.preparation import PreparedTask
from bot.models.sections import ModelsSection
from bot.models.settings import Environment, ModelSettings
from sandbox.bubblewrap import BubblewrapSandbox
from scrapers.snapshots.card import MetricSpec, TaskCard
from state.errors import UsageError
from tests.bot.live.site_parts import shared
from tests.bot.simulator.site.parts import served, tiny

OWN = CompetitionSettings(model="builtin", metric="log_loss")


async def test_a_run_is_taken_up_again_and_another_agent_begins_another(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        card = site.competition.card
        async with shared(site, tmp_path / "state") as here:
            task = PreparedTask(card, site.competition.snapshot.data)
            first = begin_run(here, task, OWN)
            site.clock.pass_by(hours=1)
            assert begin_run(here, task, OWN).id == first.id
            kept = json.loads(first.folder.config.read_text())
            assert (kept["run_id"], kept["card"]["slug"], kept["live"]) == (first.id, card.slug, True)
            assert first.folder.database == here.store.path
            site.clock.pass_by(hours=1)
            other = begin_run(here, task, CompetitionSettings(model="builtin", metric="log_loss", agent="aide"))
            assert other.id != first.id
            row = live_run_of(here.store, card.slug)
            assert row.id == other.id


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"metric": {"name": "log_loss", "direction": "minimize", "params": {"eps": 1e-7}}},
        {"key_columns": ("kind",)},
        {"grader": "def grade(submission, answers):\n    return 2.0\n"},
    ],
)
async def test_where_scores_would_mean_something_else_another_run_is_begun(tmp_path, changed) -> None:
    grader = tmp_path / "grader" / "grade.py"
    grader.parent.mkdir()
    grader.write_text("def grade(submission, answers):\n    return 1.0\n")
    own = OWN.model_copy(update={"metric": str(grader)} if "grader" in changed else {})
    with served(tiny(tmp_path)) as site:
        card, data = site.competition.card, site.competition.snapshot.data
        async with shared(site, tmp_path / "state") as here:
            first = begin_run(here, PreparedTask(card, data), own)
            assert begin_run(here, PreparedTask(card, data), own).id == first.id
            if "grader" in changed:
                assert first.folder.grader.read_text() == grader.read_text()
                grader.write_text(changed["grader"])
            later = own.model_copy(update={"seed": changed["seed"]} if "seed" in changed else {})
            fields = {name: value for name, value in changed.items() if name in ("metric", "key_columns")}
            task = PreparedTask(TaskCard.model_validate({**card.model_dump(), **fields}), data)
            site.clock.pass_by(hours=1)
            row = live_run_of(here.store, card.slug)
            assert row is not None
            assert not can_continue(row, task, later)
            assert reopen_run(here, row).folder.path == first.folder.path
            other = begin_run(here, task, later)
            assert other.id != first.id
            assert begin_run(here, task, later).id == other.id
            assert other.folder.grader.is_file() == ("grader" in changed)


@pytest.mark.integration
async def test_a_grader_of_the_owners_scores_what_the_run_makes(tmp_path: Path) -> None:
    grader = tmp_path / "grade.py"
    grader.write_text("def grade(submission, answers):\n    return 1.0\n")
    own = OWN.model_copy(update={"metric": str(grader)})
    with served(tiny(tmp_path)) as site:
        card = site.competition.card.model_copy(update={"metric": MetricSpec(name="grade.py", direction="minimize")})
        async with shared(site, tmp_path / "state") as here:
            run = begin_run(here, PreparedTask(card, site.competition.snapshot.data), own)
            grader.write_text("def grade(submission, answers):\n    return 2.0\n")
            async with open_run_context(here, run, Stopwatch()) as context:
                kept = context.executor.settings.grader
            assert kept == run.folder.grader
            assert "return 1.0" in kept.read_text()


async def test_a_model_that_is_not_ours_needs_a_sandbox_or_the_owners_consent(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        task = PreparedTask(site.competition.card, site.competition.snapshot.data)
        (tmp_path / "recording").mkdir()
        foreign = CompetitionSettings(model=f"recorded:{tmp_path / 'recording'}")
        async with shared(site, tmp_path / "auto") as here:
            with pytest.raises(UsageError, match="no sandbox for scripts from recorded:"):
                begin_run(here, task, foreign)
            assert live_run_of(here.store, site.competition.slug) is None
        uncontained = Settings(run=ReplayOptions(sandbox="process"))
        async with shared(site, tmp_path / "uncontained", uncontained) as here:
            assert begin_run(here, task, foreign).settings.sandbox == "process"


async def test_a_language_model_behind_walls_works_in_labs_as_they_are_set_and_the_builtin_one_writes_scripts(tmp_path):
    with served(tiny(tmp_path)) as site:
        task = PreparedTask(site.competition.card, site.competition.snapshot.data)
        (tmp_path / "recording").mkdir()
        foreign = CompetitionSettings(model=f"recorded:{tmp_path / 'recording'}", lab=LabSettings(labs_per_day=3))
        async with shared(site, tmp_path / "state", Settings()) as here:
            walls = replace(here, machinery=replace(here.machinery, sandbox=BubblewrapSandbox()))
            settings = begin_run(walls, task, foreign).settings
            assert (settings.chosen_coder.labs, settings.lab.labs_per_day) == (True, 3)
            assert not begin_run(walls, task, OWN).settings.chosen_coder.labs
        uncontained = Settings(run=ReplayOptions(sandbox="process"))
        async with shared(site, tmp_path / "uncontained", uncontained) as here:
            assert not begin_run(here, task, foreign).settings.chosen_coder.labs


async def test_a_model_that_a_variable_names_needs_a_cap_on_money_a_day_too(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        task = PreparedTask(site.competition.card, site.competition.snapshot.data)
        async with shared(site, tmp_path / "state", Settings(run=ReplayOptions(sandbox="process"))) as here:
            variables = Environment(openai_api_key=SecretStr("sk-made-up"), openai_model="gpt-4o")
            models = ModelSettings(variables, ModelsSection())
            here = replace(here, machinery=replace(here.machinery, models=models))
            with pytest.raises(UsageError, match=r"tiny-table needs max_cost_per_day.*gpt-4o"):
                begin_run(here, task, CompetitionSettings(max_cost=50.0))
            assert begin_run(here, task, CompetitionSettings(max_cost_per_day=5.0)).settings.model == "openai:gpt-4o"


async def test_a_coding_agent_of_the_owners_works_in_the_labs_of_the_competition_that_names_it(tmp_path: Path) -> None:
    coders = {"mine": CoderSection(command="agent </lab/TASK.md", dialect="chat")}
    with served(tiny(tmp_path)) as site:
        task = PreparedTask(site.competition.card, site.competition.snapshot.data)
        async with shared(site, tmp_path / "state", Settings(coders=coders)) as here:
            models = ModelSettings(
                Environment(openai_api_key=SecretStr("sk-made-up"), openai_model="gpt-4o"), ModelsSection()
            )
            machinery = replace(here.machinery, models=models, sandbox=BubblewrapSandbox())
            walls, own = replace(here, machinery=machinery), CompetitionSettings(max_cost_per_day=5.0)
            found = begin_run(walls, task, own.model_copy(update={"coder": "mine"})).settings.chosen_coder.agent
            assert (found.name, found.model, found.dialect) == ("mine", "gpt-4o", "chat")
            assert begin_run(walls, task, own).settings.chosen_coder.agent is None
            with pytest.raises(UsageError, match="unknown coder 'mein': did you mean mine"):
                begin_run(walls, task, own.model_copy(update={"coder": "mein"}))
            with pytest.raises(UsageError, match="coder mine works in labs, which require a language model"):
                begin_run(walls, task, OWN.model_copy(update={"coder": "mine"}))
