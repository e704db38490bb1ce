"""What installed packages add to the bot: entry points, such as those of `bot/research` in pyproject.toml."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Literal

__all__ = ["Group", "declared"]

Group = Literal["agents", "commands", "importers", "rules"]


@cache
def declared(group: Group) -> Mapping[str, str]:
    """Return by name what is declared in the group `bot.GROUP`, as `module:attribute`; nothing is imported."""
    return MappingProxyType({point.name: point.value for point in entry_points(group=f"bot.{group}")})
