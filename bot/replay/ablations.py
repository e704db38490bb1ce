"""Ablations: what an agent goes without, one word each, as in a plan of `bot bench`; a new one is one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.agents import Part, agent_of, blends
from bot.replay.settings import ReplaySettings


@dataclass(frozen=True)
class Ablation:
    """A part that an agent can go without."""

    setting: str
    """The setting that rules it; in a table of settings after a dot."""
    off: object
    """The setting's value where the part is left out."""
    part: Part
    """The part of an agent that is left out."""
    within: str | None = None
    """The word of the larger part that it is of: without that one, its absence is no news."""


ABLATIONS: Mapping[str, Ablation] = {
    "no-community": Ablation("community", False, "community"),
    "no-reproduction": Ablation("reproduction.kernels", 0, "reproduction", within="no-community"),
    "no-labs": Ablation("chosen_coder.labs", False, "labs"),
    "no-knowledge": Ablation("knowledge", "none", "knowledge"),
    "no-adaptive-coding": Ablation("adaptive_coding.threshold", 5, "adaptive-coding"),
    "no-blend": Ablation("blend", False, "blend"),
}
"""By the word that a plan and `result.json` have for it."""

BLENDS = "blend"
"""The word for an agent that blends though it usually does not."""


def apply_ablations(settings: ReplaySettings, words: Sequence[str]) -> ReplaySettings:
    """Return the settings of the same run without these parts."""
    for word in words:
        setting, off = ABLATIONS[word].setting, ABLATIONS[word].off
        table, _, key = setting.rpartition(".")
        change = {table: getattr(settings, table).model_copy(update={key: off})} if table else {key: off}
        settings = settings.model_copy(update=change)
    return settings


def variant_of(settings: ReplaySettings) -> tuple[str, ...]:
    """Return what a run does otherwise than its agent usually does, in words, as `RunResult.variant` has it."""
    ablated = [word for word in ABLATIONS if _has(settings, word) and _is_off(settings, word)]
    has_lab = settings.agent == "solo" or "labs" in agent_of(settings.agent).parts
    coder = settings.chosen_coder.agent if has_lab and settings.chosen_coder.labs else None
    additions = [*([BLENDS] if settings.blend and not blends(settings.agent) else []), *([coder.name] if coder else [])]
    return (*ablated, *additions)


def _is_off(settings: ReplaySettings, word: str) -> bool:
    return apply_ablations(settings, [word]) == settings


def _has(settings: ReplaySettings, word: str) -> bool:
    """Return whether a run's agent usually has the part, and the larger part that it is of."""
    ablation = ABLATIONS[word]
    if ablation.part not in agent_of(settings.agent).parts:
        return False
    if ablation.within is not None and _is_off(settings, ablation.within):
        return False
    if word == "no-knowledge" and settings.agent == "comind":
        return settings.chosen_coder.labs  # its scripts alone are shown none
    return word != "no-labs" or (settings.model != "builtin" and settings.sandbox != "process")
