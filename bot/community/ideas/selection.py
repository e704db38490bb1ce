"""Selection: which ideas are worth a draft now, and which of them belong in which of several drafts. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.community.ideas.similarity import Similarity
from bot.community.shown import IdeaText

IDEAS_A_DRAFT = 4
_OVERLAP_PENALTY = 0.7
"""Share of an idea's value that it loses in a draft beside one that holds the same idea (as in CoMind's predecessor)."""
_SAME_PATH = 0.5
"""Overlap of two ideas of one solution path in different drafts: siblings are to differ."""
_USED = 0.6
"""Share of its value that an idea keeps which a draft used already, and nobody measured."""
_IMPOSSIBLE = 0.2
"""Share that one keeps which this machine can hardly carry out: the text may name what is not essential."""
_LACKING = 1.3
"""Factor for a family of models that the blend lacks."""
_GPU = re.compile(
    r"\b(?:gpu|cuda|fine-?tun\w*|(?:distil|ro|de)?bert\w*|transformers?|llms?|resnet\w*|efficientnet\w*)\b", re.I
)
_FETCHED = re.compile(
    r"\b(?:download\w*|internet|api|scrap(?:e|ing)|external data\w*|pre-?trained|embeddings? from)\b", re.I
)
_FAMILIES = {
    "transformer": r"transformers?|\w*bert\w*|llms?",
    "neural net": r"neural|torch|keras|mlp|cnns?|rnns?|lstms?|grus?|fasttext",
    "lightgbm": r"lightgbm|lgbm?",
    "xgboost": r"xgboost|xgb",
    "catboost": r"catboost",
    "boosted trees": r"(?:gradient )?boost(?:ing|ed)",
    "forest": r"forests?|extra[- ]?trees|extremely randomi[sz]ed",
    "kernel method": r"sv[mcr]s?|support vector|kernel ridge|gaussian process\w*",
    "neighbours": r"k-?nn|(?:nearest )?neighbou?rs?",
    "naive Bayes": r"naive bayes|\w*nb|nb-?svm",
    "discriminant analysis": r"[lq]da|discriminant",
    "linear": r"logistic|ridge|lasso|elastic ?net|linear (?:model|regression)|sgd\w*",
}
"""Families of models by the names that a lab's scripts are counted under, with the words of prose for each."""
_FAMILY_WORDS = {name: re.compile(rf"\b(?:{mark})\b", re.I) for name, mark in _FAMILIES.items()}


@dataclass(frozen=True)
class Situation:
    """What the value of an idea depends on beside its evidence."""

    gpus: int
    weights: bool
    """Whether pretrained weights are here."""
    late: bool
    """Whether it is the last third of a run that is limited by time: what is quick and sure goes first."""
    blended: frozenset[str] = frozenset()
    """Families of models of the blend's members; without a blend those of all scored scripts."""


def families_in(text: str) -> frozenset[str]:
    """Return the families of models that an idea names."""
    return frozenset(name for name, mark in _FAMILY_WORDS.items() if mark.search(text))


def value(idea: IdeaText, now: Situation) -> float:
    """Return what an idea promises: 0 if it was measured in vain, else its support times what speaks for trying it now."""
    if idea.in_vain:
        return 0.0
    worth = idea.support * (0.5 + 0.05 * idea.feasibility) ** (2 if now.late else 1)
    if idea.times_used and not idea.gains:
        worth *= _USED
    if (_GPU.search(idea.text) and not now.gpus) or (_FETCHED.search(idea.text) and not now.weights):
        worth *= _IMPOSSIBLE
    if now.blended and families_in(idea.text) - now.blended:
        worth *= _LACKING
    return worth


def select(
    ideas: Sequence[IdeaText], drafts: int, now: Situation, each: int = IDEAS_A_DRAFT
) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the ideas for each of several drafts, best first.

    The drafts take one idea each by turns, whichever is worth most to them: an idea loses value by its overlap with what was
    taken, in the same draft because it would add little, in a sibling because the two are to differ.
    """
    values = {idea.number: value(idea, now) for idea in ideas}
    alike = Similarity(idea.text for idea in ideas)
    taken: list[list[IdeaText]] = [[] for _ in range(drafts)]

    def left(idea: IdeaText, draft: int) -> float:
        overlaps = [
            max(alike(idea.text, other.text), _SAME_PATH * (place != draft and idea.path == other.path != ""))
            for place, held in enumerate(taken)
            for other in held
        ]
        return values[idea.number] * (1 - _OVERLAP_PENALTY * max(overlaps, default=0.0))

    for _ in range(each):
        for draft in range(drafts):
            free = [i for i in ideas if values[i.number] > 0 and i not in taken[draft]]
            if free:
                taken[draft].append(max(free, key=lambda idea: (left(idea, draft), -idea.number)))
    return tuple(tuple(idea.number for idea in held) for held in taken)
