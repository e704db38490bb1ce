"""How alike a query and some texts are: by their words (BM25), or by embeddings."""

import asyncio
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Protocol

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 600
"""Different words of a query that are looked for."""


class TextSimilarity(Protocol):
    """Compares texts; nothing of it is of one kind of text, so that it serves entries, ideas and titles alike."""

    @property
    def of_meaning(self) -> bool:
        """Whether scores are cosines of embeddings; else they are of words, which do not compare with these."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return for each text how like the query it is: 0 where nothing is alike, about 1 for the query itself.

        Raises InfrastructureFailure: it cannot work here.
        """


class WordSimilarity:
    """BM25 as SQLite's full-text search computes it, over stems, as a share of the query's score for itself.

    SQLite is at hand in the bot's own process; libraries for BM25 bring numpy, which that process does without.
    """

    of_meaning = False

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the scores; one without a common word is 0."""
        return await asyncio.to_thread(_bm25, query, texts)


def _bm25(query: str, texts: Sequence[str]) -> list[float]:
    words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_MOST_WORDS]
    if not words or not texts:
        return [0.0] * len(texts)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE text USING fts5(body, tokenize = 'porter unicode61')")
        rows = enumerate((query, *texts), 1)
        database.executemany("INSERT INTO text (rowid, body) VALUES (?, ?)", rows)
        any_word = " OR ".join(f'"{word}"' for word in words)
        matches = database.execute("SELECT rowid, bm25(text) FROM text WHERE text MATCH ?", (any_word,))
        # SQLite's is the better the further it is below 0.
        scores = {row: -score for row, score in matches}
    best_score = scores.get(1, 0.0)
    return [min(1.0, scores.get(n, 0.0) / best_score) if best_score > 0 else 0.0 for n in range(2, len(texts) + 2)]
