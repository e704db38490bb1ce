"""Similarity of ideas: by common words, rare ones weighing more, or by embeddings where a model is available."""

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
"""Weight of the common words from which two ideas are the same."""
SAME_MEANING = 0.85
"""Cosine of embeddings from which two ideas are the same."""


class Similarity:
    """Compares ideas within a pool.

    A library for BM25 would import numpy, which the bot's own process avoids; between texts of a sentence or two the share of
    the common words, weighed as BM25 weighs them, ranks as well.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        word_sets = [words(text) for text in texts]
        counts = Counter(word for word_set in word_sets for word in word_set)
        self._weights = {word: math.log(1 + (len(word_sets) + 0.5) / (count + 0.5)) for word, count in counts.items()}
        self._unseen = math.log(1 + (len(word_sets) + 0.5) / 0.5)

    def __call__(self, first: str, second: str) -> float:
        """Return the weight of the common words as a share of that of all, from 0 to 1."""
        first_words, second_words = words(first), words(second)
        total_weight = self._weight(first_words | second_words)
        return self._weight(first_words & second_words) / total_weight if total_weight else 0.0

    def _weight(self, word_set: Iterable[str]) -> float:
        return sum(self._weights.get(word, self._unseen) for word in sorted(word_set))


@dataclass(frozen=True)
class Repetitions:
    """Finds the idea that another one repeats."""

    cosines: Mapping[str, Mapping[str, float]] | None = None
    """Of each proposed text to all that it may repeat; None: words are compared."""

    def original(self, text: str, pool: Mapping[int, str]) -> int | None:
        """Return the number of the idea of a pool that a text repeats, the first of equals; None: it is new."""
        if self.cosines is None:
            by_words, threshold = Similarity([*pool.values(), text]), SAME_WORDS
            scores = {number: by_words(idea, text) for number, idea in pool.items()}
        else:
            # Ideas added while these were computed were not compared; the next prompt may merge them.
            cosines, threshold = self.cosines.get(text, {}), SAME_MEANING
            scores = {number: cosines.get(idea, 0.0) for number, idea in pool.items()}
        nearest = max(pool, key=lambda number: (scores[number], -number), default=None)
        return nearest if nearest is not None and scores[nearest] >= threshold else None


async def repetitions(
    similarity: knowledge.TextSimilarity, pool: Sequence[str], proposed: Sequence[str]
) -> Repetitions:
    """Compare proposed ideas with a pool of all, closed ones too, and with each other, by embeddings if available."""
    candidates = list(dict.fromkeys([*pool, *proposed]))
    cosines = {}
    for text in proposed:
        if not similarity.of_meaning:
            break
        cosines[text] = dict(zip(candidates, await similarity.scores(text, candidates), strict=True))
    # Embeddings may have failed on the way.
    return Repetitions(cosines if similarity.of_meaning else None)


def words(text: str) -> frozenset[str]:
    """Return the words and numbers of a text without their endings, and without the commonest words."""
    return frozenset(_ENDING.sub("", word) for word in _WORD.findall(text.lower())) - _COMMON
