"""Migrations make exactly the tables that the code declares, and strange files are refused in one sentence."""

import sqlite3
import time
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL
from sqlmodel import SQLModel, create_engine, select

import state
from state import schema
from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store
from state.tables import Notification


def test_migrations_make_exactly_the_declared_tables(tmp_path: Path) -> None:
    Store.open(tmp_path / "state.db", SystemClock()).close()
    engine = create_engine(URL.create("sqlite", database=str(tmp_path / "state.db")))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, SQLModel.metadata) == []
    engine.dispose()


def test_the_known_newest_revision_is_that_of_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(state.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == schema.HEAD


def test_opening_anew_keeps_what_is_there_and_is_quick(tmp_path: Path) -> None:
    path = tmp_path / "folder that is not there yet" / "state.db"
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        sha = store.put_blob(tx, "kept")
    durations = []
    for _ in range(3):
        start = time.perf_counter()
        with Store.open(path, SystemClock()) as store:
            durations.append(time.perf_counter() - start)
            assert store.blob(sha) == b"kept"
    assert min(durations) < 0.05


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "100% of 'em?mode=ro#x" / "state.db"
    Store.open(path, SystemClock()).close()
    assert path.is_file()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_text("a text of more than a hundred characters, so that nobody takes it for an empty database " * 2)
    with pytest.raises(UsageError, match="not a SQLite database"):
        Store.open(path, SystemClock())


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store.open(path, SystemClock()).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(UsageError, match="newer version"):
        Store.open(path, SystemClock())


def test_a_database_of_somebody_elses_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE topic (strange TEXT)")
    connection.close()
    with pytest.raises(UsageError, match="tables that are not ours"):
        Store.open(path, SystemClock())
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("topic",)]
    connection.close()


def test_notifications_of_an_older_version_keep_their_words_and_whether_they_were_sent(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    config = Config()
    config.set_main_option("script_location", str(Path(state.__file__).parent / "migrations"))
    engine = create_engine(URL.create("sqlite", database=str(path)))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0006")
        for key, sent_at in (("a", "2020-01-02 00:00:00.000000"), ("b", None)):
            connection.exec_driver_sql(
                "INSERT INTO notification (key, kind, title, body, created_at, due_at, sent_at, attempts) "
                "VALUES (?, 'k', 't', 'words', '2020-01-01 00:00:00.000000', '2020-01-01 00:00:00.000000', ?, 1)",
                (key, sent_at),
            )
    engine.dispose()
    with Store.open(path, SystemClock()) as store, store.read() as session:
        rows = session.exec(select(Notification)).all()
        assert [(row.key, row.body, row.markdown, row.plots, row.urgent) for row in rows] == [
            (key, "words", "", [], False) for key in "ab"
        ]
        assert [row.sent_at is None for row in rows] == [False, True]
