"""The server: its token stays, clients that dawdle are let go, too many are turned away, and it ends when it is told."""

import http.client
import socket
import stat
import time
from pathlib import Path

import pytest

from bot.configuration.web import WebSettings
from bot.web.serving import FIRST_REQUEST, serve
from bot.web.sources import Sources
from bot.web.token import TOKEN, read_token
from state.errors import UsageError
from tests.bot.web.served import served


def test_the_token_is_made_once_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    token = read_token(tmp_path / "state")
    assert len(token) >= 32 and read_token(tmp_path / "state") == token
    assert stat.S_IMODE((tmp_path / "state" / TOKEN).stat().st_mode) == 0o600
    assert [file.name for file in (tmp_path / "state").iterdir()] == [TOKEN]
    assert read_token(tmp_path / "other") != token


def status(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/")
    found = connection.getresponse().status
    connection.close()
    return found


def wait_for(port: int, wanted: int) -> None:
    end = time.monotonic() + 15
    while status(port) != wanted:
        assert time.monotonic() < end, f"it never answered {wanted}"
        time.sleep(0.1)


@pytest.mark.integration
def test_clients_that_dawdle_are_let_go_and_hold_up_nobody(folder: Path) -> None:
    with served(folder) as (port, _):
        silent, dribbling, again = (socket.create_connection(("127.0.0.1", port)) for _ in range(3))
        dribbling.sendall(b"GET / HT")
        # One that was answered, and begins another request that it never ends.
        again.sendall(f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert again.recv(20).startswith(b"HTTP/1.1 401")
        again.sendall(b"GET / HT")
        began = time.monotonic()
        assert status(port) == 401
        for one in (silent, dribbling, again):
            one.settimeout(FIRST_REQUEST + 60)
            while one.recv(65_536):
                pass
            one.close()
        assert FIRST_REQUEST - 2 < time.monotonic() - began < FIRST_REQUEST + 60
        assert status(port) == 401


@pytest.mark.integration
def test_a_form_that_stops_half_way_and_headers_without_end_are_given_up(folder: Path) -> None:
    with served(folder) as (port, token):
        slow = socket.create_connection(("127.0.0.1", port))
        head = f"POST /token HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n"
        slow.sendall((head + form + f"token={token[:3]}").encode())
        large = socket.create_connection(("127.0.0.1", port))
        large.sendall(b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000)
        assert large.recv(100).startswith(b"HTTP/1.1 400")
        slow.settimeout(40)
        assert slow.recv(100).startswith(b"HTTP/1.1 413")
        slow.close()
        large.close()


@pytest.mark.integration
def test_too_many_at_a_time_are_turned_away_until_the_others_have_gone(folder: Path) -> None:
    with served(folder) as (port, _):
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(80)]
        wait_for(port, 503)
        for one in held:
            one.close()
        wait_for(port, 401)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
            serve(Sources(tmp_path / "bot.toml"), WebSettings(port=port), "t", print)
