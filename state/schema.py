"""The schema of a database file: created in a new file, and checked in an existing one."""

from sqlalchemy import Connection, inspect
from sqlmodel import SQLModel

from state import tables  # noqa: F401 - declares what is created
from state.errors import UsageError

VERSION = 5
"""The version of all tables together, which each file holds as SQLite's `user_version`."""


def create(connection: Connection) -> None:
    """Create the tables in an empty file, within the caller's transaction; existing tables are left alone.

    Raises:
        UsageError: the tables are not ours, or another version of the program made them.
    """
    if not inspect(connection).get_table_names():
        SQLModel.metadata.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
    ensure_ours(connection)


def ensure_ours(connection: Connection) -> None:
    """Check that a file has this version of our tables.

    Raises:
        UsageError: it has not.
    """
    found, path = connection.exec_driver_sql("PRAGMA user_version").scalar_one(), connection.engine.url.database
    if found == 0:
        raise UsageError(f"{path} is not a database of this program: its tables are not ours, or it has none")
    if found != VERSION:
        raise UsageError(
            f"{path} was made by another version of this program (schema {found}, this one has {VERSION}): use that version"
        )
