"""Mistakes in a bot.toml: each with its line, its kind, and one sentence on the expected value."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from bot.configuration.fields import description_of, find, name_of, places_of
from bot.configuration.lines import KeyPath, Lines
from bot.configuration.secret_texts import SECRET_NAME, masked
from state.errors import Problem

Kind = Literal["unreadable", "syntax", "unknown", "missing", "wrong", "secret", "together"]
"""`wrong`: a value of the wrong type, or out of its bounds; `together`: a contradiction with another table."""

_TYPES = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be text in quotes",
    "path": "must be a path in quotes",
    "list": "must be a list",
    "tuple": "must be a list",
    "dict": "must be a table",
    "model": "must be a table",
}
_BOUNDS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "finite_number": "must be a finite number",
    "string_pattern_mismatch": "must match {pattern}",
}


@dataclass(frozen=True)
class Mistake(Problem):
    """One mistake in a configuration."""

    kind: Kind = "wrong"
    key: str | None = None
    """The wrong key, such as `watch.silent_minutes`; None if it is not a key."""


@dataclass(frozen=True)
class TomlFile:
    """A file, and the lines of its content."""

    file: Path
    lines: Lines

    def mistake(self, kind: Kind, path: KeyPath, sentence: str) -> Mistake:
        """Return the mistake that a sentence describes, at the key of a path; secrets in either are not repeated."""
        key = masked(name_of(path))
        return Mistake(str(self.file), self.lines.line(path), masked(f"{key} {sentence}".strip()), kind, key)


def invalid(errors: Sequence[Any], file: TomlFile, tree: type[BaseModel]) -> Iterator[Mistake]:
    """Word the findings of a validation, one mistake per key."""
    by_key: dict[KeyPath, list[Any]] = {}
    for error in errors:
        # The key may be followed by names of a union's branches.
        known_path = file.lines.known_path(tuple(error["loc"]))
        by_key.setdefault(tuple(error["loc"]) if error["type"] == "missing" else known_path, []).append(error)
    for path, errors_there in by_key.items():
        first = errors_there[0]
        if first["type"] == "too_short" and any(other_path[: len(path)] == path != other_path for other_path in by_key):
            continue  # its items are wrong, not their number
        if first["type"] == "extra_forbidden":
            yield replace(file.mistake("unknown", path, ""), message=masked(_unknown(tree, path)))
        elif first["type"] == "missing":
            yield file.mistake("missing", path, f"is missing{_meaning(tree, path)}")
        else:
            first_way, *other_ways = dict.fromkeys(expected(error) for error in errors_there)
            ways = ", or ".join([first_way, *(w.removeprefix("must be ") for w in other_ways)])
            yield file.mistake("wrong", path, f"{ways}{_actual(first)}{_meaning(tree, path)}")


def expected(error: Any) -> str:
    """Return the expected value, for one finding of a validation."""
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind == "value_error":
        return str(context["error"])
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    if kind == "literal_error":
        return "must be " + str(context["expected"]).replace("'", '"')
    if kind in ("string_too_short", "too_short"):
        return "must not be empty"
    if kind.startswith(("datetime", "timezone")):
        return "must be a time with a time zone, such as 2027-01-01T00:00:00Z"
    return _TYPES.get(kind.split("_")[0], str(error["msg"]))


def _actual(error: Any) -> str:
    """Return the file's value, unless it is a text, which may be anything."""
    value = error["input"]
    if error["type"].startswith(("value_error", "datetime", "timezone")):
        return ""
    if isinstance(value, str):
        return "" if error["type"] in ("literal_error", "string_too_short", *_BOUNDS) else ", not text"
    if isinstance(value, list | dict):
        return "" if error["type"] == "too_short" else f", not a {'table' if isinstance(value, dict) else 'list'}"
    return f", not {json.dumps(value)}"


def _meaning(tree: type[BaseModel], path: KeyPath) -> str:
    field, _ = find(tree, path)
    return f" ({description_of(field).rstrip('.')})" if field and description_of(field) else ""


def _unknown(tree: type[BaseModel], path: KeyPath) -> str:
    name, (_, table) = str(path[-1]), find(tree, path[:-1])
    keys = tuple(table.model_fields) if table else ()
    key = f"unknown key {name!r}" + (f" in [{name_of(path[:-1])}]" if len(path) > 1 else "")
    if SECRET_NAME.search(name):
        key += "; secrets belong in environment variables or systemd credentials"
    if matches := get_close_matches(name.lower(), keys, 1, 0.5):
        return f"{key}; did you mean {matches[0]!r}?"
    if place := next(places_of(tree, name), None):
        return f"{key}; did you mean {name_of(place)!r}?"
    return f"{key}; known keys: {', '.join(keys)}"
