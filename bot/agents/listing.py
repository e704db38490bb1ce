"""The agents by name, and what is built in."""

from collections.abc import Callable, Mapping

from bot.agents import AgentName
from bot.agents.builtin import BuiltinModel, baseline_script
from bot.agents.comind.briefing import comind
from bot.agents.tree.aide import aide
from bot.engine.context import RunContext
from bot.engine.services import BuiltIn
from bot.engine.strategy import Strategy

__all__ = ["AGENTS", "BUILT_IN", "READERS"]

AGENTS: Mapping[AgentName, Callable[[RunContext], Strategy]] = {"comind": comind, "aide": aide}

READERS: frozenset[AgentName] = frozenset({"comind"})
"""Those that make use of what a community posts."""

BUILT_IN = BuiltIn(BuiltinModel, baseline_script)
