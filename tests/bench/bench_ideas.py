"""Repeated ideas: which of the labelled pairs in idea_pairs.toml count as one, by words and by embeddings, at each threshold.

Precision is the share of pairs that repeat each other among those taken for one, recall the share that is found of those that do.
Embeddings are tried where BOT_EMBEDDINGS_PYTHON (an interpreter with sentence-transformers) and BOT_EMBEDDINGS_MODEL (a model's
folder) are set. `*` marks the threshold of the bot.
"""

import asyncio
import os
import tomllib
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.community.ideas.similarity import SAME_MEANING, SAME_WORDS, Similarity
from bot.knowledge.embeddings import EmbeddingSimilarity

Kind = Literal["repeated", "reworded", "different"]


class Pair(BaseModel):
    """Two ideas, and whether they are one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    one: str
    other: str


def read_pairs() -> list[Pair]:
    """Return the labelled pairs."""
    table = tomllib.loads(Path(__file__).with_name("idea_pairs.toml").read_text(encoding="utf-8"))
    return [Pair.model_validate(one) for one in table["pair"]]


def by_words(pairs: Sequence[Pair]) -> list[float]:
    """Return the pairs' likeness within a pool of all their ideas."""
    alike = Similarity(text for pair in pairs for text in (pair.one, pair.other))
    return [alike(pair.one, pair.other) for pair in pairs]


def table(name: str, pairs: Sequence[Pair], scores: Sequence[float], chosen: float) -> None:
    """Print what each threshold finds."""
    print(f"\n{name}\n threshold  repeated  reworded  different  precision  recall")
    for threshold in sorted({0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, chosen}):
        found = [pair.kind for pair, score in zip(pairs, scores, strict=True) if score >= threshold]
        right = len(found) - found.count("different")
        recall = right / sum(pair.kind != "different" for pair in pairs)
        precision = f"{right / len(found):.2f}" if found else "–"
        counts = "".join(f"{found.count(kind):>10}" for kind in ("repeated", "reworded", "different"))
        print(f"{'*' if threshold == chosen else ' '}{threshold:9.2f}{counts}{precision:>12}{recall:8.2f}")


async def measure() -> None:
    """Print the tables."""
    pairs = read_pairs()
    print({kind: sum(pair.kind == kind for pair in pairs) for kind in ("repeated", "reworded", "different")})
    table("words", pairs, by_words(pairs), SAME_WORDS)
    python, model = (os.environ.get(f"BOT_EMBEDDINGS_{name}") for name in ("PYTHON", "MODEL"))
    if model is None:
        print("no embeddings: BOT_EMBEDDINGS_MODEL names no model's folder")
        return
    async with aclosing(EmbeddingSimilarity(Path(model), Path(python) if python else None)) as embeddings:
        scores = [(await embeddings.scores(pair.one, [pair.other]))[0] for pair in pairs]
    table("embeddings", pairs, scores, SAME_MEANING)


if __name__ == "__main__":
    asyncio.run(measure())
