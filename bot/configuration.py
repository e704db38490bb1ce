"""The file bot.toml: one table for each part, each read by the part that owns it."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from state.errors import UsageError

SectionT = TypeVar("SectionT", bound=BaseModel)

SECTIONS = ("models", "sandbox", "session", "leases", "disk", "watch", "weights", "budget", "kaggle", "notify")
"""The tables that there may be."""


def read_section(path: Path | None, name: str, section: type[SectionT]) -> SectionT:
    """Read one table of a configuration file; without the file or the table all is as by default.

    Args:
        path: a bot.toml; None means that there is none.
        name: the table, one of `SECTIONS`.
        section: what it holds.

    Raises:
        UsageError: the file cannot be read, or holds an unknown or wrong key; the text names each.
    """
    if path is None:
        return section()
    try:
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if unknown := sorted(set(content) - set(SECTIONS)):
        known = ", ".join(f"[{known}]" for known in SECTIONS)
        raise UsageError(f"{path}: unknown section or key {', '.join(unknown)}; known is {known}")
    try:
        return section.model_validate(content.get(name, {}))
    except ValidationError as error:
        sentences = [_sentence(name, e["type"], e["loc"], e["msg"]) for e in error.errors()]
        raise UsageError(f"{path}: {'; '.join(sentences)}") from None


def _sentence(name: str, kind: str, location: tuple[int | str, ...], message: str) -> str:
    key = ".".join([name, *(str(part) for part in location)])
    if kind != "extra_forbidden":
        return f"{key}: {message}"
    secret = " (a key is read from the variable OPENAI_API_KEY alone)" if "key" in str(location[-1]).lower() else ""
    return f"unknown key {key}{secret}"
