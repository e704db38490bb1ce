"""How alike two ideas are: by the words that both have, rare ones weighing more, or by embeddings where a model is at hand."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.knowledge import similarity as knowledge

_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|s)$")
_COMMON = frozenset(
    re.findall(r"\w+", "a an and as at by for from in is it its of on or so that the then this to use with")
)
SAME_WORDS = 0.65
"""Weight of the words in common from which two ideas are the same."""
SAME_MEANING = 0.85
"""Cosine of embeddings from which two ideas are the same."""


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


@dataclass(frozen=True)
class Repetitions:
    """Finds the idea that another one repeats."""

    cosines: Mapping[str, Mapping[str, float]] | None = None
    """Of what was proposed, to all that it may repeat; None: words are compared."""

    def original(self, text: str, pool: Mapping[int, str]) -> int | None:
        """Return the number of the idea of a pool that a text repeats, the first of equals; None: it is new."""
        if self.cosines is None:
            by_words, least = Similarity([*pool.values(), text]), SAME_WORDS
            scores = {number: by_words(idea, text) for number, idea in pool.items()}
        else:
            # What came into the pool while these were computed was not compared; the next prompt may merge it.
            cosines, least = self.cosines.get(text, {}), SAME_MEANING
            scores = {number: cosines.get(idea, 0.0) for number, idea in pool.items()}
        nearest = max(pool, key=lambda number: (scores[number], -number), default=None)
        return nearest if nearest is not None and scores[nearest] >= least else None


async def repetitions(similarity: knowledge.Similarity, pool: Sequence[str], proposed: Sequence[str]) -> Repetitions:
    """Compare what is proposed with a pool of all ideas, closed ones too, and with itself, by embeddings if they can be had."""
    others = list(dict.fromkeys([*pool, *proposed]))
    cosines = {}
    for text in proposed:
        if not similarity.of_meaning:
            break
        cosines[text] = dict(zip(others, await similarity.scores(text, others), strict=True))
    # Embeddings may have failed on the way.
    return Repetitions(cosines if similarity.of_meaning else None)


def words(text: str) -> frozenset[str]:
    """Return the words and numbers of a text without their endings, and without the commonest words."""
    return frozenset(_ENDING.sub("", word) for word in _WORD.findall(text.lower())) - _COMMON
