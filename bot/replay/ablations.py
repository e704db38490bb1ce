"""Ablations: what an agent goes without, one word each, as in a plan of `bot bench`; a new one is one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.agents import AgentName, blends
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


ABLATIONS: Mapping[str, Ablation] = {
    "no-community": Ablation("community", False, ("comind",)),
    "no-reproduction": Ablation("reproduction.kernels", 0, ("comind",)),
    "no-labs": Ablation("rounds.coder", "script", ("comind",)),
    "no-blend": Ablation("blend", False),
    "no-race": Ablation("race", False),
}
"""By the word that a plan and `result.json` have for it."""

BLENDS = "blend"
"""The word for an agent that blends though it usually does not."""


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
    left_out = [word for word in ABLATIONS if _has(settings, word) and without(settings, [word]) == settings]
    return (*left_out, *((BLENDS,) if settings.blend and not blends(settings.agent) else ()))


def _has(settings: ReplaySettings, word: str) -> bool:
    """Return whether a run's agent usually has the part."""
    if ABLATIONS[word].agents is not None and settings.agent not in (ABLATIONS[word].agents or ()):
        return False
    if word == "no-labs":
        return settings.model != "builtin" and settings.sandbox != "process"
    # Without a blend there is no race either, so that its absence is the blend's.
    return blends(settings.agent) if word == "no-blend" else settings.blend or word != "no-race"
