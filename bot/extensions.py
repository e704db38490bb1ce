"""What installed packages add to the bot: entry points, such as those of `bot/research` in pyproject.toml."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Literal

from state.errors import UsageError

__all__ = ["Group", "declared", "extension"]

Group = Literal["agents", "checks", "clocks", "commands", "importers", "placement", "rules"]


@cache
def declared(group: Group) -> Mapping[str, str]:
    """Return what is declared in the group `bot.GROUP`, as `module:attribute` by name, in order; nothing is imported."""
    return MappingProxyType(dict(sorted(_sections().get(f"bot.{group}", {}).items())))


@cache
def _sections() -> dict[str, dict[str, str]]:
    """Return the entry points of all installed packages by group; of two of one name, the first on the path counts.

    importlib.metadata reads the same files, but importing it and asking it takes a fifth of what `bot --help` takes.
    """
    folders: dict[str, str] = {}
    for place in sys.path:
        with suppress(OSError):
            for name in os.listdir(place or "."):  # noqa: PTH208 - a Path for each of hundreds takes as long as all else
                if name.endswith(".dist-info"):
                    folders.setdefault(name.partition("-")[0].lower(), f"{place}/{name}")
    sections: dict[str, dict[str, str]] = {}
    for folder in folders.values():
        with suppress(OSError):
            text = Path(folder, "entry_points.txt").read_text(encoding="utf-8")
            section: dict[str, str] = {}
            for line in filter(None, map(str.strip, text.splitlines())):
                if line.startswith("["):
                    section = sections.setdefault(line.strip("[]"), {})
                elif "=" in line:
                    name, _, target = line.partition("=")
                    section[name.strip()] = target.strip()
    return sections


def extension(group: Group, name: str) -> Any:
    """Import what is declared by a name in a group.

    Raises:
        UsageError: nothing is, as where the bot is installed without the part.
    """
    if (place := declared(group).get(name)) is None:
        raise UsageError(f"{name!r} (bot.{group}) is not installed. Install the bot with all its parts: make setup")
    return resolve_name(place)
