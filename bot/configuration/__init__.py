"""The file bot.toml: one tree of tables, read once, checked as a whole, shown as configured and as an example."""

from bot.configuration.reading import Configuration, read_configuration, read_settings
from bot.configuration.settings import Settings

__all__ = ["Configuration", "Settings", "read_configuration", "read_settings"]
