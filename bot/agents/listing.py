"""The agents by name."""

from collections.abc import Callable, Mapping

from bot.agents.comind.briefing import comind
from bot.agents.tree.aide import aide
from bot.engine.context import RunContext
from bot.engine.strategy import Strategy

__all__ = ["AGENTS", "READERS"]

AGENTS: Mapping[str, Callable[[RunContext], Strategy]] = {"comind": comind, "aide": aide}

READERS = frozenset({"comind"})
"""Those that make use of what a community posts."""
