"""Similarity by words, and by embeddings of a process of their own."""

import os
import sys
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.knowledge.embeddings import EmbeddingSimilarity, open_similarity
from bot.knowledge.settings import KnowledgeSettings
from bot.knowledge.similarity import WordSimilarity
from state.errors import InfrastructureFailure

WORDS = st.lists(
    st.sampled_from(
        ["target", "encoding", "folds", "birds", "sing", "trees", "masks", "of", "the", "and", "NEAR", "OR"]
    ),
    max_size=8,
)


async def test_a_text_is_most_like_itself_and_unlike_one_without_a_common_word():
    texts = ["target encoding of categories", "encoding of images", "birds sing"]
    whole, part, nothing = await WordSimilarity().scores("target encoding of categories", texts)
    assert whole > 0.9
    assert whole > part > 0
    assert nothing == 0


async def test_forms_of_a_word_are_the_same_word():
    assert (await WordSimilarity().scores("encodings", ["an encoding", "folds"]))[0] > 0


@pytest.mark.integration
@given(query=WORDS, texts=st.lists(WORDS, max_size=6))
async def test_scores_lie_between_0_and_1_and_keep_the_order_of_texts(query, texts):
    asked, given_ = " ".join(query), [" ".join(words) for words in texts]
    scores = await WordSimilarity().scores(asked, given_)
    assert len(scores) == len(texts)
    assert all(0 <= score <= 1 for score in scores)
    # What the query looks like to SQLite's own language of queries makes no difference.
    assert all((score > 0) == bool(set(query) & set(words)) for score, words in zip(scores, texts, strict=True))


async def test_words_are_compared_where_embeddings_cannot_be_had(tmp_path):
    said = []
    settings = KnowledgeSettings(model=tmp_path / "no-model", python=sys.executable)
    async with open_similarity(settings, None, said.append) as similarity:
        scores = [await similarity.scores("birds", ["birds sing", "masks"]) for _ in range(2)]
    assert scores[0] == scores[1] == await WordSimilarity().scores("birds", ["birds sing", "masks"])
    assert len(said) == 1
    assert "no such folder" in said[0]


async def test_the_pulled_model_is_used_and_words_where_its_interpreter_is_missing(tmp_path):
    said = []
    settings = KnowledgeSettings(python=tmp_path / "no-python")
    (tmp_path / "all-minilm-l6-v2").mkdir()
    async with open_similarity(settings, tmp_path, said.append) as similarity:
        assert (await similarity.scores("birds", ["birds sing"]))[0] > 0
    assert said


LIBRARY = '''
"""Stands in for the library: a text's vector counts its letters a and b, at length 1."""
import math, os

class Vector(tuple):
    def __matmul__(self, other):
        return sum(x * y for x, y in zip(self, other))

class SentenceTransformer:
    def __init__(self, folder, device, local_files_only):
        assert device == "cpu" and local_files_only and os.environ["HF_HUB_OFFLINE"] == "1"
        assert "OPENAI_API_KEY" not in os.environ
        print("loading", folder)

    def encode(self, texts, normalize_embeddings, show_progress_bar):
        if "die" in texts:
            os._exit(1)
        if "fail" in texts:
            raise RuntimeError("out of memory")
        vectors = [(text.count("a"), text.count("b"), 1e-9) for text in texts]
        return [Vector(x / math.hypot(*vector) for x in vector) for vector in vectors]
'''


@pytest.fixture
def similarity(tmp_path, monkeypatch):
    """A similarity whose process finds the stand-in library beside the model."""
    (tmp_path / "sentence_transformers.py").write_text(LIBRARY)
    starter = tmp_path / "python"
    starter.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    starter.chmod(0o755)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    return EmbeddingSimilarity(tmp_path, starter)


async def test_cosines_come_in_the_order_of_texts_whatever_the_library_prints(similarity):
    async with aclosing(similarity):
        assert await similarity.scores("aa", ["a", "b", "ab"]) == pytest.approx([1.0, 0.0, 0.5**0.5], abs=1e-6)
        assert await similarity.scores("b", []) == []
        assert await similarity.scores("b", ["b"]) == pytest.approx([1.0])


async def test_a_failure_is_named_and_a_process_that_died_is_started_again(similarity):
    async with aclosing(similarity):
        with pytest.raises(InfrastructureFailure, match="out of memory"):
            await similarity.scores("a", ["fail"])
        with pytest.raises(InfrastructureFailure, match="embeddings are unavailable"):
            await similarity.scores("a", ["die"])
        assert await similarity.scores("a", ["a"]) == pytest.approx([1.0])


@pytest.mark.integration
async def test_a_real_model_finds_what_shares_no_word():
    """Where a machine has PyTorch and a model, which are too large for every CI run."""
    model = os.environ.get("BOT_EMBEDDINGS_MODEL") or pytest.skip("BOT_EMBEDDINGS_MODEL names no model's folder")
    python = os.environ.get("BOT_EMBEDDINGS_PYTHON")
    async with aclosing(EmbeddingSimilarity(Path(model), Path(python) if python else None)) as similarity:
        near, far = await similarity.scores("recognise the songs of birds", ["avian vocalisations", "mortgage rates"])
    assert near > far
