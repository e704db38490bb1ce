"""A card is settled without a word where field and reading agree; else the owner confirms with one command, or writes lines."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.configuration import Settings
from bot.configuration.competition import CompetitionSettings
from bot.engine.services import SharedServices
from bot.live.preparation import PreparationBlocker, PreparedTask, prepare
from bot.live.reading.card import ReadCard
from bot.live.reading.proposals import confirm, propose, unanswered
from bot.live.reading.quotes import ReadPage
from bot.live.services import Shared
from bot.models.sections import ModelsSection
from bot.models.settings import Environment, ModelSettings
from bot.simulator.site.settings import SiteSettings
from state.errors import UsageError
from state.live import live_runs
from tests.bot.live.site_parts import shared
from tests.bot.live.test_preparation import notices
from tests.bot.simulator.site.parts import START, Served, served, tiny
from tests.scripted_endpoint import ScriptedEndpoint
from tests.tiny_snapshot import SLUG

QUOTE = "Tell label 1 from label 0. Evaluation: log loss."
OWN = CompetitionSettings(model="reader")
BUILTIN = CompetitionSettings(model="builtin")


def answer(
    metric: str | None = "log_loss", quote: str = QUOTE, doubt: str = "", predicted: Sequence[str] = ("label",)
) -> str:
    columns = {"id_column": "id", "key_columns": [], "prediction_columns": predicted}
    return json.dumps({"metric": metric, "params": {}, **columns, "quotes": [quote], "doubt": doubt})


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    """The tiny competition, whose field does not name the metric."""
    with served(tiny(tmp_path), SiteSettings(metric_shown=False)) as found:
        yield found


@asynccontextmanager
async def asking(site: Served, folder: Path, endpoint: ScriptedEndpoint) -> AsyncIterator[Shared]:
    section = ModelsSection(base_url=endpoint.url, prices={"reader": {"input": 0, "output": 0}})
    async with shared(site, folder, Settings(models=section)) as here:
        models = ModelSettings(Environment(), section)
        machinery = here.machinery
        with_model = SharedServices(machinery.sandbox, machinery.leases, models, machinery.worker, machinery.builtin)
        yield replace(here, machinery=with_model)


@pytest.mark.integration
async def test_what_a_model_read_waits_for_one_command_and_is_read_once(site: Served, tmp_path: Path) -> None:
    with ScriptedEndpoint([answer()]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            for _ in range(2):
                found = await prepare(here, SLUG, OWN)
                assert isinstance(found, PreparationBlocker)
                assert found.lines == ('metric = "log_loss"',)
                assert f"with `bot approve {SLUG} --card`" in found.reason
                assert f'"{QUOTE}"' in found.reason
            assert (len(endpoint.requests), notices(here.store)) == (1, ["model.samples", "problem.card"])
            with here.store.write() as tx:
                confirm(tx, SLUG, "ada")
            task = await prepare(here, SLUG, OWN)
            assert isinstance(task, PreparedTask)
            assert task.card.metric.name == "log_loss"
            assert task.card.sources["metric"].startswith(f'the model says so; "{QUOTE}"')
            with here.store.read() as session:
                assert live_runs(session) == [], "reading pages is no run"


@pytest.mark.integration
async def test_a_confirmed_card_holds_only_as_long_as_its_quotes_stand(site: Served, tmp_path: Path) -> None:
    with ScriptedEndpoint([answer(), answer(None, "Now by a jury.", "a jury decides")]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            await prepare(here, SLUG, OWN)
            with here.store.write() as tx:
                confirm(tx, SLUG, "ada")
            pages = dict(site.competition.pages.content)
            site.competition.pages.content.clear()
            assert isinstance(await prepare(here, SLUG, OWN), PreparedTask), (
                "no page at all is a wrong answer of the site's"
            )
            site.competition.pages.content.update(pages, description="Now by a jury.")
            site.competition.pages.content.pop("evaluation", None)
            found = await prepare(here, SLUG, OWN)
            assert isinstance(found, PreparationBlocker)
            assert found.reason.endswith("a jury decides")


@pytest.mark.integration
async def test_field_and_reading_that_agree_settle_it_without_a_question(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site, ScriptedEndpoint([answer()]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            for _ in range(2):
                assert isinstance(await prepare(here, SLUG, OWN), PreparedTask)
            assert (len(endpoint.requests), notices(here.store)) == (1, ["model.samples"])


async def test_a_doubt_is_shown_to_the_owner_even_if_the_field_agrees(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site, ScriptedEndpoint([answer(doubt="are rows weighted?")]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            found = await prepare(here, SLUG, OWN)
            assert isinstance(found, PreparationBlocker)
            assert "are rows weighted?" in found.reason and "bot approve" in found.reason


def test_a_star_means_all_columns_that_the_others_do_not_name() -> None:
    pages = (ReadPage("evaluation", QUOTE),)
    prompt = ReadCard("Leaf", "", "", ("id", "oak", "ash"), (), (), pages, START)
    assert prompt.parse(answer(predicted=["*"])).prediction_columns == ("oak", "ash")


async def test_a_sentence_that_nobody_wrote_is_sent_back_and_then_nothing_is_proposed(site, tmp_path) -> None:
    with ScriptedEndpoint([answer(quote="Evaluated on log loss, as I recall.")]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            found = await prepare(here, SLUG, OWN)
            assert isinstance(found, PreparationBlocker)
            assert len(endpoint.requests) == 3
            assert "not quoted word for word" in endpoint.requests[1].body["messages"][-1]["content"]
            assert "the model could not read the pages" in found.reason
            with here.store.write() as tx, pytest.raises(UsageError, match="no task spec has been proposed"):
                confirm(tx, SLUG, "ada")


async def test_a_reading_that_the_leaderboard_contradicts_is_not_proposed(tmp_path: Path) -> None:
    later = START + timedelta(days=20)
    with served(tiny(tmp_path), at=later) as site, ScriptedEndpoint([answer("roc_auc")]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            found = await prepare(here, SLUG, OWN)
            assert isinstance(found, PreparationBlocker)
            objection = "read from the pages is roc_auc, which is maximized, but leaderboard scores rise"
            assert objection in found.reason
            with here.store.write() as tx:
                question = unanswered(tx.session, SLUG)
                assert question is not None and objection in question.note and QUOTE in question.note
                assert next(iter(question.choices)) == "roc_auc" and {"log_loss", "rmse"} < question.choices.keys()
                assert "accuracy" not in question.choices, "its scores would fall"
                with pytest.raises(UsageError, match="is not an answer to the current question"):
                    confirm(tx, SLUG, "ada", "accuracy")
                confirm(tx, SLUG, "ada", "log_loss")
                assert unanswered(tx.session, SLUG) is None
            task = await prepare(here, SLUG, OWN)
            assert isinstance(task, PreparedTask) and task.card.metric.name == "log_loss"
            assert QUOTE not in task.card.sources["metric"], "it spoke for another"
            with here.store.write() as tx:
                propose(tx, SLUG, question)
                assert unanswered(tx.session, SLUG) == question, "it is open again"


async def test_the_direction_of_an_own_grader_is_chosen(tmp_path: Path) -> None:
    grader = tmp_path / "grade.py"
    grader.write_text("def grade(submission, answers):\n    return 0.0\n")
    own = CompetitionSettings(model="builtin", metric=str(grader))
    with served(tiny(tmp_path), at=START - timedelta(days=9, hours=11)) as site:  # before anybody is on the leaderboard
        async with shared(site, tmp_path / "state") as here:
            assert isinstance(await prepare(here, SLUG, own), PreparationBlocker)
            with here.store.write() as tx:
                question = unanswered(tx.session, SLUG)
                assert question is not None and [*question.choices] == ["higher is better", "lower is better"]
                confirm(tx, SLUG, "ada", "higher is better")
            task = await prepare(here, SLUG, own)
            assert isinstance(task, PreparedTask)
            assert (task.card.metric.name, task.card.metric.direction) == ("grade.py", "maximize")


@pytest.mark.integration
async def test_without_a_model_what_kaggles_field_names_is_confirmed_by_the_same_command(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        async with shared(site, tmp_path / "state") as here:
            found = await prepare(here, SLUG, BUILTIN)
            assert isinstance(found, PreparationBlocker)
            assert 'confirm metric = "log_loss" (Kaggle\'s field says so)' in found.reason
            with here.store.write() as tx:
                confirm(tx, SLUG, "ada")
            assert isinstance(await prepare(here, SLUG, BUILTIN), PreparedTask)
