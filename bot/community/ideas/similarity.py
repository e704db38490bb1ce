"""How alike two short texts are: by the words that both have, rare ones weighing more."""

import math
import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|s)$")
_COMMON = frozenset(
    re.findall(r"\w+", "a an and as at by for from in is it its of on or so that the then this to use with")
)


class Similarity:
    """Compares ideas within a pool.

    A library for BM25 would bring numpy, which the bot's own process does without; between texts of a sentence or two the
    share of the words in common, weighed as BM25 weighs them, ranks as well.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        found = [words(text) for text in texts]
        counts = Counter(word for one in found for word in one)
        self._weights = {word: math.log(1 + (len(found) + 0.5) / (count + 0.5)) for word, count in counts.items()}
        self._unseen = math.log(1 + (len(found) + 0.5) / 0.5)

    def __call__(self, one: str, other: str) -> float:
        """Return the weight of the words in common as a share of that of all, from 0 to 1."""
        mine, others = words(one), words(other)
        everything = self._weight(mine | others)
        return self._weight(mine & others) / everything if everything else 0.0

    def _weight(self, found: Iterable[str]) -> float:
        return sum(self._weights.get(word, self._unseen) for word in sorted(found))


def words(text: str) -> frozenset[str]:
    """Return the words and numbers of a text without their endings, and without the commonest words."""
    return frozenset(_ENDING.sub("", word) for word in _WORD.findall(text.lower())) - _COMMON
