"""What is prepared before a run, and data that hosts replace while the bot runs."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.live.preparation import PreparationBlocker, PreparedTask, deadline_of, prepare
from bot.live.replaced_data import report_replaced_data
from bot.live.services import Shared
from bot.simulator.site.faults import Fault, Faults
from bot.simulator.site.settings import SiteSettings
from bot.status.problems import current
from scrapers.snapshots.demo import DEMO_SLUG, write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.store import Store
from state.tables import Notification
from tests.bot.live.site_parts import shared
from tests.bot.simulator.site.parts import START, served, tiny

OWN = CompetitionSettings(model="builtin", metric="log_loss")


def notices(store: Store) -> list[str]:
    with store.read() as session:
        return [row.kind for row in session.exec(select(Notification))]


async def test_a_competition_that_is_entered_and_certain_can_be_worked_on(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        async with shared(site, tmp_path / "state") as here:
            found = await prepare(here, site.competition.slug, OWN)
            assert isinstance(found, PreparedTask)
            assert found.card.metric.name == site.competition.card.metric.name
            assert (found.data / "sample_submission.csv").is_file()
            assert found.data.is_relative_to(here.competition(site.competition.slug))
            assert notices(here.store) == []


@pytest.mark.integration
async def test_rules_that_nobody_accepted_are_a_problem_until_somebody_did(tmp_path: Path) -> None:
    with served(tiny(tmp_path), SiteSettings(entered=False)) as site:
        async with shared(site, tmp_path / "state") as here:
            for _ in range(2):
                found = await prepare(here, site.competition.slug, OWN)
                assert isinstance(found, PreparationBlocker)
                assert "accept the rules at https://www.kaggle.com/competitions/" in found.reason
            assert notices(here.store) == ["problem.rules"]
            with here.store.read() as session:
                assert [one.key for one in current(session)] == [f"rules/{site.competition.slug}"]
            site.competition.entered = True
            assert isinstance(await prepare(here, site.competition.slug, OWN), PreparedTask)
            with here.store.read() as session:
                assert current(session) == []


@pytest.mark.integration
async def test_a_card_that_is_not_certain_names_the_lines_that_settle_it(tmp_path: Path) -> None:
    with served(tiny(tmp_path), SiteSettings(metric_shown=False)) as site:
        async with shared(site, tmp_path / "state") as here:
            found = await prepare(here, site.competition.slug, CompetitionSettings(model="builtin"))
            assert isinstance(found, PreparationBlocker)
            assert any(line.startswith("metric = ") for line in found.lines), found
            assert notices(here.store) == ["problem.card"]
            assert isinstance(await prepare(here, site.competition.slug, OWN), PreparedTask)


@pytest.mark.integration
async def test_of_the_bundled_demo_only_the_metric_need_be_said(tmp_path: Path) -> None:
    demo = Snapshot.load(write_demo(tmp_path / "demo"), METRIC_DIRECTIONS)
    with served(demo, at=demo.manifest.enabled_at + timedelta(days=10)) as site:
        async with shared(site, tmp_path / "state") as here:
            own = CompetitionSettings(model="builtin", metric=demo.card.metric.name)
            found = await prepare(here, DEMO_SLUG, own)
            assert isinstance(found, PreparedTask), found
            # The demo names the usual parameters, which change nothing.
            assert (found.card.metric.name, found.card.metric.direction) == (
                demo.card.metric.name,
                demo.card.metric.direction,
            )
            assert (found.card.id_column, found.card.prediction_columns) == (
                demo.card.id_column,
                demo.card.prediction_columns,
            )
            assert notices(here.store) == []


async def test_the_deadline_is_the_owners_else_what_was_polled_last(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        async with shared(site, tmp_path / "state") as here:
            card = site.competition.card
            assert deadline_of(here, card, OWN) == card.deadline
            await here.poller.poll(card.slug, "competitions")
            assert deadline_of(here, card, OWN) == card.deadline
            later = card.deadline + timedelta(days=1)
            assert deadline_of(here, card, CompetitionSettings(deadline=later)) == later


@pytest.mark.integration
async def test_a_grader_that_cannot_be_used_is_a_problem_until_it_is_fixed(tmp_path: Path) -> None:
    grader = tmp_path / "graders" / "grade.py"
    own = CompetitionSettings(model="builtin", metric=str(grader), direction="minimize")
    wrong = {
        None: " cannot be read",
        "def grade(submission, answers:": ":1: invalid Python: ",
        "def score(submission, answers):\n    return 0.0\n": " does not define a function grade",
    }
    with served(tiny(tmp_path)) as site:
        async with shared(site, tmp_path / "state") as here:
            for text, why in wrong.items():
                if text is not None:
                    grader.parent.mkdir(exist_ok=True)
                    grader.write_text(text)
                found = await prepare(here, site.competition.slug, own)
                assert isinstance(found, PreparationBlocker)
                assert f"{grader}{why}" in found.reason
            assert notices(here.store) == ["problem.grader"] * len(wrong)
            grader.write_text("from mine import mean as grade\n")
            found = await prepare(here, site.competition.slug, own)
            assert isinstance(found, PreparedTask)
            assert (found.card.metric.name, found.card.metric.direction) == ("grade.py", "minimize")
            assert str(grader) in found.card.sources["metric"]


def data_notices(here: Shared) -> list[str]:
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
            assert isinstance(task, PreparedTask)
            for _ in range(3):
                await here.poller.poll(slug, "data")
                report_replaced_data(here, slug)
            assert data_notices(here) == []
            site.clock.pass_by(hours=2)
            for _ in range(3):
                await here.poller.poll(slug, "data")
                report_replaced_data(here, slug)
            (body,) = data_notices(here)
            assert "10018 bytes now" in body
            again = await prepare(here, slug, CompetitionSettings(metric="log_loss"))
            assert isinstance(again, PreparedTask) and again.data == task.data
