"""The configuration that a command works by: the file it is given, else bot.toml of the current folder, else none."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.configuration import Settings
    from bot.models.settings import ModelSettings
    from state.redaction import Redactor


def settings_file(given: Path | None) -> Path | None:
    """Return the file as an absolute path; None where none is given and the current folder holds none."""
    default = Path("bot.toml")
    file = given or (default if default.is_file() else None)
    return file.resolve() if file else None


def configured(given: Path | None) -> "Settings":
    """Read the settings of the file that is given, else of bot.toml in the current folder, else those by default.

    Raises:
        ConfigurationError: something in the file is wrong; the error holds every mistake.
    """
    # Here, as it imports every part that has a table, and only commands that read one should pay for that.
    from bot.configuration import read_settings

    return read_settings(settings_file(given))


def model_settings(settings: "Settings") -> "ModelSettings":
    """Return what is configured about models, this process's environment included.

    Raises:
        UsageError: the environment holds an address or a key that is none.
    """
    from bot.models.settings import Environment, ModelSettings

    return ModelSettings(Environment.read(), settings.models)


def redactor_of(settings: "Settings") -> "Redactor":
    """Return what takes this process's own secrets, and whatever looks like one, out of what it sends and writes."""
    from bot.configuration.own_secrets import open_redactor  # here, as it imports every part that has a table

    return open_redactor(settings)
