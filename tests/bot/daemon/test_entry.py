"""A competition's loop: what it waits for, and when it begins another run."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.daemon.entry import Entry
from bot.daemon.settings import CompetitionSettings
from state.store import Store
from state.tables import Node
from tests.bot.daemon.site_parts import shared
from tests.bot.rehearsal.parts import served, tiny

GRADER = """
from sklearn.metrics import log_loss


def grade(submission, answers):
    both = answers.merge(submission, on="id", suffixes=("", "_said"))
    return {factor} * log_loss(both["label"], both["label_said"])
"""


async def until(what: Callable[[], object], working: "asyncio.Task[None]", seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not what():
            assert not working.done(), working
            await asyncio.sleep(0.05)


def score(store: Store, run_id: str | None) -> float | None:
    with store.read() as session:
        row = session.get(Node, (run_id, 1))
        return None if row is None else row.score


@pytest.mark.integration
async def test_a_grader_is_waited_for_then_scores_and_another_one_begins_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grader = tmp_path / "graders" / "grade.py"
    own = CompetitionSettings(model="builtin", metric=str(grader), direction="minimize", nodes_per_day=1)
    with served(tiny(tmp_path)) as site:
        monkeypatch.setattr(site.clock, "sleep", lambda seconds: asyncio.sleep(3600))  # only a change wakes it
        async with shared(site, tmp_path / "state") as here:
            entry = Entry(site.competition.slug, own, here)
            working = asyncio.create_task(entry.work())
            try:
                await until(lambda: "cannot be read" in entry.why, working)
                grader.parent.mkdir()
                grader.write_text(GRADER.format(factor=1))
                entry.configure(own)  # as a SIGHUP does: the settings are those of before
                await until(lambda: score(here.store, entry.run_id), working)
                first = entry.run_id
                entry.configure(own)
                await asyncio.sleep(0.2)
                assert entry.run_id == first
                grader.write_text(GRADER.format(factor=2))
                entry.configure(own)
                site.clock.pass_by(days=1)
                await until(lambda: entry.run_id != first and score(here.store, entry.run_id), working)
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
            once, twice = score(here.store, first), score(here.store, entry.run_id)
            assert once is not None
            assert twice is not None
            assert abs(twice - 2 * once) < 1e-9
            kept = json.loads((here.runs / str(first) / "config.json").read_text())
            assert kept["card"]["metric"]["name"] == "grade.py"
