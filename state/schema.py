"""The schema of a database file: made whole in a new file, and held to be this program's in one that is there."""

from sqlalchemy import Connection, inspect
from sqlmodel import SQLModel

from state import tables  # noqa: F401 - declares what is created
from state.errors import UsageError

VERSION = 2
"""The version of all tables together, which each file holds as SQLite's `user_version`."""


def create(connection: Connection) -> None:
    """Make the tables in an empty file, within the caller's transaction; what is there already is left as it is.

    Raises:
        UsageError: the tables are not ours, or another version of the program made them.
    """
    if not inspect(connection).get_table_names():
        SQLModel.metadata.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
    ensure_ours(connection)


def ensure_ours(connection: Connection) -> None:
    """Hold a file to be of this version.

    Raises:
        UsageError: it is not.
    """
    found, path = connection.exec_driver_sql("PRAGMA user_version").scalar_one(), connection.engine.url.database
    if found == 0:
        raise UsageError(f"{path} is not a database of this program: it holds tables that are not ours, or none")
    if found != VERSION:
        raise UsageError(
            f"{path} was made by another version of this program (schema {found}, this one has {VERSION}): use that version"
        )
