"""Similarity by sentence embeddings: a process apart loads the model, so that the bot's own never loads torch.

Where there is no model, or where it fails, words are compared.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from bot.knowledge.settings import KnowledgeSettings
from bot.knowledge.similarity import TextSimilarity, WordSimilarity
from scrapers.posts.line_child import LineChild
from state.errors import InfrastructureFailure

_MODEL = "all-minilm-l6-v2"
"""The weights that embed texts where the settings name no model."""
_PROGRAM = Path(__file__).with_name("embedding_process.py")
_FIRST_SECONDS, _SECONDS = 300.0, 120.0
"""Limits of the first answer, for which torch and the model are loaded, and of each later one."""
_LONGEST_ANSWER = 1 << 24
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONUTF8": "1"}


class EmbeddingSimilarity:
    """Cosines of embeddings; the process starts with the first query, and ends with `aclose`."""

    of_meaning = True

    def __init__(self, model: Path, python: Path | None = None) -> None:
        """Prepare to compare by a folder's model of sentence-transformers; `python` has that library (None: the bot's own)."""
        command = (str(python or sys.executable), "-P", str(_PROGRAM), str(model))
        self._child = LineChild(command, _OFFLINE, _LONGEST_ANSWER)
        self._alone = asyncio.Lock()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the cosines, those below 0 as 0; the process embeds each text once.

        Raises InfrastructureFailure: the library or the model is missing, or the process died or took too long.
        """
        if not texts:
            return []
        line = json.dumps({"query": query, "texts": list(texts)}).encode()
        async with self._alone:
            try:
                async with asyncio.timeout(_SECONDS if self._child.pid else _FIRST_SECONDS):
                    answer = json.loads(await self._child.exchange(line))
            except (OSError, EOFError, ValueError, TimeoutError) as error:
                raise InfrastructureFailure(f"embeddings are unavailable: {error or 'no answer in time'}") from error
        if "error" in answer:
            raise InfrastructureFailure(f"embeddings are unavailable: {answer['error']}")
        return [max(0.0, float(score)) for score in answer["scores"]]

    async def aclose(self) -> None:
        """End the process."""
        await self._child.stop()


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
                self._say(f"comparing texts by their words instead: {error}")
        return await self._words.scores(query, texts)


@asynccontextmanager
async def open_similarity(
    settings: KnowledgeSettings, weights: Path | None, say: Callable[[str], None]
) -> AsyncIterator[TextSimilarity]:
    """Open what compares texts, and close it afterwards; its process, if it has one, starts with the first query.

    Without a model in the settings it is the one pulled into the folder of weights, if sentence-transformers is installed.
    """
    model = settings.model
    if weights and (weights / _MODEL).is_dir() and (settings.python or find_spec("sentence_transformers")):
        model = model or weights / _MODEL
    if model is None:
        yield WordSimilarity()
        return
    async with aclosing(EmbeddingSimilarity(model, settings.python)) as embeddings:
        yield _EitherSimilarity(embeddings, say)
