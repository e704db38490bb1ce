"""The agents: each in a folder of its own: a policy that chooses the next actions, its prompts and settings."""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bot.engine.context import RunContext
    from bot.engine.strategy import Strategy

__all__ = ["AGENTS", "IN_LABS", "AgentName", "LiveAgentName", "blends", "open_agent"]

AGENTS = {
    "comind": "bot.agents.comind.briefing:comind",
    "hybrid": "bot.agents.comind.hybrid:hybrid",
    "aide": "bot.agents.tree.aide:aide",
    "aide-mlebench": "bot.agents.tree.aide:aide_mlebench",
    "aide-code": "bot.agents.tree.aide_code:aide_code",
    "aide-rag": "bot.agents.tree.aide_rag:aide_rag",
    "automind": "bot.agents.tree.automind:automind",
    "solo": "bot.agents.solo:solo",
}
"""By name, the function that makes the agent for one run; its module is loaded when it is chosen."""

_REPLAYS_ONLY = ("solo",)
"""A yardstick: nothing that it makes is scored before it would be sent."""

IN_LABS = ("comind", "hybrid")
"""Agents whose coders may work in labs, on rows with labels withheld."""

_UNBLENDED = ("aide", "aide-mlebench", "aide-code", "aide-rag", "automind")
"""Agents that are to be as in their papers, which have no blend."""

if TYPE_CHECKING:
    AgentName = str
    LiveAgentName = str
else:
    # Settings and options offer the names that are listed above; a type checker takes no list that is computed.
    AgentName = Literal[tuple(AGENTS)]
    LiveAgentName = Literal[tuple(name for name in AGENTS if name not in _REPLAYS_ONLY)]


def blends(name: AgentName) -> bool:
    """Return whether an agent's scored scripts are blended by default."""
    return name not in _UNBLENDED


def open_agent(name: AgentName, context: "RunContext") -> "Strategy":
    """Return the agent of that name, at work on one run."""
    strategy: Strategy = resolve_name(AGENTS[name])(context)
    return strategy
