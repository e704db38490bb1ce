"""A competition's loop: what it waits for, and when it begins another run."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import col, select

from bot.configuration.competition import CompetitionSettings
from bot.execution.folder import RunFolder
from bot.live.live_competition import LiveCompetition
from bot.live.services import Shared
from bot.status.problems import current
from state.approvals import open_requests, request_submission
from state.errors import SiteUnavailable
from state.steering import set_control
from state.store import Store
from state.submissions import intend_submission, submissions_of
from state.tables import Node, Notification, Run
from tests.bot.live.site_parts import shared
from tests.bot.replay.conftest import light
from tests.bot.simulator.site.parts import Served, served, tiny

__all__ = ["light"]

GRADER = """
from sklearn.metrics import log_loss


def grade(submission, answers):
    both = answers.merge(submission, on="id", suffixes=("", "_said"))
    return {factor} * log_loss(both["label"], both["label_said"])
"""


async def until(what: Callable[[], object], working: "asyncio.Task[None]", seconds: float = 240.0) -> None:
    async with asyncio.timeout(seconds):
        while not what():
            assert not working.done(), working
            await asyncio.sleep(0.05)


def score(store: Store, run_id: str | None) -> float | None:
    with store.read() as session:
        row = session.get(Node, (run_id, 1))
        return None if row is None else row.score


@asynccontextmanager
async def working(
    folder: Path, monkeypatch: pytest.MonkeyPatch, own: CompetitionSettings
) -> AsyncIterator[tuple[Served, Shared, LiveCompetition, "asyncio.Task[None]"]]:
    """Have an entry work on the small competition; only a change wakes it."""
    with served(tiny(folder)) as site:
        monkeypatch.setattr(site.clock, "sleep", lambda seconds: asyncio.sleep(3600))
        async with shared(site, folder / "state") as here:
            entry = LiveCompetition(site.competition.slug, own, here)
            task = asyncio.create_task(entry.work())
            try:
                yield site, here, entry, task
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def run_of(here: Shared, run_id: str | None) -> Run:
    with here.store.read() as session:
        return session.get_one(Run, run_id)


def result_of(here: Shared, run_id: str | None) -> dict[str, Any]:
    return dict(json.loads(RunFolder(here.runs / str(run_id)).result.read_text()))


def notices(here: Shared) -> list[str]:
    with here.store.read() as session:
        return [row.kind for row in session.exec(select(Notification).order_by(col(Notification.id)))]


@pytest.mark.integration
@pytest.mark.usefixtures("light")
async def test_a_grader_is_waited_for_then_scores_and_another_one_begins_another_run(tmp_path, monkeypatch) -> None:
    grader = tmp_path / "graders" / "grade.py"
    own = CompetitionSettings(model="builtin", metric=str(grader), direction="minimize", nodes_per_day=1)
    async with working(tmp_path, monkeypatch, own) as (site, here, entry, task):
        await until(lambda: "cannot be read" in entry.reason, task)
        grader.parent.mkdir()
        grader.write_text(GRADER.format(factor=1))
        entry.configure(own)  # as a SIGHUP does: the settings are those of before
        await until(lambda: score(here.store, entry.run_id), task)
        first = entry.run_id
        entry.configure(own)
        await asyncio.sleep(0.2)
        assert entry.run_id == first
        grader.write_text(GRADER.format(factor=2))
        entry.configure(own)
        site.clock.pass_by(days=1)
        await until(lambda: entry.run_id != first and score(here.store, entry.run_id), task)
        once, twice = score(here.store, first), score(here.store, entry.run_id)
        assert once is not None
        assert twice is not None
        assert abs(twice - 2 * once) < 1e-9
        # The run before was brought to its end, so that nothing of it is left behind.
        assert run_of(here, first).status == "finished"
        assert result_of(here, first)["stopped_by"] == "another run was started"
        assert run_of(here, first).config["card"]["metric"]["name"] == "grade.py"


@pytest.mark.integration
@pytest.mark.usefixtures("light")
async def test_a_grader_that_scores_no_view_is_a_notice_once_and_nothing_is_made_up(tmp_path, monkeypatch) -> None:
    grader = tmp_path / "grade.py"
    grader.write_text("def grade(submission, answers):\n    return answers['Weight'].sum()\n")
    own = CompetitionSettings(model="builtin", metric=str(grader), direction="minimize")
    async with working(tmp_path, monkeypatch, own) as (site, here, entry, task):
        await until(lambda: "KeyError" in entry.reason, task)
        for _ in range(2):
            entry.configure(own)
            await asyncio.sleep(1.0)
        assert (entry.state, notices(here)) == ("waiting", ["problem.grader"])
        assert str(grader) in entry.reason
        assert score(here.store, entry.run_id) is None
        site.clock.pass_by(minutes=1)
        grader.write_text(GRADER.format(factor=1))
        entry.configure(own)
        await until(lambda: score(here.store, entry.run_id), task)
        with here.store.read() as session:
            assert current(session) == []


@pytest.mark.integration
async def test_what_the_owner_stops_ends_with_its_result_and_what_was_not_sent_is_withdrawn(tmp_path, monkeypatch):
    own = CompetitionSettings(model="builtin", metric="log_loss", nodes_per_day=1)
    async with working(tmp_path, monkeypatch, own) as (_, here, entry, task):
        await until(lambda: score(here.store, entry.run_id), task)
        run_id = str(entry.run_id)
        with here.store.write() as tx:
            intend_submission(tx, run_id, node=1, prediction_source="refit", file_sha="ab" * 32)
            request_submission(tx, run_id, 1, "ann")
            set_control(tx, entry.slug, "stopped")
        entry.changed()
        await asyncio.wait_for(task, 60)
        assert (entry.state, run_of(here, run_id).status) == ("stopped", "finished")
        result = result_of(here, run_id)
        assert (result["stopped_by"], result["nodes"] > 0) == ("stopped by the owner", True)
        assert RunFolder(here.runs / run_id).report.is_file()
        with here.store.read() as session:
            assert [row.status for row in submissions_of(session, run_id)] == ["withdrawn"]
            assert open_requests(session, run_id) == []
        # A later start finds it done.
        again = LiveCompetition(entry.slug, own, here)
        await again.work()
        assert (again.state, run_of(here, run_id).status) == ("stopped", "finished")


async def test_private_scores_are_looked_for_three_times_though_the_bot_was_away_for_a_month(tmp_path, monkeypatch):
    with served(tiny(tmp_path)) as site:
        site.clock.pass_by(days=1000)
        async with shared(site, tmp_path / "state") as here:
            entry = LiveCompetition(
                site.competition.slug, CompetitionSettings(model="builtin", metric="log_loss"), here
            )
            shown = SimpleNamespace(
                score=0.5, score_kind="public", rank=None, n_teams=0, medal=None, submissions=(object(),)
            )
            pauses = list[float]()

            async def pause(seconds: float) -> None:
                pauses.append(seconds)

            async def nothing(*_: object) -> SimpleNamespace:
                return shown

            monkeypatch.setattr("bot.live.live_competition.live_run_of", lambda *_: SimpleNamespace(id="run"))
            monkeypatch.setattr("bot.live.live_competition.notify", lambda *_: None)
            monkeypatch.setattr("bot.live.live_competition._AT_THE_END", ())
            for name, instead in (("_finish", nothing), ("_pause", pause)):
                monkeypatch.setattr(entry, name, instead)
            monkeypatch.setattr(entry, "_card", lambda: site.competition.snapshot.card)
            assert [await entry._end() for _ in range(3)] == [False, False, True]
            assert len(pauses) == 2
            shown.score_kind = "private"
            assert await entry._end()


async def test_what_keeps_it_from_its_work_is_a_notice_at_once_except_for_what_may_pass(tmp_path, monkeypatch) -> None:
    own = CompetitionSettings(model="openai:none")
    async with working(tmp_path, monkeypatch, own) as (_, here, entry, task):
        await until(lambda: entry.reason != "not checked yet", task)
        assert notices(here) == ["problem.work"]
    async with working(tmp_path / "other", monkeypatch, CompetitionSettings(model="builtin", metric="log_loss")) as (
        site,
        here,
        entry,
        task,
    ):
        monkeypatch.setattr(entry, "_step", _unavailable)
        entry.changed()
        await until(lambda: entry.reason == "the site is away", task)
        assert notices(here) == []
        site.clock.pass_by(hours=2)
        entry.changed()
        await until(lambda: notices(here) == ["problem.work"], task)


async def _unavailable() -> bool:
    raise SiteUnavailable("the site is away")
