"""A bot.toml that names every table and key: with its sentence, and its default or an example after a `#`."""

from collections.abc import Iterator
from datetime import datetime
from textwrap import wrap
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.agents.settings import RunOptions
from bot.configuration.fields import content_of, description_of
from bot.configuration.settings import Settings
from bot.configuration.toml_values import toml_key, toml_value

_HEAD = (
    "The configuration of the bot. A line that starts with # and a letter shows a key with its default, or "
    "with an example where it has none: remove the # to set it. Relative paths start at the folder of this "
    "file. Secrets do not belong in this file."
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
        yield f"#{before}{name} = {toml_value(_example(field) if unset else default)}"


def _example(field: FieldInfo) -> Any:
    """Return a key's example, in its TOML type."""
    (example,) = field.examples or [None]
    if isinstance(example, str) and example.endswith("Z"):
        try:
            return datetime.fromisoformat(example)
        except ValueError:
            return example
    return example


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def _prose(text: str, indent: str = "") -> list[str]:
    return wrap(text, _WIDTH, initial_indent=f"# {indent}", subsequent_indent=f"# {indent}", break_on_hyphens=False)
