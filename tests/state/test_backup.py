"""Backups are sound copies, one a day; a damaged database is refused in words that say how to put one back."""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from state.backup import back_up, drop_backups
from state.clock import SystemClock
from state.errors import StateCorrupted
from state.faults import find_backups
from state.integrity import connect, first_fault
from state.store import NO_RUN, Store
from tests.state.conftest import START, StandingClock

DAY = 86_400.0

PAGE = 4096


def fill(path: Path, events: int) -> None:
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        for n in range(events):
            tx.record("x", run_id="a", n=n)


def make_backup(path: Path) -> Path:
    with Store.open(path, SystemClock()) as store:
        return back_up(store)


def numbers(path: Path) -> list[int]:
    with closing(connect(path)) as connection:
        assert first_fault(connection) is None
        return [row[0] for row in connection.execute("SELECT seq FROM event WHERE run_id = 'a' ORDER BY id")]


def names(store: Store) -> list[str]:
    return [file.name for file in find_backups(store.path)]


def days(store: Store, clock: StandingClock, count: int, keep: int) -> None:
    for _ in range(count):
        back_up(store, keep=keep)
        clock.pass_by(DAY)


def test_a_backup_is_a_whole_database_of_its_day_that_only_its_owner_reads(store: Store) -> None:
    with store.write() as tx:
        tx.record("x.y", run_id="r")
    made = back_up(store)
    assert made == store.path.parent / "backups" / "state-2020-01-01.db"
    assert made.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in made.parent.iterdir()] == [made.name]
    with Store.open_to_read(made, SystemClock()) as copy:
        assert [event["type"] for event in copy.export_events("r")] == ["x.y"]
    (event,) = store.export_events(NO_RUN)
    assert (event["type"], event["file"]) == ("backup.made", "backups/state-2020-01-01.db")
    assert event["bytes"] == made.stat().st_size


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
            copies = [numbers(back_up(store)) for _ in range(3)]
        finally:
            stop.set()
            writer.join()
    assert all(found == list(range(1, len(found) + 1)) and len(found) % 2 == 0 for found in copies)
    assert len(copies[0]) < len(copies[2])


def test_the_second_of_a_day_takes_the_place_of_the_first(store: Store) -> None:
    first = back_up(store)
    with store.write() as tx:
        tx.record("x", run_id="a")
    assert back_up(store) == first
    assert numbers(first) == [1]
    assert names(store) == ["state-2020-01-01.db"]


def test_the_oldest_go_when_there_are_too_many(store: Store, clock: StandingClock) -> None:
    days(store, clock, 5, keep=3)
    assert names(store) == [f"state-2020-01-0{day}.db" for day in (3, 4, 5)]


def test_a_clock_that_was_set_back_removes_neither_the_new_one_nor_all_others(store, clock) -> None:
    days(store, clock, 3, keep=2)
    clock.time = START
    back_up(store, keep=2)
    assert names(store) == ["state-2020-01-01.db", "state-2020-01-03.db"]


def test_what_lies_beside_them_is_left_alone(store: Store, clock: StandingClock) -> None:
    days(store, clock, 1, keep=1)
    other = store.path.parent / "backups" / "state-of-mine.db"
    other.write_text("mine")
    days(store, clock, 3, keep=1)
    assert other.read_text() == "mine"
    assert drop_backups(store.path) == 1
    assert [file.name for file in other.parent.iterdir()] == ["state-of-mine.db"]


def test_what_a_killed_process_left_of_a_backup_is_in_nobodys_way(store: Store) -> None:
    partial = store.path.parent / "backups" / ".state-2020-01-01.db.partial"
    partial.parent.mkdir()
    partial.write_bytes(os.urandom(50_000))
    assert back_up(store).is_file()
    assert not partial.exists()


def test_a_damaged_database_takes_no_place_of_a_good_backup(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 3000)
    with Store.open(path, SystemClock()) as store:
        copy = back_up(store)
        good = copy.read_bytes()
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"\xff" * 2 * PAGE)
        with pytest.raises(StateCorrupted, match="cp -p"):
            back_up(store)
    assert copy.read_bytes() == good
    assert [file.name for file in copy.parent.iterdir()] == [copy.name]


def test_the_command_of_the_error_puts_the_newest_backup_back(tmp_path: Path, clock: StandingClock) -> None:
    path = tmp_path / "a folder" / "state.db"
    with Store.open(path, clock) as store:
        for _ in range(2):
            with store.write() as tx:
                tx.record("x", run_id="a")
            back_up(store)
            clock.pass_by(DAY)
    os.truncate(path, 5000)
    with pytest.raises(StateCorrupted) as refused:
        Store.open(path, clock)
    command = str(refused.value).split("`")[1]
    for file in path.parent.glob("state.db*"):
        shutil.move(file, tmp_path)
    subprocess.run(command, shell=True, check=True)  # noqa: S602  # as a person would
    with Store.open(path, clock) as store:
        assert len(list(store.export_events("a"))) == 2


def garbage(at: int, length: int) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        whole = bytearray(path.read_bytes())
        whole[at : at + length] = os.urandom(length)
        path.write_bytes(whole)

    return spoil


def cut(share: float) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (garbage(0, 16), "not a database"),
        (garbage(0, PAGE), "not a database"),
        (garbage(30 * PAGE, PAGE), ""),
        (garbage(100, 5 * PAGE), ""),
        (cut(0.5), "malformed"),
        (cut(0.99), ""),
        (cut(0.0), "it is empty"),
        (lambda path: path.unlink(), "it is gone"),
    ],
    ids=["header", "first page", "a page", "pages", "half", "end", "empty", "gone"],
)
def test_what_is_damaged_is_refused(tmp_path: Path, spoil: Callable[[Path], None], what: str) -> None:
    path = tmp_path / "state.db"
    fill(path, 3000)
    copy = make_backup(path)
    spoil(path)
    with pytest.raises(StateCorrupted, match=rf"is damaged \(.*{what}.*`cp -p {copy} {path}`"):
        Store.open(path, SystemClock())


@pytest.mark.integration
def test_every_page_counts(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 200)
    make_backup(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), PAGE):
        garbage(at, PAGE)(path)
        with pytest.raises(StateCorrupted):
            Store.open(path, SystemClock())
        path.write_bytes(whole)
    Store.open(path, SystemClock()).close()


def test_without_a_backup_the_sentence_says_so(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 3000)
    cut(0.5)(path)
    with pytest.raises(StateCorrupted, match="There is no backup in"):
        Store.open(path, SystemClock())


def test_a_log_without_its_database_is_not_dropped(tmp_path: Path) -> None:
    (tmp_path / "state.db-wal").write_bytes(b"x" * 5000)
    with pytest.raises(StateCorrupted, match="it is gone"):
        Store.open(tmp_path / "state.db", SystemClock())
    assert (tmp_path / "state.db-wal").stat().st_size == 5000


def test_an_empty_file_alone_is_a_new_database(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    fill(path, 2)
    with Store.open(path, SystemClock()) as store:
        assert len(list(store.export_events("a"))) == 2


def test_a_file_that_never_was_ours_with_a_backup_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, 2)
    make_backup(path)
    path.write_text("a text of more than a hundred characters, so that nobody takes it for an empty database " * 2)
    with pytest.raises(StateCorrupted, match="cp -p"):
        Store.open(path, SystemClock())
