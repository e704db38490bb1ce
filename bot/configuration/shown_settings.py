"""The settings for display, key by key, each with the source of its value; secrets are not shown."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from bot.configuration.fields import entries, name_of
from bot.configuration.lines import KeyPath
from bot.configuration.reading import Configuration
from bot.configuration.secret_texts import masked
from bot.configuration.toml_values import toml_value

_BEFORE: Mapping[KeyPath, str] = {("models", "base_url"): "OPENAI_BASE_URL", ("models", "model"): "OPENAI_MODEL"}
"""Variables that take precedence over a key."""


@dataclass(frozen=True)
class EffectiveSetting:
    """One key, its effective value, and the source of that: `default`, `FILE:LINE`, or a variable's name."""

    key: str
    value: Any
    """The value in JSON types."""
    source: str

    @property
    def text(self) -> str:
        """The value as it would be written in the file; a dash if there is none."""
        return "–" if self.value is None else toml_value(self.value)


def effective_settings(
    configuration: Configuration, environment: Mapping[str, str] | None = None
) -> Iterator[EffectiveSetting]:
    """Yield every key.

    Without an environment it is this process's.
    """
    variables = os.environ if environment is None else environment
    for path, value in entries(configuration.settings):
        name = _BEFORE.get(path, "")
        if set_there := variables.get(name):
            yield EffectiveSetting(name_of(path), masked(set_there), name)
            continue
        of_all = ("run", *path[2:]) if path[0] == "competitions" else path
        line = configuration.lines.line_of.get(path) or configuration.lines.line_of.get(of_all)
        source = f"{configuration.file}:{line}" if line else "default"
        yield EffectiveSetting(name_of(path), _plain(value), source)


def given_settings(configuration: Configuration) -> list[EffectiveSetting]:
    """Return the keys that the file sets, in the order of the tables."""
    names = {name_of(path) for path in configuration.lines.line_of}
    return [s for s in effective_settings(configuration, {}) if s.key in names and s.value != {}]


def keys(configuration: Configuration, environment: Mapping[str, str] | None = None) -> dict[str, bool]:
    """Return the names of the variables that hold models' keys, and whether each is set; never their values."""
    variables = os.environ if environment is None else environment
    credentials = variables.get("CREDENTIALS_DIRECTORY")
    names = ["OPENAI_API_KEY", *(f.key for f in configuration.settings.models.fallback if f.key)]
    return {
        name: bool(variables.get(name))
        or bool(credentials and any(_holds_something(Path(credentials) / n) for n in (name, name.lower())))
        for name in dict.fromkeys(names)
    }


def _holds_something(file: Path) -> bool:
    """Return whether a credential is given: where the service loads the usual names, its file exists but may be empty."""
    return file.is_file() and bool(file.read_bytes().strip())


def _plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(exclude_defaults=True))
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str | Path):
        return masked(str(value))
    # JSON has no number for what is endless
    return str(value) if value in (float("inf"), float("-inf")) else value
