"""The protocol of sd_notify(3), against a real datagram socket."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.daemon.systemd import Systemd


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + address[1:] if address.startswith("@") else address)
        listener.settimeout(10)
        yield listener


@pytest.fixture(params=["path", "abstract"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "notify") if request.param == "path" else f"@kaggle-bot-test-{os.getpid()}"


def test_each_message_is_one_datagram_of_assignments(address: str) -> None:
    systemd = Systemd(address)
    with listening(address) as listener:
        systemd.ready("watches 5 competitions")
        systemd.status("polls titanic")
        systemd.watchdog()
        systemd.watchdog("idle")
        systemd.stopping()
        heard = [listener.recv(4096).decode() for _ in range(5)]
    assert heard == [
        "READY=1\nSTATUS=watches 5 competitions",
        "STATUS=polls titanic",
        "WATCHDOG=1",
        "WATCHDOG=1\nSTATUS=idle",
        "STOPPING=1",
    ]


def test_one_that_ends_leaves_its_time_to_the_unit_and_not_to_the_watchdog(address: str) -> None:
    with listening(address) as listener:
        Systemd(address, watchdog_seconds=6.0).stopping("shutting down")
        said = listener.recv(4096).decode()
    assert said == "STOPPING=1\nWATCHDOG_USEC=120000000\nSTATUS=shutting down"


def test_a_reload_reports_when_it_began(address: str) -> None:
    before = time.monotonic_ns() // 1000
    with listening(address) as listener:
        Systemd(address).reloading()
        first, second = listener.recv(4096).decode().split("\n")
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000


def test_a_status_is_one_short_line_whatever_is_in_it(address: str) -> None:
    with listening(address) as listener:
        Systemd(address).status("a\nREADY=1\n" + "é" * 500 + "\udc80")
        heard = listener.recv(4096).decode()
    assert heard.startswith("STATUS=a READY=1 éé") and "\n" not in heard and len(heard) == len("STATUS=") + 200


def test_nothing_happens_without_a_socket_or_with_one_that_is_gone(tmp_path, caplog) -> None:
    for silent in (
        Systemd(),
        Systemd.from_environment({}),
        Systemd.from_environment({"NOTIFY_SOCKET": "vsock:2:1234"}),
    ):
        silent.ready()
        silent.watchdog("x")
    assert caplog.text == ""
    Systemd(str(tmp_path / "gone")).ready()
    assert "cannot send 'READY=1' to systemd" in caplog.text


@pytest.mark.integration
def test_a_socket_that_nobody_reads_does_not_hold_the_daemon_up_for_long(tmp_path: Path) -> None:
    address = str(tmp_path / "full")
    with listening(address):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, pytest.raises(BlockingIOError):
            sender.setblocking(False)
            while True:
                sender.sendto(b"x", address)
        began = time.monotonic()
        Systemd(address).watchdog()
        assert time.monotonic() - began >= 0.9


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({"WATCHDOG_USEC": "120000000"}, 120.0),
        ({"WATCHDOG_USEC": "500000", "WATCHDOG_PID": str(os.getpid())}, 0.5),
        ({"WATCHDOG_USEC": "120000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_how_long_systemd_waits_is_in_the_environment(environment: dict[str, str], seconds: float | None) -> None:
    assert Systemd.from_environment({"NOTIFY_SOCKET": "/run/notify", **environment}).watchdog_seconds == seconds
    assert Systemd.from_environment(environment).watchdog_seconds is None
