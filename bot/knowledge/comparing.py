"""The similarity that the settings name; where embeddings fail, words are compared."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from bot.knowledge.embeddings import EmbeddingSimilarity
from bot.knowledge.settings import KnowledgeSettings
from bot.knowledge.similarity import Similarity, WordSimilarity
from state.errors import InfrastructureFailure


class _EitherSimilarity:
    """Embeddings while they can be had; after their first failure words, for the scores of the two are not alike."""

    def __init__(self, embeddings: EmbeddingSimilarity, say: Callable[[str], None]) -> None:
        self._embeddings: EmbeddingSimilarity | None = embeddings
        self._words = WordSimilarity()
        self._say = say

    @property
    def of_meaning(self) -> bool:
        return self._embeddings is not None

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if self._embeddings is not None:
            try:
                return await self._embeddings.scores(query, texts)
            except InfrastructureFailure as error:
                self._embeddings = None
                self._say(f"texts are compared by their words: {error}")
        return await self._words.scores(query, texts)


@asynccontextmanager
async def open_similarity(settings: KnowledgeSettings, say: Callable[[str], None]) -> AsyncIterator[Similarity]:
    """Open what compares texts, and close it afterwards; its process, if it has one, starts with the first query."""
    if settings.backend == "bm25" or settings.model is None:
        yield WordSimilarity()
        return
    async with aclosing(EmbeddingSimilarity(settings.model, settings.python)) as embeddings:
        yield _EitherSimilarity(embeddings, say)
