"""A run's time goes on where it was, however short the starts of the bot were."""

from pathlib import Path

import pytest

from bot.engine.heartbeat import last_heartbeat, record_heartbeats
from bot.execution.stopwatch import Stopwatch, StopwatchReading
from state.progress import resume_run
from state.store import Store
from tests.state.conftest import StandingClock
from tests.state.rows import create_run


def started(store: Store, again: bool) -> Stopwatch:
    """Return the stopwatch of a start of the bot, as a replay makes it."""
    stopwatch = Stopwatch(last_heartbeat(store, "run"))
    with store.write() as tx:
        if again:
            resume_run(tx, "run")
        else:
            create_run(tx, "run", competition="c", agent="a", model="m", seed=0, cutoff=None)
    return stopwatch


async def test_what_many_short_starts_took_adds_up(tmp_path: Path) -> None:
    clock = StandingClock()
    with Store.open(tmp_path / "state.db", clock) as store:
        for again in (False, True, True, True):
            stopwatch = started(store, again)
            async with record_heartbeats(store, "run", stopwatch):
                pass
            clock.pass_by(4)
            with store.write() as tx:
                tx.record("something", run_id="run")
            clock.pass_by(1000)  # nobody works on it
        assert last_heartbeat(store, "run").wall == pytest.approx(16, abs=1)


async def test_a_clock_that_jumps_adds_no_more_than_could_have_passed(tmp_path: Path) -> None:
    clock = StandingClock()
    with Store.open(tmp_path / "state.db", clock) as store:
        started(store, again=False)
        clock.pass_by(86_400)
        with store.write() as tx:
            tx.record("something", run_id="run")
        assert last_heartbeat(store, "run").wall == 30
        clock.pass_by(-172_800)
        with store.write() as tx:
            tx.record("something", run_id="run")
        assert last_heartbeat(store, "run").wall == 0


def test_a_stopwatch_goes_on_from_what_was_measured() -> None:
    stopwatch = Stopwatch(StopwatchReading(100.0, 60.0, {"model": 20.0}))
    with stopwatch.measure("model"):
        pass
    shown = stopwatch.read()
    assert 100 <= shown.wall < 101
    assert 60 <= shown.busy < 61
    assert 20 <= stopwatch.seconds_of("model") < 21
    assert 40 <= stopwatch.overhead() < 41
