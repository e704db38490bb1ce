"""Tasks: done once under a key, one owner at a time, and never lost, whatever the clock does."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session, col, select

from state.clock import SystemClock
from state.store import Store
from state.tables import Task
from state.tasks import (
    MOST_INTERRUPTIONS,
    claim_task,
    coming_tasks,
    finish_task,
    has_open_task,
    next_due,
    prune_tasks,
    put_task,
    recover_tasks,
    release_tasks,
    retry_task,
)
from tests.state.conftest import START, StandingClock

DAY = 86_400.0
POLL = "poll:titanic:2020-01-01T00:00"


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without rows, to be copied: to make its tables takes longer than all that a test does."""
    path = tmp_path_factory.mktemp("empty") / "state.db"
    Store.open(path, SystemClock()).close()
    return path


@pytest.fixture
def store(tmp_path: Path, clock: StandingClock, empty_database: Path) -> Iterator[Store]:
    with Store.open(Path(shutil.copy(empty_database, tmp_path / "state.db")), clock) as opened:
        yield opened


def put(store: Store, key: str = POLL, kind: str = "poll", competition: str = "titanic", seconds: float = 0.0) -> bool:
    with store.write() as tx:
        return put_task(tx, key, kind, competition=competition, due_at=tx.now() + timedelta(seconds=seconds))


def claim(store: Store, owner: str = "me", *kinds: str, busy: tuple[tuple[str, str], ...] = ()) -> str | None:
    with store.write() as tx:
        task = claim_task(tx, owner, kinds=kinds or ("poll",), busy=busy)
    return task.key if task else None


def fail(store: Store, key: str = POLL, *, seconds: float = 30.0, most: int = 3, counted: bool = True) -> Task | None:
    with store.write() as tx:
        due_at = tx.now() + timedelta(seconds=seconds)
        return retry_task(tx, key, "me", due_at=due_at, error="broken", limit=most, counted=counted)


def recover(store: Store, *running: str) -> list[str]:
    with store.write() as tx:
        return [task.key for task in recover_tasks(tx, running=running)]


def finish(store: Store, key: str = POLL, owner: str = "me") -> bool:
    with store.write() as tx:
        return finish_task(tx, key, owner)


def row(store: Store, key: str = POLL) -> Task:
    with store.read() as session:
        return session.get_one(Task, key)


def due(store: Store, session: Session) -> float | None:
    at = next_due(session, store.clock.now(), ["poll"])
    return None if at is None else (at - store.clock.now()).total_seconds()


def test_what_is_put_twice_is_one_task_whatever_became_of_the_first(store: Store) -> None:
    assert put(store)
    assert not put(store, seconds=50)
    assert row(store).due_at == START
    assert claim(store) == POLL
    assert not put(store)
    assert finish(store)
    assert not put(store)
    assert claim(store) is None
    assert (row(store).status, row(store).owner, row(store).ended_at) == ("done", None, START)


def test_a_task_that_is_put_without_a_time_is_due_now(store: Store) -> None:
    with store.write() as tx:
        assert put_task(tx, "backup:2020-01-01", "backup")
    task = row(store, "backup:2020-01-01")
    assert (task.due_at, task.created_at, task.competition) == (START, START, "")


def test_the_one_that_has_been_due_for_longest_comes_first_and_none_before_its_time(store, clock) -> None:
    put(store, "poll:b", seconds=20)
    put(store, "poll:a", seconds=10)
    put(store, "learn:a", "learn")
    assert claim(store) is None
    clock.pass_by(30)
    assert [claim(store), claim(store), claim(store)] == ["poll:a", "poll:b", None]


def test_of_a_busy_kind_and_competition_none_is_begun_and_others_are(store: Store) -> None:
    put(store, "poll:titanic:1")
    put(store, "poll:spooky:1", competition="spooky")
    put(store, "learn:titanic:1", "learn")
    busy = (("poll", "titanic"),)
    found = [claim(store, "me", "poll", "learn", busy=busy) for _ in range(3)]
    assert found == ["learn:titanic:1", "poll:spooky:1", None]


def test_the_time_of_the_next_is_known(store: Store, clock: StandingClock) -> None:
    with store.read() as session:
        assert due(store, session) is None
    put(store, seconds=90)
    put(store, "learn:a", "learn", seconds=10)
    with store.read() as session:
        assert due(store, session) == 90
        assert next_due(session, clock.now(), ["poll"], [("poll", "titanic")]) is None
    clock.pass_by(100)
    with store.read() as session:
        assert due(store, session) == -10


def test_only_the_owner_of_a_lease_ends_or_gives_back(store: Store) -> None:
    put(store)
    claim(store)
    with store.write() as tx:
        assert not finish_task(tx, POLL, "another")
        assert retry_task(tx, POLL, "another", due_at=tx.now(), error="x", limit=1) is None
        assert release_tasks(tx, "another", [POLL]) == 0
    assert row(store).owner == "me"
    assert finish(store)
    assert not finish(store)


def test_a_try_that_fails_is_counted_and_after_the_last_it_is_dead(store: Store, clock: StandingClock) -> None:
    put(store)
    for tries in (1, 2):
        claim(store)
        task = fail(store)
        assert task is not None and (task.status, task.tries, task.error) == ("queued", tries, "broken")
        assert claim(store) is None
        clock.pass_by(30)
    claim(store)
    dead = fail(store)
    assert dead is not None and (dead.status, dead.tries, dead.ended_at) == ("dead", 3, clock.now())
    clock.pass_by(DAY)
    assert claim(store) is None
    assert not put(store)


def test_a_try_that_does_not_count_may_be_repeated_for_ever(store: Store, clock: StandingClock) -> None:
    put(store)
    for _ in range(50):
        assert claim(store) == POLL
        task = fail(store, counted=False, most=1)
        assert task is not None and task.status == "queued" and task.tries == 0
        clock.pass_by(30)


def test_what_was_not_ended_goes_back_as_though_it_had_not_been_begun(store: Store) -> None:
    put(store)
    claim(store)
    with store.write() as tx:
        assert release_tasks(tx, "me", [POLL]) == 1
    task = row(store)
    assert (task.status, task.tries, task.interruptions, task.owner, task.due_at) == ("queued", 0, 0, None, START)
    assert claim(store, "another") == POLL


def test_after_a_restart_all_leases_are_taken_back_but_of_what_somebody_does_work_on(store, clock) -> None:
    put(store, "poll:a")
    put(store, "poll:b")
    claim(store, "the dead")
    claim(store, "the dead")
    # However the clock stands to the end of the leases.
    clock.pass_by(-DAY)
    assert recover(store, "poll:b") == ["poll:a"]
    assert claim(store) == "poll:a"
    assert row(store, "poll:a").interruptions == 1
    assert not finish(store, "poll:a", "the dead")


def test_what_kills_the_process_waits_for_ever_longer_and_is_given_up_in_the_end(store, clock) -> None:
    put(store)
    pauses = []
    for _ in range(MOST_INTERRUPTIONS):
        while claim(store) is None:
            with store.read() as session:
                seconds = due(store, session)
            assert seconds
            pauses.append(seconds)
            clock.pass_by(seconds)
        recover(store)
    assert pauses[:4] == [10, 20, 40, 80]
    assert max(pauses) == pauses[-1] == 3600
    assert (row(store).status, row(store).tries) == ("dead", 0)
    assert "ended 20 times" in (row(store).error or "")


def test_what_was_due_once_does_not_wait_again_when_the_clock_is_put_back(store: Store, clock: StandingClock) -> None:
    put(store, "poll:released")
    put(store, "poll:tried")
    put(store, "poll:later", seconds=60)
    claim(store)
    claim(store)
    with store.write() as tx:
        release_tasks(tx, "me", ["poll:released"])
        retry_task(tx, "poll:tried", "me", due_at=tx.now() + timedelta(hours=1), error="x", limit=3)
    clock.pass_by(-DAY)
    with store.read() as session:
        assert due(store, session) == 0
    assert [claim(store), claim(store), claim(store)] == ["poll:released", "poll:tried", None]


def test_what_is_queued_or_worked_on_is_open_and_what_has_ended_is_not(store: Store) -> None:
    def is_open(kind: str = "poll", competition: str = "titanic") -> bool:
        with store.read() as session:
            return has_open_task(session, kind, competition)

    assert not is_open()
    put(store)
    assert is_open() and not is_open("learn") and not is_open(competition="spooky")
    claim(store)
    assert is_open()
    finish(store)
    assert not is_open()


def test_what_ended_before_a_time_is_forgotten_and_nothing_else(store: Store, clock: StandingClock) -> None:
    for key in ("poll:1", "poll:2", "poll:3", "poll:4"):
        put(store, key)
    claim(store)
    finish(store, "poll:1")
    claim(store)
    fail(store, "poll:2", most=1)
    clock.pass_by(DAY)
    claim(store)
    finish(store, "poll:3")
    claim(store)
    with store.write() as tx:
        assert prune_tasks(tx, clock.now()) == 2
    with store.read() as session:
        left = session.exec(select(Task.status).order_by(col(Task.status))).all()
    assert left == ["done", "leased"]


def test_what_comes_next_is_shown_in_order(store: Store) -> None:
    put(store, "poll:late", seconds=90)
    put(store, "poll:spooky", competition="spooky", seconds=5)
    put(store, "poll:now")
    claim(store)
    put(store, "poll:done", "card", seconds=-9)
    claim(store, "me", "card")
    finish(store, "poll:done")
    with store.read() as session:
        assert [task.key for task in coming_tasks(session)] == ["poll:now", "poll:spooky", "poll:late"]
        assert [task.key for task in coming_tasks(session, competition="titanic", limit=1)] == ["poll:now"]


def test_a_pause_that_began_before_the_clock_was_put_back_is_over(store: Store, clock: StandingClock) -> None:
    put(store)
    claim(store)
    clock.pass_by(DAY)  # while it was worked on
    fail(store)
    clock.pass_by(-DAY)
    assert claim(store) == POLL


def test_what_was_put_to_be_done_at_once_is_due_when_the_clock_is_put_back(store: Store, clock: StandingClock) -> None:
    assert put(store)
    clock.pass_by(-DAY)
    assert claim(store) == POLL
    assert finish(store)
    clock.pass_by(DAY)
    assert put(store, "later", seconds=60)
    clock.pass_by(-DAY)
    assert claim(store) is None, "what waits for a time waits for it"
