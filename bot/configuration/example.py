"""Texts of bot.toml: an example with every table and key, the settings in effect, and a first file."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.agents.settings import RunOptions
from bot.configuration.fields import content_of, description_of, entries, name_of
from bot.configuration.lines import KeyPath
from bot.configuration.reading import Configuration
from bot.configuration.secret_texts import masked
from bot.configuration.settings import Settings
from sandbox import BackEndChoice


def toml_key(name: str) -> str:
    """Return a key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def toml_value(value: object) -> str:
    """Return a value; for a table the keys that differ from their defaults.

    Raises TypeError: TOML cannot express it, as with None.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return _text(str(value))
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, BaseModel):
        return toml_value(value.model_dump(exclude_defaults=True))
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(str(name))} = {toml_value(item)}" for name, item in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    raise TypeError(f"TOML cannot express {type(value).__name__}")


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but TOML needs one for the last control character as well.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_HEAD = (
    "The bot's configuration. A line that starts with # and a letter shows a key with its default, or with "
    "an example if it has no default: remove the # to set the key. Relative paths start at this file's folder. "
    "Secrets do not belong in this file."
)
_WIDTH = 118
_EXAMPLE_NAMES = {"competitions": "some-competition", "coders": "some-coder"}
"""A name for the example of a table by name."""


def example() -> str:
    """Return the file."""
    lines = _prose(_HEAD)
    for name, field in Settings.model_fields.items():
        lines += _table((name,), field)
    return "\n".join(lines) + "\n"


def _table(path: tuple[str, ...], field: FieldInfo) -> Iterator[str]:
    """Yield a table, the tables within it after its keys."""
    kind, model = content_of(field)
    yield ""
    yield from _prose(_sentence(description_of(field)))
    yield f"[{'.'.join(map(toml_key, path))}]"
    if model is None:
        return
    if kind == "tables by name":
        yield from _keys(model, f"{_EXAMPLE_NAMES[path[-1]]}.")
        return
    yield from _keys(model)
    for name, inner in model.model_fields.items():
        if content_of(inner)[0] == "table":
            yield from _table((*path, name), inner)


def _keys(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Yield the keys of a table, those that it has from `[run]` aside."""
    # A model's own keys come before inherited ones: they are the purpose of its table.
    for name in sorted(model.model_fields, key=lambda name: name not in model.__annotations__):
        field = model.model_fields[name]
        kind, inner = content_of(field)
        if kind == "table" or (before and name in RunOptions.model_fields and name not in model.__annotations__):
            continue
        default = field.default
        unset = default is None or default == () or default == {}
        yield from _prose(_sentence(description_of(field)) + (" Not set by default; for example:" if unset else ""))
        for key, inner_field in inner.model_fields.items() if inner else ():
            yield from _prose(f"{key}: {description_of(inner_field)}", "   ")
        value = (field.examples or [None])[0] if unset else default
        if isinstance(value, str) and value.endswith("Z"):
            with suppress(ValueError):
                value = datetime.fromisoformat(value)
        yield f"#{before}{name} = {toml_value(value)}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def _prose(text: str, indent: str = "") -> list[str]:
    return wrap(text, _WIDTH, initial_indent=f"# {indent}", subsequent_indent=f"# {indent}", break_on_hyphens=False)


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
    """Yield every key. Without an environment it is this process's."""
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
    is_set = {}
    for name in names:
        # Of the usual names, systemd creates files that may be empty.
        files = [Path(credentials) / n for n in (name, name.lower())] if credentials else []
        is_set[name] = bool(variables.get(name)) or any(f.is_file() and f.read_bytes().strip() for f in files)
    return is_set


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
    # JSON has no infinite numbers.
    return str(value) if value in (float("inf"), float("-inf")) else value


@dataclass(frozen=True)
class FirstFile:
    """A first bot.toml."""

    competition: str
    model: str | None
    """A name, or `builtin`; None: that of the environment."""
    money_a_day: float | None
    """USD; None: no cap."""
    sandbox: BackEndChoice
    site: str | None = None
    """The address of `bot rehearse`; None: Kaggle itself."""
    state: Path | None = None
    """The daemon's folder; None: the usual one."""

    def text(self) -> str:
        """Return the file."""
        lines = ["# Written by `bot init`; `bot config example` shows every key.", "[daemon]"]
        if self.state is not None:
            lines.append(_line("dir", self.state))
        if self.site is not None:
            lines += [_line("rehearsal", True, "follow the site's clock"), "", "[kaggle]", _line("url", self.site)]
        lines += ["", "[run]", _line("sandbox", self.sandbox, "where scripts run")]
        lines += ["", f"[competitions.{toml_key(self.competition)}]"]
        lines.append(_line("submit", True, "if false, nothing is submitted"))
        lines.append(_line("approve", "ask", "hold each file until you run `bot approve`"))
        if self.model is not None:
            lines.append(_line("model", self.model))
        if self.money_a_day is not None:
            lines.append(_line("max_cost_per_day", self.money_a_day, "USD"))
        return "\n".join(lines) + "\n"


def _line(key: str, value: object, comment: str = "") -> str:
    return f"{key} = {toml_value(value)}" + (f"  # {comment}" if comment else "")
