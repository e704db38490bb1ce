"""The configuration of a command: the file it is given, else bot.toml in the current folder, else the defaults."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from state.settings_paths import resolve_beside, state_folder

if TYPE_CHECKING:
    from bot.configuration import Settings
    from bot.models.settings import ModelSettings
    from state.redaction import Redactor


def settings_file(path: Path | None) -> Path | None:
    """Return the file as an absolute path; None if none is given and the current folder has none."""
    default = Path("bot.toml")
    file = path or (default if default.is_file() else None)
    return file.resolve() if file else None


def daemon_folder(file: Path | None) -> Path | None:
    """Return the daemon's folder by an unchecked bot.toml, quickly; None if the file cannot be read or is wrong."""
    try:
        folder = tomllib.loads(file.read_text(encoding="utf-8")).get("daemon", {}).get("dir") if file else None
        return state_folder(resolve_beside(Path(folder), file.parent) if file and folder is not None else None)
    except (OSError, ValueError, TypeError, AttributeError, RuntimeError):
        return None


def configured(path: Path | None) -> "Settings":
    """Read the settings from the given file, else from bot.toml in the current folder, else return the defaults.

    Raises:
        ConfigurationError: something in the file is wrong; the error holds every mistake.
    """
    # Imported here: it imports every part of the bot with a table in bot.toml.
    from bot.configuration import read_settings

    return read_settings(settings_file(path))


def model_settings(settings: "Settings") -> "ModelSettings":
    """Return the settings of models, including this process's environment.

    Raises:
        UsageError: the environment holds an invalid address or key.
    """
    from bot.models.settings import Environment, ModelSettings

    return ModelSettings(Environment.read(), settings.models)


def redactor_of(settings: "Settings") -> "Redactor":
    """Return a redactor of this process's secrets, and of whatever looks like one, for all that it sends and writes."""
    from bot.configuration.own_secrets import open_redactor  # imported here: it imports every part with a table

    return open_redactor(settings)
