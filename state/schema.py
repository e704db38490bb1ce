"""The schema of a database file: brings it to the current revision, in one transaction."""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from state.errors import UsageError

__all__ = ["HEAD", "upgrade"]

HEAD = "0011"
"""The newest revision under `migrations/versions`; a file that is there already needs no alembic to see so."""


def upgrade(engine: Engine) -> None:
    """Create or upgrade the tables behind `engine`, whose transactions must take the write lock at once.

    Raises:
        UsageError: the tables are not ours, or a newer version of the program made it.
    """
    with engine.connect() as connection:
        found = _revision(connection)
    if found == HEAD:
        return
    with engine.begin() as connection:
        # Another process may have migrated while this one waited for the lock.
        found = _revision(connection)
        if found != HEAD:
            _migrate(connection, found)


def _revision(connection: Connection) -> str | None:
    """Return the revision that the file says it has, None for an empty file."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _migrate(connection: Connection, found: str | None) -> None:
    """Run the migrations that are missing."""
    # Imported here, as it takes a while and almost every start finds the schema up to date.
    from alembic import command
    from alembic.config import Config

    if found is None and (strange := inspect(connection).get_table_names()):
        raise UsageError(f"{connection.engine.url.database} holds tables that are not ours, such as {strange[0]}.")
    if found is not None and found > HEAD:
        raise UsageError(
            f"{connection.engine.url.database} was made by a newer version of this program (schema {found}, "
            f"this one knows {HEAD}): upgrade the program."
        )
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
