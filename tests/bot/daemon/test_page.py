"""The page beside the daemon: started without its keys, again when it was killed, and ended with it."""

import asyncio
import contextlib
import http.client
import os
import signal
import socket
from pathlib import Path

import pytest

from bot.daemon.page import keep_page

pytestmark = pytest.mark.integration


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def answers(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        try:
            connection.request("GET", "/")
            with connection.getresponse() as answer:
                return answer.status == 401
        except OSError:
            return False


def page_processes(file: Path) -> dict[int, bytes]:
    """Return the processes that serve the page of a bot.toml, each with its environment."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if str(file).encode() in (folder / "cmdline").read_bytes():
                found[int(folder.name)] = (folder / "environ").read_bytes()
    return found


async def test_the_page_is_kept_going_without_keys_and_ends_with_the_daemon(tmp_path, monkeypatch) -> None:
    port, file, said = free_port(), tmp_path / "bot.toml", list[str]()
    file.write_text(f"[daemon]\ndir = 'state'\n[web]\nport = {port}\n", encoding="utf-8")
    monkeypatch.setenv("KAGGLE_API_TOKEN", "a-secret")
    keeping = asyncio.create_task(keep_page(file, said.append))

    async def until_it_answers() -> None:
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(answers, port):
                await asyncio.sleep(0.1)

    await until_it_answers()
    ((process, environment),) = page_processes(file).items()
    assert b"a-secret" not in environment
    os.kill(process, signal.SIGKILL)
    async with asyncio.timeout(30):
        while len(said) < 3:
            await asyncio.sleep(0.1)
    assert said[1].startswith("the web dashboard exited with status -9; restarting in")
    await until_it_answers()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    assert not page_processes(file) and not answers(port)
