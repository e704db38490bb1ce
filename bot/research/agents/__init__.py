"""Agents as papers describe them, to compare with: AutoMind, AIDE+Code, AIDE+RAG; and one that works on labs in phases."""

from bot.agents import COMIND_PARTS, Agent

HYBRID = Agent("bot.research.agents.hybrid:hybrid", COMIND_PARTS)
AIDE_CODE = Agent("bot.research.agents.aide_code:aide_code", ("community",))
AIDE_RAG = Agent("bot.research.agents.aide_rag:aide_rag", ("community",))
AUTOMIND = Agent("bot.research.agents.automind:automind", ("knowledge", "adaptive-coding"))
