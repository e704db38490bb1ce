"""Opening to read: another process's writes are seen, nothing is changed, and an unreadable file is reported."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import select

from state.clock import SystemClock
from state.errors import StateCorrupted, UsageError
from state.progress import create_node
from state.store import Store
from state.tables import Node


def test_what_is_committed_is_seen_while_another_transaction_is_open(store: Store, run_id: str) -> None:
    with Store.open_to_read(store.path, store.clock) as reader:
        with store.write() as tx:
            create_node(tx, run_id, action="draft")
        with store.write() as tx:
            create_node(tx, run_id, action="draft")
            tx.session.flush()
            with reader.read() as session:
                assert len(session.exec(select(Node)).all()) == 1
        with reader.read() as session:
            assert len(session.exec(select(Node)).all()) == 2


def test_it_refuses_to_write(store: Store, run_id: str) -> None:
    with Store.open_to_read(store.path, store.clock) as reader:
        with pytest.raises(OperationalError, match="readonly"), reader.write() as tx:
            tx.record("run.read", run_id=run_id)
        with reader.read() as session:
            assert session.exec(select(Node)).all() == [], "and can be used afterwards"


def test_nothing_lies_beside_the_file_afterwards_that_was_not_there_before(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store.open(path, SystemClock()).close()
    before = {file.name for file in tmp_path.iterdir()}
    Store.open_to_read(path, SystemClock()).close()
    assert {file.name for file in tmp_path.iterdir()} == before


def test_a_database_of_another_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store.open(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9999")
        connection.commit()
    with pytest.raises(UsageError, match="another version"):
        Store.open_to_read(path, SystemClock())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (9999,)


def test_a_file_that_is_absent_or_not_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no database"):
        Store.open_to_read(tmp_path / "absent.db", SystemClock())
    assert not (tmp_path / "absent.db").exists()
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE cats (name)")
        connection.commit()
    with pytest.raises(UsageError, match="not a database of this program"):
        Store.open_to_read(tmp_path / "other.db", SystemClock())
    (tmp_path / "garbage.db").write_bytes(b"garbage" * 1000)
    with pytest.raises(StateCorrupted):
        Store.open_to_read(tmp_path / "garbage.db", SystemClock())
