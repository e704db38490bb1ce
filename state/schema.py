"""The schema of a database file: created in a new file, and checked in an existing one."""

from functools import cache

from sqlalchemy import Connection, inspect
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import SQLModel

from state import tables  # noqa: F401 - declares what is created
from state.errors import UsageError

VERSION = 10
"""The version of all tables together, which each file holds as SQLite's `user_version`."""


def create(connection: Connection) -> None:
    """Create the tables in an empty file, within the caller's transaction; existing ones are left alone. See `ensure_ours`."""
    if not inspect(connection).get_table_names():
        for statement in _statements():
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
    ensure_ours(connection)


@cache
def _statements() -> tuple[str, ...]:
    """Return what creates all tables and indices; they are compiled once, where `create_all` compiles them for each file."""
    dialect, statements = sqlite.dialect(), list[str]()
    for table in SQLModel.metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=dialect)))
        indices = sorted(table.indexes, key=lambda index: str(index.name))
        statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in indices]
    return tuple(statements)


def ensure_ours(connection: Connection) -> None:
    """Check that a file has this version of our tables. Raises UsageError if it has not."""
    version, path = connection.exec_driver_sql("PRAGMA user_version").scalar_one(), connection.engine.url.database
    if version == 0:
        raise UsageError(f"{path} is not a bot database: it lacks the bot's tables")
    if version != VERSION:
        raise UsageError(
            f"{path} was created by another version of this program (schema {version}, not {VERSION}): use that version"
        )
