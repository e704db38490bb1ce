"""The agents, each in a folder of its own: a policy that chooses the next actions, its prompts and settings."""

from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal

from bot.extensions import declared

if TYPE_CHECKING:
    from bot.engine.context import RunContext
    from bot.engine.strategy import Strategy

__all__ = [
    "AGENTS",
    "COMIND_PARTS",
    "REPLAYS_ONLY",
    "Agent",
    "AgentName",
    "LiveAgentName",
    "Part",
    "agent_of",
    "blends",
    "open_agent",
]

Part = Literal["community", "reproduction", "labs", "knowledge", "adaptive-coding", "blend", "baseline"]
"""Parts of an agent. Labs: its coders may work in labs with validation rows. Baseline: that of the engine competes with its
solutions."""


@dataclass(frozen=True)
class Agent:
    """An agent, without loading its module."""

    opening: str
    """`module:function`; the function creates the agent for one run."""
    parts: tuple[Part, ...] = ()
    """Agents as in their papers have no blend, and submit the baseline only if they have nothing else."""


COMIND_PARTS: tuple[Part, ...] = ("community", "reproduction", "labs", "knowledge", "blend", "baseline")

_BUNDLED_AGENTS = {
    "comind": Agent("bot.agents.comind.briefing:comind", COMIND_PARTS),
    "comind-paper": Agent("bot.agents.comind.briefing:comind_paper", ("community",)),
    "aide": Agent("bot.agents.tree.aide:aide"),
    "aide-mlebench": Agent("bot.agents.tree.aide:aide_mlebench"),
    "solo": Agent("bot.agents.solo:solo", ("blend",)),
}

REPLAYS_ONLY = ("solo",)
"""A yardstick: nothing of it is scored before submission."""

AGENTS = (*_BUNDLED_AGENTS, *declared("agents"))
"""The names of the bot's agents, and of those that are entry points of the group `bot.agents`."""

if TYPE_CHECKING:
    AgentName = str
    LiveAgentName = str
else:
    # Settings and options offer the names above; a type checker accepts no computed list.
    AgentName = Literal[AGENTS]
    LiveAgentName = Literal[tuple(name for name in AGENTS if name not in REPLAYS_ONLY)]


@cache
def agent_of(name: AgentName) -> Agent:
    """Return an agent without loading its module."""
    agent: Agent = _BUNDLED_AGENTS[name] if name in _BUNDLED_AGENTS else resolve_name(declared("agents")[name])
    return agent


def blends(name: AgentName) -> bool:
    """Return whether an agent's scored scripts are blended by default."""
    return "blend" in agent_of(name).parts


def open_agent(name: AgentName, context: "RunContext") -> "Strategy":
    """Return the strategy of the agent of that name for one run."""
    strategy: Strategy = resolve_name(agent_of(name).opening)(context)
    return strategy
