"""What tasks do: they look at notes, and remove what was collected some time after the end."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.daemon.schedule import Ticks, schedule
from bot.daemon.tasks import TaskHandlers, prune_ended
from bot.live.live_competition import LiveCompetition
from bot.status.accounts import Allowance
from bot.status.problems import current
from scrapers.kaggle.credentials import Credentials
from state.community import CommunityView
from state.community_rows import add_community
from state.progress import end_run
from state.retention import prunable
from state.series import take_reading
from state.steering import set_control
from state.store import Store
from state.tables import Notification, PostedMessage, Task, Topic
from state.tasks import put_task
from tests.bot.live.site_parts import shared
from tests.bot.simulator.site.parts import served, tiny
from tests.state.conftest import START, StandingClock, clock, store
from tests.state.rows import create_run

__all__ = ["clock", "store"]


OWN = CompetitionSettings(model="builtin", metric="log_loss")


def poll(slug: str) -> Task:
    return Task(key=f"poll:{slug}:now", kind="poll", competition=slug, created_at=None, due_at=None)


async def test_what_a_poll_finds_is_there_at_once_and_is_learnt_from_next(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            duties = TaskHandlers(here, {slug: LiveCompetition(slug, OWN, here)})
            await duties.poll(poll(slug))
            with here.store.read() as session:
                assert session.exec(select(PostedMessage)).all()
                (learn,) = session.exec(select(Task)).all()
            assert (learn.kind, learn.competition) == ("learn", slug)


@pytest.mark.integration
async def test_a_key_that_is_refused_is_a_problem_until_it_is_taken(tmp_path, caplog) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            entries = {slug: LiveCompetition(slug, OWN, here)}
            here.client._find_credentials = lambda: Credentials("KGAT_" + "f" * 32)  # as if another file lay there
            for _ in range(20):
                await TaskHandlers(here, entries).poll(poll(slug))
            (logged,) = [one for one in caplog.records if one.levelname == "ERROR"]
            assert "a new token" in logged.getMessage(), "it is logged at once, and once"
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
            entry = LiveCompetition(slug, OWN, here)
            await entry.work()
            assert entry.state == "stopped"
            assert not entry.poll_is_due()
            await TaskHandlers(here, {slug: entry}).poll(poll(slug))
            with here.store.read() as session:
                assert not session.exec(select(PostedMessage)).all()


async def test_a_tick_puts_a_poll_that_is_due_and_none_behind_it(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        slug = site.competition.slug
        async with shared(site, tmp_path / "state") as here:
            ticks, woken = Ticks(site.clock, failed=lambda name, error: None), []
            entry = LiveCompetition(slug, OWN, here)
            schedule(ticks, here.store, {slug: entry}, lambda: woken.append(1), 1.0, 6 * 3600.0)
            polls = ticks._series["polls"]
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
            duties = TaskHandlers(here, {slug: LiveCompetition(slug, OWN, here)})
            for _ in range(2):
                await duties.day(poll(slug))
            with here.store.read() as session:
                notices = session.exec(select(Notification)).all()
                assert session.exec(select(Task)).all() == []
            assert [row.key for row in notices] == [f"summary.daily/{(site.clock.now() - timedelta(days=1)).date()}"]


@pytest.mark.integration
async def test_notes_are_looked_at_at_each_poll_and_learned_from(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "dated.md").write_text("---\ndate: 2019-12-01\n---\nTen folds.")
    (notes / "undated.md").write_text("Try naive bayes.")
    (notes / "binary.md").write_bytes(b"\xff")
    said: list[str] = []
    with served(tiny(tmp_path)) as site:
        async with shared(site, tmp_path / "state") as found:
            here = replace(found, say=lambda competition, line: said.append(line))
            slug = site.competition.slug
            entry = LiveCompetition(slug, CompetitionSettings(notes=notes), here)
            handlers = TaskHandlers(here, {slug: entry})

            async def poll(key: str) -> None:
                at = site.clock.now()
                await handlers.poll(Task(key=key, kind="poll", competition=slug, created_at=at, due_at=at))

            def learning() -> list[str]:
                with here.store.read() as session:
                    keys = session.exec(select(Task.key).where(Task.kind == "learn")).all()
                return [key for key in keys if "notes" in key]

            def times() -> dict[str, datetime]:
                view = CommunityView(here.store, slug, site.clock.now())
                return {post.text: post.time for post in view.messages() if post.id.startswith("note-")}

            first = site.clock.now()
            await poll("one")
            assert times() == {"Ten folds.": datetime(2019, 12, 1, tzinfo=UTC), "Try naive bayes.": first}
            assert learning() == ["learn notes after one"]
            assert [line for line in said if "note" in line] == [
                "notes: binary.md was skipped: it is not UTF-8 text",
                "read 2 new or edited notes",
            ]
            await poll("two")
            assert learning() == ["learn notes after one"], "nothing has changed"
            (notes / "undated.md").write_text("Try naive bayes, and calibrate it.")
            (notes / "dated.md").unlink()
            site.clock.pass_by(days=1)
            await poll("three")
            assert learning() == ["learn notes after one", "learn notes after three"]
            edited = {"Try naive bayes, and calibrate it.": site.clock.now()}
            assert times() == {"Ten folds.": datetime(2019, 12, 1, tzinfo=UTC), **edited}


def collect(store: Store, name: str) -> None:
    with store.write() as tx:
        add_community(tx, name, [Topic(competition=name, id="1", title="Folds", posted_at=START)])


def removed(store: Store, **configured: CompetitionSettings) -> list[str]:
    return [one.competition for one in prune_ended(store, Allowance(competitions=configured), 90.0, START)]


def test_the_end_is_the_owners_the_sites_or_the_runs(store: Store, clock: StandingClock) -> None:
    long_ago, lately = START - timedelta(days=91), START - timedelta(days=89)
    for name in ("owners", "sites", "runs", "lately", "endless"):
        collect(store, name)
    with store.write() as tx:
        take_reading(tx, "sites", "competition", "", {"deadline": long_ago.isoformat()})
        take_reading(tx, "lately", "competition", "", {"deadline": lately.isoformat()})
        card = {"card": {"deadline": long_ago.isoformat()}}
        create_run(tx, "r", competition="runs", agent="aide", model="m", seed=0, cutoff=None, config=card)
    own = CompetitionSettings(deadline=long_ago)
    assert removed(store, owners=own) == ["owners", "sites"]
    with store.write() as tx:
        end_run(tx, "r", "finished")
    assert removed(store, owners=own) == ["runs"], "as soon as its run has ended"
    assert prunable(store, "lately").posts == prunable(store, "endless").posts == 1


def test_what_is_read_again_of_one_that_is_gone_makes_no_work(store: Store) -> None:
    collect(store, "old")
    ended = {"deadline": (START - timedelta(days=91)).isoformat()}
    for expected in (["old"], []):
        with store.write() as tx:
            take_reading(tx, "old", "competition", "", ended)
        assert removed(store) == expected
