"""What tasks do."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.daemon.schedule import Ticks, schedule
from bot.daemon.tasks import TaskHandlers
from bot.live.entry import Entry
from bot.status.problems import current
from scrapers.kaggle.credentials import Credentials
from state.steering import set_control
from state.tables import Message, Notification, Task
from state.tasks import put_task
from tests.bot.live.site_parts import shared
from tests.bot.rehearsal.parts import served, tiny

OWN = CompetitionSettings(model="builtin", metric="log_loss")


def poll(slug: str) -> Task:
    return Task(key=f"poll:{slug}:now", kind="poll", competition=slug, created_at=None, due_at=None)


async def test_what_a_poll_finds_is_there_at_once_and_is_learnt_from_next(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            duties = TaskHandlers(here, {slug: Entry(slug, OWN, here)})
            await duties.poll(poll(slug))
            with here.store.read() as session:
                assert session.exec(select(Message)).all()
                (learn,) = session.exec(select(Task)).all()
            assert (learn.kind, learn.competition) == ("learn", slug)


@pytest.mark.integration
async def test_a_key_that_is_refused_is_a_problem_until_it_is_taken(tmp_path, caplog) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            entries = {slug: Entry(slug, OWN, here)}
            here.client._find_credentials = lambda: Credentials("KGAT_" + "f" * 32)  # as if another file lay there
            for _ in range(20):
                await TaskHandlers(here, entries).poll(poll(slug))
            (logged,) = [one for one in caplog.records if one.levelname == "ERROR"]
            assert "another token" in logged.getMessage(), "it is logged at once, and once"
            with here.store.read() as session:
                assert [one.key for one in current(session)] == ["Kaggle"]
                assert [row.kind for row in session.exec(select(Notification))] == ["problem.work"]
            here.client._find_credentials = lambda: Credentials(site.site.settings.token)
            site.clock.pass_by(days=1)  # the breaker rests after a key that was refused
            await TaskHandlers(here, entries).poll(poll(slug))
            with here.store.read() as session:
                assert current(session) == []


async def test_a_stopped_competition_is_not_polled(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            with here.store.write() as tx:
                set_control(tx, slug, "stopped")
            entry = Entry(slug, OWN, here)
            await entry.work()
            assert entry.state == "stopped"
            assert not entry.poll_is_due()
            await TaskHandlers(here, {slug: entry}).poll(poll(slug))
            with here.store.read() as session:
                assert not session.exec(select(Message)).all()


async def test_a_tick_puts_a_poll_that_is_due_and_none_behind_it(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            ticks, woken = Ticks(site.clock, failed=lambda name, error: None), []
            entry = Entry(slug, OWN, here)
            schedule(ticks, here.store, {slug: entry}, lambda: woken.append(1), 1.0, 6 * 3600.0)
            polls = ticks._slots["polls"]
            for _ in range(3):
                polls.callback(site.clock.now())
                site.clock.pass_by(minutes=1)
            with here.store.read() as session:
                (task,) = session.exec(select(Task)).all()
            assert (task.kind, woken) == ("poll", [1])


async def test_the_day_is_summed_up_and_old_tasks_go(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            with here.store.write() as tx:
                put_task(tx, "old", "health")
                tx.connection.exec_driver_sql("UPDATE task SET status = 'done', ended_at = created_at")
            site.clock.pass_by(days=15)
            duties = TaskHandlers(here, {slug: Entry(slug, OWN, here)})
            for _ in range(2):
                await duties.day(poll(slug))
            with here.store.read() as session:
                notices = session.exec(select(Notification)).all()
                assert session.exec(select(Task)).all() == []
            assert [row.key for row in notices] == [f"summary.daily/{(site.clock.now() - timedelta(days=1)).date()}"]
