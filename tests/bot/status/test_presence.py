"""Presence: what a daemon records of itself, and the clock that other processes take from it."""

import os
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path

from bot.status.lock import LOCK, is_running
from bot.status.presence import presence, record_end, record_start
from sandbox.locks import try_lock
from state.clock import FastClock, SystemClock
from state.store import Store
from tests.state.conftest import START, StandingClock, clock, store

__all__ = ["clock", "store"]


def test_the_latest_daemon_is_the_present_one(store: Store, clock: StandingClock) -> None:
    with store.read() as session:
        assert presence(session) is None
    with store.write() as tx:
        record_start(tx, 1)
        record_end(tx)
    clock.pass_by(60)
    with store.write() as tx:
        record_start(tx, os.getpid())
    with store.read() as session:
        said = presence(session)
    assert said is not None
    assert (said.since, said.process, said.ended_at) == (START + timedelta(seconds=60), os.getpid(), None)
    assert said.version == metadata.version("kaggle-bot")
    assert isinstance(said.clock, SystemClock)


def test_an_orderly_end_differs_from_a_kill(store: Store, clock: StandingClock) -> None:
    with store.write() as tx:
        record_start(tx, 1)
    clock.pass_by(60)
    with store.write() as tx:
        record_end(tx)
    with store.read() as session:
        said = presence(session)
    assert said is not None
    assert said.ended_at == clock.now()


def test_a_rehearsals_clock_shows_other_processes_the_same_time(tmp_path: Path) -> None:
    clock = FastClock(datetime(2020, 1, 1, tzinfo=UTC), 2000)
    with Store.open(tmp_path / "bot.db", clock) as store:
        with store.write() as tx:
            record_start(tx, 1)
        with store.read() as session:
            said = presence(session)
    assert said is not None
    assert isinstance(said.clock, FastClock)
    assert (said.clock.start, said.clock.speed, said.clock.began) == (clock.start, 2000, clock.began)


def test_whoever_holds_the_lock_runs(tmp_path: Path) -> None:
    assert not is_running(tmp_path)
    lock = try_lock(tmp_path / LOCK)
    assert lock is not None
    assert is_running(tmp_path)
    lock.release()
    assert not is_running(tmp_path)
