"""The watchdog: a ping only after proof, and none from a daemon that hangs."""

import asyncio
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.daemon.systemd import Systemd
from bot.daemon.watchdog import PULSE, Watchdog
from bot.daemon.workers import Workers
from state.store import Store
from state.tables import Heartbeat
from tests.bot.daemon.parts import QUICK, started, until


class Listener:
    """What systemd has heard."""

    def __init__(self, own: socket.socket) -> None:
        self._own = own
        self.heard: list[str] = []

    def hear(self) -> list[str]:
        """Return what came since the last time."""
        new = []
        while True:
            try:
                new.append(self._own.recv(4096).decode())
            except BlockingIOError:
                self.heard += new
                return new


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "notify")


@pytest.fixture
def listener(address: str) -> Iterator[Listener]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        own.bind(address)
        own.setblocking(False)
        yield Listener(own)


class Counter:
    """Stands in for a loop: grows on demand."""

    turns = 0

    def __call__(self) -> int:
        return self.turns


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def watchdog(store: Store, address: str, counter: Counter) -> Watchdog:
    return Watchdog(Systemd(address, 0.1), store, counter, lambda: "polls titanic")


def pulse(store: Store) -> Heartbeat | None:
    with store.read() as session:
        return session.get(Heartbeat, PULSE)


def test_a_daemon_that_has_gone_on_is_alive_and_one_that_stands_still_is_not(watchdog, counter, listener) -> None:
    assert not watchdog.ping()
    assert listener.hear() == ["STATUS=unhealthy: the workers have stopped"]
    counter.turns += 1
    assert watchdog.ping()
    assert listener.hear() == ["WATCHDOG=1\nSTATUS=polls titanic"]
    assert not watchdog.ping()
    counter.turns += 1
    assert watchdog.ping()


def test_a_database_that_takes_no_write_is_no_proof(watchdog, counter, listener, store) -> None:
    counter.turns += 1
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not watchdog.ping()
        other.execute("ROLLBACK")
    assert "is locked" in listener.hear()[0] and "WATCHDOG" not in listener.heard[0]
    assert pulse(store) is None
    assert watchdog.ping()


def test_each_proof_leaves_a_sign_of_life(watchdog: Watchdog, counter: Counter, store: Store) -> None:
    counter.turns += 1
    before = store.clock.now()
    watchdog.ping()
    left = pulse(store)
    assert left is not None and left.text == "polls titanic" and left.at >= before


async def test_while_the_workers_work_pings_come_and_none_while_the_loop_hangs(store, address, listener) -> None:
    async with started(Workers(store, store.clock, {}, QUICK)) as workers:
        watchdog = Watchdog(Systemd(address, 0.4), store, lambda: workers.turns, lambda: "idle")
        running = asyncio.create_task(watchdog.run())
        await until(lambda: bool(listener.hear()) and len(listener.heard) >= 2)
        assert set(listener.heard) == {"WATCHDOG=1\nSTATUS=idle"}
        listener.hear()
        time.sleep(0.5)  # the loop hangs
        assert listener.hear() == []
        await until(lambda: bool(listener.hear()))
        running.cancel()


async def test_workers_that_hang_are_noticed_though_the_loop_goes_on(store, address, listener) -> None:
    workers = Workers(store, store.clock, {}, QUICK)
    watchdog = Watchdog(Systemd(address, 0.1), store, lambda: workers.turns, lambda: "idle")
    running = asyncio.create_task(watchdog.run())
    await until(lambda: bool(listener.hear()) and len(listener.heard) >= 3)
    assert set(listener.heard) == {"STATUS=unhealthy: the workers have stopped"}
    running.cancel()


def test_two_pings_fall_within_the_time_that_systemd_waits(store: Store) -> None:
    assert Watchdog(Systemd("/x", 120.0), store, lambda: 0, str).interval == 60.0
    assert Watchdog(Systemd(), store, lambda: 0, str).interval == 60.0
