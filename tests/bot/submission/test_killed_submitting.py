"""Killed at any point while submitting, and started again: one act at the site, and the database knows it."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from state.errors import SubmissionInDoubt
from tests.bot.submission.parts import GRACE, Fate, HurriedClock, Killed, a_file, assert_events_match_rows, life, rows
from tests.scripted_site import Behaviour, ScriptedSite
from tests.source_tree import ROOT

pytestmark = pytest.mark.integration

QUICK: tuple[Behaviour, ...] = ("accept", "accept, cut", "accept, 500", "cut", "500")
MOST_LIVES = 12


async def lives(folder: Path, site: ScriptedSite, clock: HurriedClock, deaths: list[int]) -> list[str]:
    """Submit a file, killed at each of these boundaries in turn, until a life reaches its end; returns where it died."""
    file = a_file(folder)
    died = []
    for number in range(MOST_LIVES):
        fate = Fate(deaths[number] if number < len(deaths) else None)
        async with life(folder, site, clock, fate=fate) as now:
            try:
                fate.boundary("before the intent")
                await now.once.submit(file, node=1, source="refit")
                fate.boundary("after the confirmation")
            except Killed as killed:
                died.append(str(killed))
                continue
            except SubmissionInDoubt:
                continue
            return died
    raise AssertionError(f"it did not come to an end in {MOST_LIVES} lives: {died}")


async def assert_one_act(folder: Path, site: ScriptedSite) -> None:
    async with life(folder, site) as now:
        assert [(row.id, row.status) for row in rows(now.store)] == [("1", "confirmed")]
        assert site.tags() == [rows(now.store)[0].tag]
        assert_events_match_rows(now.store)


@pytest.mark.parametrize("behaviour", QUICK)
async def test_killed_once_at_each_boundary_there_is_one_act(tmp_path: Path, behaviour: Behaviour) -> None:
    places: set[str] = set()
    for at in range(100):
        folder = tmp_path / str(at)
        folder.mkdir()
        clock = HurriedClock()
        with ScriptedSite([behaviour], late=GRACE / 2, now=clock.now) as site:
            died = await lives(folder, site, clock, [at])
            await assert_one_act(folder, site)
        if not died:
            break
        places.update(died)
    assert not died, "every boundary was reached"
    assert places >= {
        "before the intent",
        "after its commit",
        "before the act",
        "after the act, before its confirmation",
        "before its commit",
        "after the confirmation",
    }


# A property of sequences: each example has a folder and a site of its own.
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.lists(st.sampled_from(QUICK), max_size=3),
    deaths=st.lists(st.integers(0, 22), max_size=5),
    late=st.sampled_from([0.0, GRACE / 2, GRACE]),
)
def test_however_often_it_is_killed_there_is_one_act(script: list[Behaviour], deaths: list[int], late: float) -> None:
    async def check(folder: Path) -> None:
        clock = HurriedClock()
        with ScriptedSite(script, late=late, now=clock.now) as site:
            await lives(folder, site, clock, deaths)
            await assert_one_act(folder, site)

    with tempfile.TemporaryDirectory() as place:
        asyncio.run(check(Path(place)))


PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from bot.submission.exactly_once import ExactlyOnce
from state.clock import SystemClock
from state.store import Store
from tests.bot.submission.parts import RUN, MortalSubmitter, begin
from tests.site_submitter import SiteSubmitter, plain_client

folder, url, where = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

class Real:
    def boundary(self, place):
        if place == where:
            os.kill(os.getpid(), signal.SIGKILL)

async def main():
    fate = Real()
    with Store.open(folder / "state.db", SystemClock()) as store:
        begin(store)
        async with plain_client() as client:
            site = MortalSubmitter(SiteSubmitter(client, url), fate)
            fate.boundary("before the intent")
            await ExactlyOnce(store, RUN, site, SystemClock(), folder / "lock").submit(
                folder / "made.csv", node=1, source="refit"
            )
            fate.boundary("after the confirmation")

asyncio.run(main())
"""


@contextlib.contextmanager
def a_process(folder: Path, site: ScriptedSite, where: str):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), site.url, where], cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("where", "acts"),
    [
        ("before the intent", 0),
        ("before asking for the quota", 0),
        ("before the act", 0),
        ("after the act, before its confirmation", 1),
        ("after the confirmation", 1),
    ],
)
async def test_after_kill_9_the_next_process_makes_it_one_act(tmp_path: Path, where: str, acts: int) -> None:
    file = a_file(tmp_path)
    with ScriptedSite() as site:
        with a_process(tmp_path, site, where) as process:
            assert await asyncio.to_thread(process.wait, 60) == -signal.SIGKILL
        assert len(site.acts) == acts
        async with life(tmp_path, site) as now:
            await now.once.submit(file, node=1, source="refit")
        await assert_one_act(tmp_path, site)


@pytest.mark.parametrize("behaviour", ["accept, stall", "stall"])
async def test_killed_with_9_while_the_act_is_under_way_it_is_one_act(tmp_path: Path, behaviour: Behaviour) -> None:
    file = a_file(tmp_path)
    with ScriptedSite([behaviour]) as site:
        with a_process(tmp_path, site, "nowhere") as process:
            assert await asyncio.to_thread(site.reached.wait, 60)
            os.kill(process.pid, signal.SIGKILL)
        async with life(tmp_path, site) as now:
            await now.once.submit(file, node=1, source="refit")
        await assert_one_act(tmp_path, site)


async def test_a_process_that_lives_keeps_another_from_sending(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    with ScriptedSite(["hold, accept"]) as site, a_process(tmp_path, site, "nowhere") as process:
        assert await asyncio.to_thread(site.reached.wait, 60)
        async with life(tmp_path, site) as now:
            waiting = asyncio.create_task(now.once.submit(file, node=1, source="refit"))
            while len(now.clock.slept) < 3:
                await asyncio.sleep(0)
            site.release.set()
            assert (await waiting).status == "confirmed"
        assert await asyncio.to_thread(process.wait, 60) == 0
        await assert_one_act(tmp_path, site)
