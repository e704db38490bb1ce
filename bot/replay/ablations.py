"""Ablations: what an agent goes without, one word each, as in a plan of `bot bench`; a new one is one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.agents import IN_LABS, AgentName, blends
from bot.replay.settings import ReplaySettings


@dataclass(frozen=True)
class Ablation:
    """A part that an agent can go without."""

    setting: str
    """The setting that rules it; in a table of settings after a dot."""
    off: object
    """The setting's value where the part is left out."""
    agents: tuple[AgentName, ...] | None = None
    """Agents that have the part; None: all."""
    within: str | None = None
    """The word of the larger part that it is of: without that one, its absence is no news."""


ABLATIONS: Mapping[str, Ablation] = {
    "no-community": Ablation("community", False, ("comind", "hybrid", "aide-code", "aide-rag")),
    "no-reproduction": Ablation("reproduction.kernels", 0, ("comind", "hybrid"), within="no-community"),
    "no-labs": Ablation("rounds.coder", "script", IN_LABS),
    "no-knowledge": Ablation("knowledge", "none", ("comind", "hybrid", "automind")),
    "no-adaptive-coding": Ablation("adaptive_coding.threshold", 5, ("automind",)),
    "no-blend": Ablation("blend", False),
}
"""By the word that a plan and `result.json` have for it."""

BLENDS = "blend"
"""The word for an agent that blends though it usually does not."""


_IN_LABS = (*IN_LABS, "solo")
"""Agents in whose labs the owner's coding agent may work."""


def without(settings: ReplaySettings, words: Sequence[str]) -> ReplaySettings:
    """Return the settings of the same run without these parts."""
    for word in words:
        setting, off = ABLATIONS[word].setting, ABLATIONS[word].off
        table, _, key = setting.rpartition(".")
        change = {table: getattr(settings, table).model_copy(update={key: off})} if table else {key: off}
        settings = settings.model_copy(update=change)
    return settings


def variant_of(settings: ReplaySettings) -> tuple[str, ...]:
    """Return what a run does otherwise than its agent usually does, in words, as `RunResult.variant` has it."""
    left_out = [word for word in ABLATIONS if _has(settings, word) and _is_off(settings, word)]
    own = settings.coder.own if settings.agent in _IN_LABS and settings.rounds.coder == "lab" else None
    more = [*([BLENDS] if settings.blend and not blends(settings.agent) else []), *([own.name] if own else [])]
    return (*left_out, *more)


def _is_off(settings: ReplaySettings, word: str) -> bool:
    return without(settings, [word]) == settings


def _has(settings: ReplaySettings, word: str) -> bool:
    """Return whether a run's agent usually has the part, and the larger part that it is of."""
    part = ABLATIONS[word]
    if part.agents is not None and settings.agent not in part.agents:
        return False
    if part.within is not None and _is_off(settings, part.within):
        return False
    if word == "no-knowledge" and settings.agent == "comind":
        return settings.rounds.coder == "lab"  # its scripts alone are shown none
    if word == "no-labs":
        return settings.model != "builtin" and settings.sandbox != "process"
    return blends(settings.agent) if word == "no-blend" else True
