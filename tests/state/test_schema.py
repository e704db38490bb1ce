"""A new file gets every table, strange files are refused in one sentence, and a reader changes nothing."""

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import DateTime
from sqlalchemy.exc import OperationalError, StatementError
from sqlmodel import SQLModel, select
from sqlmodel.sql.sqltypes import UTCDateTime

from state.clock import SystemClock
from state.errors import StateCorrupted, UsageError
from state.progress import create_node
from state.store import Store, put_blob
from state.tables import Node, Topic


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


def test_a_database_of_somebody_elses_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE topic (strange TEXT)")
    connection.close()
    with pytest.raises(UsageError, match="it lacks the bot's tables"):
        Store.open(path, SystemClock())
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("topic",)]
    connection.close()


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


def test_a_database_of_another_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store.open(path, SystemClock()).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9999")
        connection.commit()
    for opened in (Store.open, Store.open_to_read):
        with pytest.raises(UsageError, match="another version"):
            opened(path, SystemClock())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (9999,)


def test_a_file_that_is_absent_or_not_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="database not found"):
        Store.open_to_read(tmp_path / "absent.db", SystemClock())
    assert not (tmp_path / "absent.db").exists()
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE cats (name)")
        connection.commit()
    with pytest.raises(UsageError, match="not a bot database"):
        Store.open_to_read(tmp_path / "other.db", SystemClock())
    (tmp_path / "garbage.db").write_bytes(b"garbage" * 1000)
    with pytest.raises(StateCorrupted):
        Store.open_to_read(tmp_path / "garbage.db", SystemClock())


def test_a_time_comes_back_aware_and_in_utc_to_the_microsecond(store: Store) -> None:
    at = datetime(2017, 10, 25, 16, 3, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    with store.write() as tx:
        tx.add(Topic(competition="c", id="1", posted_at=at))
    with store.read() as session:
        read = session.get_one(Topic, ("c", "1")).posted_at
    assert read == at
    assert read is not None and read.tzinfo is UTC


def test_a_naive_time_is_refused(store: Store) -> None:
    with pytest.raises(StatementError, match="timezone"), store.write() as tx:
        tx.add(Topic(competition="c", id="1", posted_at=datetime(2017, 10, 25)))  # noqa: DTZ001 - what must be refused


def test_every_time_column_of_every_table_is_of_the_aware_kind() -> None:
    columns = [column for table in SQLModel.metadata.tables.values() for column in table.columns]
    times = [c for c in columns if isinstance(c.type, DateTime) or c.name.endswith("_at") or c.name in ("at", "as_of")]
    assert len(times) > 20
    assert all(isinstance(column.type, UTCDateTime) for column in times)
