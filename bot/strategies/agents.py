"""The agents by name."""

from collections.abc import Callable, Mapping

from bot.runs.context import RunContext
from bot.runs.settings import AgentName
from bot.strategies import Strategy
from bot.strategies.aide import aide
from bot.strategies.comind import comind

__all__ = ["AGENTS", "READERS"]

AGENTS: Mapping[AgentName, Callable[[RunContext], Strategy]] = {"comind": comind, "aide": aide}

READERS = frozenset({"comind"})
"""Those that make use of what a community posts."""
