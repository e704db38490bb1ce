"""Embeddings: a process answers with cosines; the real one where the library and a model are at hand."""

import os
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from bot.knowledge.embeddings import EmbeddingSimilarity
from state.errors import InfrastructureFailure

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
        with pytest.raises(InfrastructureFailure, match="cannot be had"):
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
