"""A cycle: what is due, what a failure does, what unchanged content costs, and what is left after an end at any point."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from scrapers.kaggle.polling import Poller
from scrapers.kaggle.polling.schedule import ORDER
from state.errors import NotAuthenticated, NotFound, RateLimited, SiteUnavailable, StateUnavailable
from state.polled import Watermark
from state.store import Store
from state.watermarks import watermarks
from tests.scrapers.kaggle.parts import answer
from tests.scrapers.kaggle.polling.world import SLUG, TITLE, World, down, poller_of

Ends = Literal["error", "cancelled", "locked"]
CUTS: dict[Ends, tuple[int, ...]] = {"error": (2, 9, 20), "cancelled": (1, 5, 13), "locked": (3, 8, 17)}
"""At which requests."""
MARKS = "watermark"
"""The one table in which a poll without news may write."""


def peopled(world: World) -> World:
    """Fill a world with some of everything, on several pages."""
    world.page_size = 4
    for id in range(1, 7):
        world.thread(id, minutes=id, votes=id % 3, sticky=id == 1)
        first = world.comment(id, 10_000 + id, minutes=30 + id, votes=1)
        world.comment(id, 20_000 + id, minutes=60 + id, to=first, author="bob")
    for id in range(1, 7):
        world.kernel(id, minutes=id, score=id / 10)
    world.competitions = [
        {"ref": f"https://www.kaggle.com/competitions/{SLUG}", "title": TITLE, "userHasEntered": True}
    ]
    world.submissions = [{"ref": 7, "status": "COMPLETE", "publicScore": "0.5"}]
    user = {"id": 5, "userName": "ann", "displayName": "ann", "tier": "MASTER"}
    world.found["TOPIC"] = [{"id": id, "documentType": "TOPIC", "ownerUser": user} for id in range(1, 7)]
    return world


def contents(path: Path) -> dict[str, list[Any]]:
    """Return every row of every table."""
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: database.execute(f"SELECT * FROM {table}").fetchall() for table in tables}  # noqa: S608


def known(path: Path) -> dict[str, list[Any]]:
    """Return what is known of the world, without times of ours, in an order of its own."""
    columns = {
        "topic": "id, title, author, posted_at, votes, sticky, deleted, tier",
        "message": "id, topic_id, parent_id, author, posted_at, edited_at, votes, markdown, deleted, tier",
        "kernelversion": "id, ref, version, title, created_at, votes, public_score, text, raw_sha",
        "reading": "competition, kind, name, sha256, data",
        "observation": "target, target_id, votes, public_score, tier",
        "author": "user_id, display_name, tier",
        "blob": "sha256",
    }
    with closing(sqlite3.connect(path)) as database:
        return {
            table: sorted(database.execute(f"SELECT {names} FROM {table}").fetchall(), key=repr)  # noqa: S608
            for table, names in columns.items()
        }


def marks(store: Store) -> dict[str, Watermark]:
    with store.read() as session:
        return {**watermarks(session, SLUG), **watermarks(session, "")}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What is known after one poll that nothing has cut short."""
    return asyncio.run(polled(tmp_path_factory.mktemp("straight") / "bot.db"))


async def test_the_first_cycle_reads_everything_and_the_next_one_what_is_due(world: World, poller: Poller) -> None:
    peopled(world)
    cycle = await poller.cycle(SLUG)
    # What the first pass over topics and kernels has read is swept already.
    assert set(cycle.ran) == set(ORDER)
    assert cycle.news.counts()["message new"] == 18
    assert cycle.news.counts()["version new"] == 6
    world.methods()
    assert (await poller.cycle(SLUG)).ran == ()
    assert world.methods() == []
    assert poller.wait(SLUG) == 15 * 60
    world.clock.advance(15 * 60)
    assert (await poller.cycle(SLUG)).ran == ("topics",)
    assert world.methods() == ["ListCompetitionTopics"]
    assert poller.entered() == [SLUG]


async def test_a_second_identical_poll_writes_nothing_but_the_watermarks_time(
    world: World, store: Store, poller: Poller
) -> None:
    peopled(world)
    await poller.cycle(SLUG, everything=True)
    before, last = contents(store.path), marks(store)
    world.clock.advance(86_400)
    cycle = await poller.cycle(SLUG, everything=True)
    assert (set(cycle.ran), cycle.failed, bool(cycle.news)) == (set(ORDER), {}, False)
    after = contents(store.path)
    # A topic's messages are units of their own: when they were last read is their watermark.
    differing = {table for table in after if after[table] != before[table]}
    assert differing <= {MARKS, "polledtopic"}
    assert {table: len(rows) for table, rows in after.items()} == {table: len(rows) for table, rows in before.items()}
    now = marks(store)
    dropped = {"at", "served_at", "value"}
    assert {p: m.model_dump(exclude=dropped) for p, m in now.items()} == {
        p: m.model_dump(exclude=dropped) for p, m in last.items()
    }
    assert all(mark.at == world.clock.now() for mark in now.values())


async def test_every_observation_has_our_time_and_the_sites(world: World, store: Store, poller: Poller) -> None:
    await poller.cycle((peopled(world), SLUG)[1])
    rows = contents(store.path)["observation"]
    with closing(sqlite3.connect(store.path)) as database:
        assert database.execute("SELECT count(*) FROM observation WHERE served_at IS NULL").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM reading WHERE served_at IS NULL").fetchone() == (0,)
    assert len(rows) > 30


async def test_a_part_that_fails_stops_no_other_and_is_tried_again(world: World, store: Store, poller: Poller) -> None:
    peopled(world)
    gone = answer({"error": {"code": 404, "message": "Not found"}}, 404)
    world.bad = {"ListCompetitionTopics": [down], "ListCompetitionPages": [gone], "GetLeaderboard": [answer("<html>")]}
    cycle = await poller.cycle(SLUG)
    assert {part: type(error) for part, error in cycle.failed.items()} == {
        # The family is left in peace for a moment after the first.
        **{"topics": SiteUnavailable, "topic_sweep": RateLimited},
        **{"pages": NotFound, "top": SiteUnavailable},
    }
    assert "Not found" in (marks(store)["pages"].error or "")
    assert {"kernels", "scores", "board", "submissions"} <= set(cycle.ran)
    world.clock.advance(150)
    cycle = await poller.cycle(SLUG)
    assert (set(cycle.ran), cycle.failed) == ({"topics", "topic_sweep", "messages", "top"}, {})
    assert (marks(store)["pages"].failures, marks(store)["topics"].failures) == (1, 0)
    world.clock.advance(6 * 3600)
    assert "pages" in (await poller.cycle(SLUG)).ran


async def test_an_unknown_token_ends_the_cycle(world: World, store: Store, poller: Poller) -> None:
    unknown = {"error": {"code": 401, "message": "Unauthenticated", "status": "UNAUTHENTICATED"}}
    world.bad["ListCompetitions"] = [answer(unknown, 401)]
    with pytest.raises(NotAuthenticated):
        await poller.cycle(SLUG)
    assert world.methods() == ["ListCompetitions"]
    assert marks(store)["competitions"].failures == 1


async def test_one_part_can_be_read_whether_it_is_due_or_not(world: World, poller: Poller) -> None:
    await poller.cycle(SLUG)
    world.pages["rules"] = "Other rules."
    assert (await poller.poll(SLUG, "pages")).ids("page changed") == ["rules"]


async def test_competitions_are_kept_apart(world: World, store: Store, poller: Poller) -> None:
    world.thread(1)
    await poller.poll(SLUG, "topics")
    await poller.poll("rock", "topics")
    assert [row[:2] for row in contents(store.path)["topic"]] == [("leaf", "1"), ("rock", "1")]


@pytest.mark.parametrize("ends", ["error", "cancelled", "locked"])
async def test_wherever_a_poll_is_cut_short_the_next_ones_store_what_one_poll_would_have(
    ends: Ends, tmp_path: Path, straight: dict[str, list[Any]]
) -> None:
    """The first polls are each cut short at a request further on; the last one runs through."""
    assert await polled(tmp_path / "cut.db", ends) == straight


@pytest.mark.integration
async def test_a_killed_poll_leaves_whole_units_and_their_watermarks(
    tmp_path: Path, straight: dict[str, list[Any]]
) -> None:
    program = """
        import asyncio, os, signal, sys
        from pathlib import Path
        from state.store import Store
        from tests.scrapers.kaggle.polling.test_poller import World, peopled, poller_of

        async def poll():
            world, asked = peopled(World()), 0
            def die(method, body):
                if len(world.asked) == int(sys.argv[2]):
                    os.kill(os.getpid(), signal.SIGKILL)
            world.before = die
            with Store.open(Path(sys.argv[1]), world.clock) as store:
                async with poller_of(world, store) as poller:
                    await poller.cycle("leaf", everything=True)

        asyncio.run(poll())
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "cut.db"), "10"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = known(tmp_path / "cut.db")
    assert len(left["topic"]) == 6
    assert 0 < len(left["message"]) < 18
    assert await polled(tmp_path / "cut.db") == straight


async def polled(path: Path, ends: Ends | None = None) -> dict[str, list[Any]]:
    """Poll a world into a database, after polls that were cut short if any are to be, and return what is known then."""
    world = peopled(World())
    with Store.open(path, world.clock, busy_seconds=0.01) as store:
        async with poller_of(world, store) as poller:
            if ends is not None:
                await cut_short(world, poller, ends)
            await poller.cycle(SLUG, everything=True)
    return known(path)


async def cut_short(world: World, poller: Poller, ends: Ends) -> None:
    """Begin cycles, and end each at a later request, in one of the ways in which they end."""
    for turn in CUTS[ends]:
        world.asked.clear()
        with closing(sqlite3.connect(poller.store.path, isolation_level=None)) as another:

            def end(method: str, body: object) -> None:
                if len(world.asked) == turn:  # noqa: B023 - called within the loop
                    _end(world, method, ends, another)

            world.before = end
            with suppress(asyncio.CancelledError, StateUnavailable):
                await asyncio.create_task(poller.cycle(SLUG, everything=True))
        world.clock.advance(1)
    world.before = lambda method, body: None


def _end(world: World, method: str, ends: Ends, another: sqlite3.Connection) -> None:
    task = asyncio.current_task()
    assert task is not None
    if ends == "error":
        world.bad[method] = [down]
    elif ends == "cancelled":
        task.cancel()
    else:
        another.execute("BEGIN IMMEDIATE")
