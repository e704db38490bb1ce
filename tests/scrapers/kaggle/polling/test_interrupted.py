"""A poll that is cut short anywhere, by an error, a cancellation, a full disk or a kill, loses nothing and repeats nothing."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from scrapers.kaggle.polling.poller import Poller
from state.errors import StateUnavailable
from state.store import Store, Transaction
from tests.scrapers.kaggle.polling.world import SLUG, World, down, peopled, poller_of

Ends = Literal["error", "cancelled", "full"]
CUTS = range(2, 16)
"""At which requests, or transactions, polls are cut short."""
NOT_CUT = (0, 0)
PAUSE = 1801.0
"""Seconds after which what failed is tried again; together far less than what a sweep waits that might make up for a loss."""
Known = dict[str, list[Any]]
LISTED = {
    "topics": "id, title, author, posted_at, votes, sticky, deleted FROM topic",
    "messages": "id, topic_id, parent_id, author, posted_at, edited_at, votes, markdown, deleted FROM message",
    "versions": "id, ref, version, title, created_at, votes, text, raw_sha FROM kernelversion",
    "readings": "competition, kind, name, sha256, data FROM reading",
    "votes": "target, target_id, votes FROM observation WHERE votes IS NOT NULL",
    "bodies": "sha256 FROM blob",
}
SEARCHED = {
    "scores": "target, target_id, public_score FROM observation WHERE public_score IS NOT NULL",
    "tiers": "target, target_id, tier FROM observation WHERE tier IS NOT NULL",
    "authors": "user_id, display_name, tier FROM author",
}


class FillingStore(Store):
    """A store whose disk is full at one transaction, and then has room again."""

    left = 0
    """How many transactions until then; 0 is never."""

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Transaction]:
        self.left -= 1
        if self.left == 0:
            raise StateUnavailable("the disk is full")
        with super().write(durable=durable) as tx:
            yield tx


def known(path: Path, queries: dict[str, str]) -> Known:
    """Return what is known of the world, without times of ours, in an order of its own."""
    with closing(sqlite3.connect(path)) as database:
        return {name: sorted(database.execute(f"SELECT {query}"), key=repr) for name, query in queries.items()}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database after one poll that nothing has cut short."""
    path = tmp_path_factory.mktemp("straight") / "bot.db"
    asyncio.run(polled(path))
    return path


@pytest.mark.integration
@pytest.mark.parametrize("ends", ["error", "cancelled", "full"])
async def test_wherever_a_poll_is_cut_short_the_next_ones_store_what_one_poll_would_have(ends, tmp_path, straight):
    """Each poll ends early on its way; what no poll makes up for by reading all again would be missing."""
    path = tmp_path / "bot.db"
    assert await polled(path, ends) > 3
    assert known(path, LISTED) == known(straight, LISTED)
    # After an error the later parts are read nevertheless, such as the search, which applies to what is known then.
    assert known(path, SEARCHED) == known(straight, SEARCHED) or ends == "error"


@pytest.mark.integration
async def test_a_killed_poll_leaves_whole_units_and_their_watermarks(tmp_path: Path, straight: Path) -> None:
    program = """
        import asyncio, os, signal, sys
        from pathlib import Path
        from state.store import Store
        from tests.scrapers.kaggle.polling.world import World, peopled, poller_of

        async def poll():
            world = peopled(World())
            def die(method, body):
                if len(world.asked) == int(sys.argv[2]):
                    os.kill(os.getpid(), signal.SIGKILL)
            world.before = die
            with Store.open(Path(sys.argv[1]), world.clock) as store:
                async with poller_of(world, store) as poller:
                    await poller.cycle("leaf")

        asyncio.run(poll())
    """
    path = tmp_path / "bot.db"
    command = [sys.executable, "-c", textwrap.dedent(program), str(path), "10"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = known(path, LISTED)
    assert len(left["topics"]) == 6
    assert 0 < len(left["messages"]) < 18
    await polled(path)
    assert known(path, LISTED | SEARCHED) == known(straight, LISTED | SEARCHED)


async def polled(path: Path, ends: Ends | None = None) -> int:
    """Poll a world into a database: polls that are cut short, each a little later, if any are to be, and two that are not.

    Returns:
        How many were cut short.
    """
    world, cut = peopled(World()), 0
    with FillingStore.open(path, world.clock) as store:
        async with poller_of(world, store) as poller:
            for turn in (*(CUTS if ends else ()), *NOT_CUT):
                cut += await cut_short(world, store, poller, ends, turn)
                world.clock.advance(PAUSE)
    return cut


async def cut_short(world: World, store: FillingStore, poller: Poller, ends: Ends | None, turn: int) -> bool:
    """Run a cycle that ends at a request, or a transaction, of that number, if it comes so far; return whether it did."""

    def end(method: str, body: object) -> None:
        if len(world.asked) == turn and ends == "error":
            world.bad[method] = [down]
        elif len(world.asked) == turn and ends == "cancelled":
            task = asyncio.current_task()
            task.cancel()

    world.asked.clear()
    world.before = end
    store.left = turn if ends == "full" else 0
    try:
        return bool((await asyncio.create_task(poller.cycle(SLUG))).failed)
    except (asyncio.CancelledError, StateUnavailable):
        return True
