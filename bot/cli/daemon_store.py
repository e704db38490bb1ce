"""The daemon's database, opened by other commands, whether the daemon runs or not."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.configuration import configured, daemon_folder, settings_file
from state.errors import UsageError

if TYPE_CHECKING:
    from state.store import Store


def daemon_database(config: Path | None) -> Path:
    """Return where the daemon's database is, or will be."""
    # To check all of bot.toml takes long: it is done only where the folder cannot be read from it.
    return (daemon_folder(settings_file(config)) or configured(config).daemon.folder) / "bot.db"


def open_daemon_store(config: Path | None, *, create: bool = False) -> "Store":
    """Open the daemon's database, with the latest daemon's clock; `create` it for orders before its first start.

    Raises:
        UsageError: there is none, or it may not be created.
        ConfigurationError: the configuration is wrong.
        StateCorrupted: it is damaged.
        StateUnavailable: it cannot be used now.
    """
    path = daemon_database(config)
    if not path.is_file():
        if not create:
            raise no_database(path)
        # The folder's owner, who runs the daemon, could not write to a file of another user.
        if path.parent.is_dir() and (owner := path.parent.stat().st_uid) != os.geteuid():
            raise UsageError(
                f"no database in {path.parent}, which belongs to another user (ID {owner}): start `bot run` once, or run this "
                "command as that user"
            )
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Imported here: the database's libraries take long to import, and there may be no database.
    from bot.status.orders import open_for_orders

    return open_for_orders(path)


def no_database(path: Path) -> UsageError:
    """Return the error of a daemon that never ran with this configuration."""
    remedy = "Start `bot run` to create it, or pass the daemon's bot.toml with --config"
    return UsageError(f"database not found: {path}. {remedy}")


def daemon_is_running(store: "Store") -> bool:
    """Return whether a daemon uses this database."""
    from bot.status.lock import is_running

    return is_running(store.path.parent)
