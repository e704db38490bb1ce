"""Retrieval from the shipped entries: how many of the first five are of use, by words and by embeddings, with and without labels.

The tasks and the entries that are of use to each are in knowledge_queries.toml. Where a task has fewer than five of them a
perfect search cannot reach 1, so the best that is possible is printed beside. Embeddings are tried where the variables
BOT_EMBEDDINGS_PYTHON (an interpreter with sentence-transformers) and BOT_EMBEDDINGS_MODEL (a model's folder) are set.
"""

import asyncio
import os
import statistics
import tomllib
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bot.knowledge.base import KnowledgeBase
from bot.knowledge.embeddings import EmbeddingSimilarity
from bot.knowledge.labels import labels, labels_in
from bot.knowledge.retrieval import Task, ranked
from bot.knowledge.similarity import Similarity, WordSimilarity

AT = 5


class Query(BaseModel):
    """A task, its labels, and the ids of the entries that are of use to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    text: str
    metric: str
    labels: tuple[str, ...]
    relevant: frozenset[str]

    @property
    def task(self) -> Task:
        return Task("none", self.title, self.text, self.metric)


LABELLING: dict[str, Callable[[Query], Sequence[str]]] = {
    "no labels": lambda query: (),
    "labels by rules": lambda query: labels_in(query.task.query),
    "labels by hand": lambda query: query.labels,
}


def read_queries() -> list[Query]:
    """Return the tasks; every label is one of the set, every entry is shipped."""
    table = tomllib.loads(Path(__file__).with_name("knowledge_queries.toml").read_text(encoding="utf-8"))
    queries = [Query.model_validate(one) for one in table["query"]]
    shipped = {entry.id for entry in KnowledgeBase.read().entries}
    assert all(query.relevant <= shipped and set(query.labels) <= labels().keys() for query in queries)
    return queries


async def precision(queries: Sequence[Query], similarity: Similarity, labelling: str) -> float:
    """Return the mean share of the first five entries that are of use."""
    entries = KnowledgeBase.read().entries
    shares = []
    for query in queries:
        found = await ranked(entries, LABELLING[labelling](query), query.task.query, similarity, AT)
        shares.append(sum(entry.id in query.relevant for entry in found) / AT)
    return statistics.mean(shares)


async def measure() -> None:
    """Print the table."""
    queries = read_queries()
    best = statistics.mean(min(AT, len(query.relevant)) / AT for query in queries)
    chance = statistics.mean(len(query.relevant) for query in queries) / len(KnowledgeBase.read().entries)
    print(f"precision at {AT} over {len(queries)} tasks; the best possible is {best:.2f}, chance {chance:.2f}")
    similarities: dict[str, Similarity] = {"BM25": WordSimilarity()}
    python, model = (os.environ.get(f"BOT_EMBEDDINGS_{name}") for name in ("PYTHON", "MODEL"))
    if model is None:
        print("no embeddings: BOT_EMBEDDINGS_MODEL names no model's folder")
        await _table(queries, similarities)
        return
    async with aclosing(EmbeddingSimilarity(Path(model), Path(python) if python else None)) as embeddings:
        similarities["embeddings"] = embeddings
        await _table(queries, similarities)


async def _table(queries: Sequence[Query], similarities: dict[str, Similarity]) -> None:
    print(f"{'':16}" + "".join(f"{name:>12}" for name in similarities))
    for labelling in LABELLING:
        figures = [await precision(queries, one, labelling) for one in similarities.values()]
        print(f"{labelling:16}" + "".join(f"{figure:12.3f}" for figure in figures))


if __name__ == "__main__":
    asyncio.run(measure())
