"""A new file gets every table, and strange files are refused in one sentence."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store, put_blob


def test_opening_anew_keeps_what_is_there_and_is_quick(tmp_path: Path) -> None:
    path = tmp_path / "folder that is not there yet" / "state.db"
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        sha = put_blob(tx, "kept")
    durations = []
    for _ in range(3):
        start = time.process_time()
        with Store.open(path, SystemClock()) as store:
            durations.append(time.process_time() - start)
            assert store.blob(sha) == b"kept"
    assert min(durations) < 0.1


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "100% of 'em?mode=ro#x" / "state.db"
    Store.open(path, SystemClock()).close()
    assert path.is_file()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_text("a text of more than a hundred characters, so that nobody takes it for an empty database " * 2)
    with pytest.raises(UsageError, match="not a SQLite database"):
        Store.open(path, SystemClock())


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store.open(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9999")
    with pytest.raises(UsageError, match="another version"):
        Store.open(path, SystemClock())


def test_a_database_of_somebody_elses_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE topic (strange TEXT)")
    connection.close()
    with pytest.raises(UsageError, match="its tables are not ours"):
        Store.open(path, SystemClock())
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("topic",)]
    connection.close()
