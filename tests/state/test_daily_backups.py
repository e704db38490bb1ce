"""Daily backups are checked copies, one a day; as many stay as may, and none stays of what was removed."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from state.community_rows import add_community
from state.daily_backups import daily_backup, daily_backups, drop_daily_backups
from state.errors import StateCorrupted
from state.faults import backup_path
from state.integrity import connect, first_fault
from state.restore import restore
from state.retention import prune_community
from state.store import NO_RUN, Store
from state.tables import Message
from tests.state.conftest import START, StandingClock

DAY = 86_400.0


def names(store: Store) -> list[str]:
    return [file.name for file in daily_backups(store.path)]


def days(store: Store, clock: StandingClock, count: int, **bounds: int) -> None:
    for _ in range(count):
        daily_backup(store, **bounds)
        clock.pass_by(DAY)


def test_a_daily_backup_is_a_whole_database_of_its_day_that_only_its_owner_reads(store: Store) -> None:
    with store.write() as tx:
        tx.record("x.y", run_id="r")
    made = daily_backup(store)
    assert made.path == store.path.parent / "backups" / "state-2020-01-01.db"
    assert made.path.stat().st_mode & 0o777 == 0o600
    with closing(connect(made.path)) as connection:
        assert first_fault(connection, thorough=True) is None
        assert connection.execute("SELECT type FROM event").fetchall() == [("x.y",)]
    (event,) = store.export_events(NO_RUN)
    assert (event["type"], event["file"], event["bytes"]) == (
        "backup.made",
        "backups/state-2020-01-01.db",
        made.path.stat().st_size,
    )


def test_the_second_of_a_day_takes_the_place_of_the_first(store: Store) -> None:
    first, second = daily_backup(store), daily_backup(store)
    assert first.path == second.path
    assert second.events > first.events
    assert names(store) == ["state-2020-01-01.db"]


def test_the_oldest_go_when_there_are_too_many(store: Store, clock: StandingClock) -> None:
    days(store, clock, 5, keep=3)
    assert names(store) == [f"state-2020-01-0{day}.db" for day in (3, 4, 5)]


def test_the_oldest_go_when_they_take_too_much_and_the_newest_stays_whatever_it_takes(
    store: Store, clock: StandingClock
) -> None:
    daily_backup(store)
    size = daily_backups(store.path)[0].stat().st_size
    clock.pass_by(DAY)
    days(store, clock, 4, keep=9, most_bytes=3 * size + size // 2)
    assert len(names(store)) in (2, 3)  # the database has grown by some pages
    days(store, clock, 1, keep=9, most_bytes=1)
    assert names(store) == ["state-2020-01-06.db"]


def test_a_clock_that_was_set_back_removes_neither_the_new_one_nor_all_others(
    store: Store, clock: StandingClock
) -> None:
    days(store, clock, 3, keep=2)
    clock.time = START
    daily_backup(store, keep=2)
    assert names(store) == ["state-2020-01-01.db", "state-2020-01-03.db"]


def test_what_lies_beside_them_is_left_alone(store: Store, clock: StandingClock) -> None:
    days(store, clock, 1)
    other = store.path.parent / "backups" / "state-of-mine.db"
    other.write_text("mine")
    days(store, clock, 3, keep=1)
    assert other.read_text() == "mine"
    assert drop_daily_backups(store.path) == 1
    assert [file.name for file in other.parent.iterdir()] == ["state-of-mine.db"]


def test_a_damaged_database_takes_no_place_of_a_good_backup(tmp_path: Path, clock: StandingClock) -> None:
    path = tmp_path / "state.db"
    with Store.open(path, clock) as store, store.write() as tx:
        for number in range(3_000):
            tx.record("x.y", run_id="r", number=number)
    with Store.open(path, clock) as store:
        good = daily_backup(store).path.read_bytes()
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"\xff" * 8192)
        with pytest.raises(StateCorrupted):
            daily_backup(store)
        assert daily_backups(path)[0].read_bytes() == good


def test_what_is_forgotten_is_in_no_daily_backup(store: Store) -> None:
    with store.write() as tx:
        add_community(tx, "wine", [Message(id="1", topic_id="1", markdown="corked", posted_at=START)])
    daily_backup(store)
    prune_community(store, "wine")
    assert names(store) == []


def test_a_daily_backup_is_restored_though_the_automatic_one_is_newer(tmp_path: Path, clock: StandingClock) -> None:
    path = tmp_path / "state.db"
    with Store.open(path, clock) as store:
        with store.write() as tx:
            tx.record("before", run_id="r")
        daily = daily_backup(store).path
        with store.write() as tx:
            tx.record("after", run_id="r")
        store.backup()
    done = restore(path, datetime(2020, 1, 2, tzinfo=UTC), force=True, backup=daily)
    assert backup_path(path) not in path.parent.iterdir()
    assert [file.name.rpartition("-1")[2] for file in done.aside] == ["", ".backup"]
    with Store.open(path, clock) as store:
        assert [event["type"] for event in store.export_events("r")] == ["before"]
