"""Backups are whole, made now and then, and never made of a damaged database."""

import fcntl
import math
import os
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from state.backup import Backups, back_up
from state.clock import SystemClock
from state.errors import StateCorrupted, StateUnavailable
from state.faults import backup_path
from state.integrity import connect, first_fault
from state.store import Store
from tests.state.processes import run_program
from tests.state.test_faults import SPOIL


def numbers(path: Path) -> list[int]:
    with closing(connect(path)) as connection:
        assert first_fault(connection) is None
        return [row[0] for row in connection.execute("SELECT seq FROM event ORDER BY id")]


def fill(path: Path, events: int) -> None:
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        for n in range(events):
            tx.record("x", run_id="a", n=n)


def test_a_backup_is_one_state_of_a_database_that_is_written_to(tmp_path: Path) -> None:
    path, stop = tmp_path / "state.db", threading.Event()
    fill(path, 3000)
    with Store.open(path, SystemClock()) as store:

        def write() -> None:
            while not stop.is_set():
                with store.write(durable=False) as tx:
                    tx.record("x", run_id="a")
                    tx.record("y", run_id="a")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            sizes = []
            for _ in range(3):
                made = store.backup()
                found = numbers(made.path)
                assert found == list(range(1, made.events + 1))
                sizes.append(len(found))
        finally:
            stop.set()
            writer.join()
    assert sizes == sorted(sizes)
    assert all(size % 2 == 0 for size in sizes)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state.db", "state.db.backup"]


def test_a_new_database_that_is_soon_closed_has_no_backup_and_one_that_is_opened_again_has(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 3)
    assert not backup_path(path).exists()
    fill(path, 3)
    assert numbers(backup_path(path)) == [1, 2, 3, 4, 5, 6]
    made = backup_path(path).stat().st_mtime_ns
    fill(path, 3)
    assert backup_path(path).stat().st_mtime_ns == made


@pytest.mark.parametrize("age", [10 * 60, -24 * 3600], ids=["old", "from a clock that was a day ahead"])
def test_a_backup_is_made_anew_when_the_last_is(tmp_path: Path, age: float) -> None:
    path = tmp_path / "state.db"
    fill(path, 1)
    back_up(path)
    then = time.time() - age
    os.utime(backup_path(path), (then, then))
    fill(path, 1)
    assert numbers(backup_path(path)) == [1, 2]


def test_reading_alone_makes_no_backup(tmp_path: Path) -> None:
    fill(tmp_path / "state.db", 1)
    with Store.open(tmp_path / "state.db", SystemClock()) as store:
        assert len(list(store.export_events("a"))) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["state.db"]


def test_a_database_that_lives_long_is_backed_up_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 1)
    backups, made = Backups(path, new=True, every=0.0, first=0.0, share=math.inf), []
    for _ in range(3):
        backups.after_commit()
        backups.wait()
        made.append(len(numbers(backup_path(path))))
        fill(path, 1)
    assert made == sorted(set(made))


def test_a_damaged_database_never_takes_the_place_of_a_good_backup(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 2000)
    back_up(path)
    run_program(SPOIL, path, 20_000)
    with pytest.raises(StateCorrupted, match="bot restore"):
        back_up(path)
    assert numbers(backup_path(path)) == list(range(1, 2001))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state.db", "state.db.backup"]


def test_what_a_killed_process_left_of_a_backup_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 5)
    (tmp_path / "state.db.backup.partial").write_bytes(os.urandom(50_000))
    assert numbers(back_up(path).path) == [1, 2, 3, 4, 5]


def test_two_at_once_do_not_write_one_file(tmp_path: Path) -> None:
    path, partial = tmp_path / "state.db", tmp_path / "state.db.backup.partial"
    fill(path, 5)
    with partial.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StateUnavailable, match="another process"):
            back_up(path)
    assert back_up(path).events == 5


def test_a_backup_that_cannot_be_made_costs_no_commit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, partial = tmp_path / "state.db", tmp_path / "state.db.backup.partial"
    fill(path, 5)
    with partial.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with Store.open(path, SystemClock()) as store:
            with store.write() as tx:
                tx.record("x", run_id="a")
            store.backups.wait()
    assert "another process" in caplog.text
    assert numbers(path) == [1, 2, 3, 4, 5, 6]
