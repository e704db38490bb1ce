"""What installed packages add to the bot: entry points, such as those of `bot/research` in pyproject.toml."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Literal

from state.errors import UsageError

__all__ = ["Group", "declared", "extension"]

Group = Literal["agents", "checks", "clocks", "commands", "importers", "placement", "rules"]


@cache
def declared(group: Group) -> Mapping[str, str]:
    """Return by name what is declared in the group `bot.GROUP`, as `module:attribute`; nothing is imported."""
    return MappingProxyType({point.name: point.value for point in entry_points(group=f"bot.{group}")})


def extension(group: Group, name: str) -> Any:
    """Import what is declared by a name in a group.

    Raises:
        UsageError: nothing is, as where the bot is installed without the part.
    """
    if (place := declared(group).get(name)) is None:
        raise UsageError(f"not installed: {name!r} of bot.{group}. Install the bot with all its parts: make setup")
    return resolve_name(place)
