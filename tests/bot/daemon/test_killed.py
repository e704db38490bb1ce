"""A process that is killed in the middle of its tasks: the next one does what is left, and everything once."""

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from state.clock import FastClock
from state.store import Store
from state.tables import Task
from state.tasks import put_task

START = datetime(2017, 10, 25, 14, tzinfo=UTC)
PROGRAM = """
    import asyncio, sys
    from datetime import datetime
    from pathlib import Path
    from bot.daemon.workers import Handler, Workers
    from state.clock import FastClock
    from state.store import Store

    folder, now, hangs = Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2]), sys.argv[3] == "hangs"

    def say(text):
        with (folder / "diary").open("a") as file:
            file.write(text + "\\n")

    async def quick(task):
        say(f"did {task.key}")

    async def slow(task):
        say(f"began {task.key}")
        if hangs:
            print("begun", flush=True)
            await asyncio.Event().wait()
        say(f"did {task.key}")

    async def main():
        with Store.open(folder / "bot.db", FastClock(now, 1.0)) as store:
            workers = Workers(store, store.clock, {"quick": Handler(quick), "slow": Handler(slow)})
            running = asyncio.create_task(workers.run())
            if not hangs:
                while (folder / "diary").read_text().count("did") < 3:
                    await asyncio.sleep(0.01)
                await workers.stop(10)
            await running

    asyncio.run(main())
"""


def command(folder: Path, now: datetime, how: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(PROGRAM), str(folder), now.isoformat(), how]


def rows(store: Store) -> dict[str, tuple[str, int, int]]:
    with store.read() as session:
        return {task.key: (task.status, task.tries, task.interruptions) for task in session.exec(select(Task))}


@pytest.fixture
def store(empty_database: Path) -> Iterator[Store]:
    """What the test sees of the database, beside the process that works on it."""
    with Store.open(empty_database, FastClock(START, 1.0)) as opened:
        yield opened


@pytest.mark.integration
def test_after_kill_9_what_was_missed_and_what_was_half_done_is_done_once(store: Store, tmp_path: Path) -> None:
    with store.write() as tx:
        put_task(tx, "quick:first", "quick", due_at=START - timedelta(seconds=2))
        put_task(tx, "slow:half", "slow", due_at=START - timedelta(seconds=1))
        put_task(tx, "quick:missed", "quick", due_at=START + timedelta(hours=1))
    with subprocess.Popen(command(tmp_path, START, "hangs"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        while rows(store)["quick:first"][0] != "done":
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    assert rows(store) == {
        "quick:first": ("done", 0, 0),
        "slow:half": ("leased", 0, 0),
        "quick:missed": ("queued", 0, 0),
    }
    # Down until an hour past the time of the one that was to come.
    again = command(tmp_path, START + timedelta(hours=2), "ends")
    done = subprocess.run(again, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "diary").read_text().splitlines()
    assert lines[:2] == ["did quick:first", "began slow:half"]
    assert sorted(lines[2:]) == ["began slow:half", "did quick:missed", "did slow:half"]
    assert rows(store) == {"quick:first": ("done", 0, 0), "slow:half": ("done", 0, 1), "quick:missed": ("done", 0, 0)}
