"""The daemon's database, as other commands open it: while the daemon runs, and while it does not."""

from pathlib import Path

from bot.cli.configured import configured, settings_file
from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store

__all__ = ["daemon_database", "open_daemon_store"]


def daemon_database(config: Path | None) -> Path:
    """Return where the daemon's database lies, or will lie.

    Raises:
        ConfigurationError: the configuration is wrong.
    """
    return configured(settings_file(config)).daemon.folder / "bot.db"


def open_daemon_store(config: Path | None) -> Store:
    """Open the daemon's database.

    Args:
        config: the bot.toml that is named; None: that of the current folder, if it holds one.

    Raises:
        UsageError: there is none.
        ConfigurationError: the configuration is wrong.
        StateCorrupted: it is damaged.
        StateUnavailable: it cannot be used now.
    """
    path = daemon_database(config)
    if not path.is_file():
        raise UsageError(f"there is no database {path}: it is made when `bot run` starts, or name the bot.toml it uses")
    return Store.open(path, SystemClock())
