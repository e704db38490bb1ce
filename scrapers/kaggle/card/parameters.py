"""A metric's parameters, as far as a text names them: log loss's clipping and rescaling, how many labels MAP@k looks at."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scrapers.kaggle.card.pages import Block
from scrapers.kaggle.card.wording import comparable

_PARAGRAPH = re.compile(r"\n\s*\n|(?<=[.!?])\s+(?=[A-Z\\])")
_CLIPS = re.compile(
    r"extremes? of the log|clip|clamp|max\s*\(\s*min|min\s*\(\s*max|bounded away|truncat|avoid (?:taking )?(?:the )?log|undefined"
    r"|(?:kept|held|bounded|limited|restricted|constrained)\s+(?:between|within|in|(?:to|inside)\s+(?:the\s+)?(?:range|interval))\b",
    re.IGNORECASE,
)
_EPSILON = re.compile(
    r"(?<![\d.])(?:1\s*(?:\\times|\*|x|\u00d7)\s*)?10\s*\^?\s*\{?\s*[-\u2212\u2013]\s*(\d{1,2})\s*\}?|(?<![\d.])1e[-\u2212\u2013](\d{1,2})",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"(?<![\d.])0\.(0{2,}1)(?!\d)")
_KEPT = re.compile(r"clip|clamp|truncat|kept|held|bounded|limited|restricted|constrained", re.IGNORECASE)
_BOUND = re.compile(r"(?<![\d.])0?\.[0-4]\d*(?![\d.]*\d)")
"""The lower one of an interval that is less usual."""
_RESCALED = re.compile(
    r"\b(?:rescaled|re ?normali[sz]ed|normali[sz]ed|divided by (?:the|their|its) (?:row )?sum|scaled to sum)\b"
)
_NOT_RESCALED = re.compile(
    r"\b(?:not|never|without)(?: \w+){0,3}? (?:rescal\w+|re ?normali[sz]\w+|normali[sz]\w+|divided by)"
    r"|\bno (?:rescaling|re ?normali[sz]ation|normali[sz]ation)\b"
)
_CUTOFF = re.compile(r"\b(?:map ?@ ?|mean average precision ?(?:@|at) ?)(\d{1,3})\b")


@dataclass(frozen=True)
class Parameters:
    """What a text says of them; each may be said not at all, or in several ways that do not agree."""

    eps: frozenset[float]
    normalize: frozenset[bool]

    @property
    def agreed(self) -> bool:
        """Whether nothing is said in two ways."""
        return len(self.eps) < 2 and len(self.normalize) < 2

    @property
    def values(self) -> dict[str, float | bool]:
        """Return those that are said."""
        said = {"eps": self.eps, "normalize": self.normalize}
        return {name: next(iter(values)) for name, values in said.items() if values}


def read_parameters(blocks: Sequence[Block]) -> Parameters:
    """Read them where the pages speak of evaluation."""
    eps: set[float] = set()
    normalize: set[bool] = set()
    for block in blocks:
        if block.topic not in ("evaluation", "overview", "submission") or block.kind == "code":
            continue
        for sentence in _PARAGRAPH.split(block.text):
            if _CLIPS.search(sentence):
                eps |= set(_small_numbers(sentence))
            plain = comparable(sentence)
            if _NOT_RESCALED.search(plain):
                normalize.add(False)
            elif _RESCALED.search(plain) and re.search(r"probabilit|prediction|row|submi|score", plain):
                normalize.add(True)
    return Parameters(frozenset(eps), frozenset(normalize))


def read_cutoff(field: str, blocks: Sequence[Block]) -> int | None:
    """Return the k of MAP@k where Kaggle's field and the pages name one, and no other."""
    texts = [field, *(block.text for block in blocks if block.topic in ("evaluation", "overview"))]
    found = {int(match[1]) for text in texts for match in _CUTOFF.finditer(comparable(text))}
    return found.pop() if len(found) == 1 else None


def _small_numbers(sentence: str) -> list[float]:
    found = [float(f"1e-{match[1] or match[2]}") for match in _EPSILON.finditer(sentence)]
    bounds = [float(match[0]) for match in (_BOUND if _KEPT.search(sentence) else _DECIMAL).finditer(sentence)]
    return found + [bound for bound in bounds if bound > 0]
