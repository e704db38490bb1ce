"""Repeated ideas: found by embeddings where a model for them is at hand, by words elsewhere."""

from contextlib import aclosing
from pathlib import Path

from bot.community.ideas.similarity import Repetitions, repetitions
from bot.knowledge.embeddings import EmbeddingSimilarity, open_similarity
from bot.knowledge.settings import KnowledgeSettings
from bot.knowledge.similarity import WordSimilarity
from tests.bot.knowledge.test_embeddings import similarity as by_letters

__all__ = ["by_letters"]

POOL = {4: "aab", 7: "bbb"}
"""To the model that stands in, a text's meaning is how often it has the letters a and b."""


async def test_embeddings_find_a_repetition_that_shares_no_word(by_letters: EmbeddingSimilarity) -> None:
    async with aclosing(by_letters):
        found = await repetitions(by_letters, list(POOL.values()), ["baa", "b b"])
    assert [found.original(text, POOL) for text in ("baa", "b b")] == [4, 7]
    assert Repetitions().original("baa", POOL) is None, "no word is the same"


async def test_what_came_into_the_pool_meanwhile_is_not_taken_for_the_same(by_letters: EmbeddingSimilarity) -> None:
    async with aclosing(by_letters):
        found = await repetitions(by_letters, ["bbb"], ["baa"])
    assert found.original("baa", {7: "bbb", 8: "aab"}) is None


async def test_ideas_of_one_answer_are_compared_with_each_other(by_letters: EmbeddingSimilarity) -> None:
    async with aclosing(by_letters):
        found = await repetitions(by_letters, [], ["aab", "baa"])
    assert found.original("aab", {}) is None
    assert found.original("baa", {1: "aab"}) == 1


async def test_words_are_compared_where_there_are_no_embeddings_or_they_fail(tmp_path: Path) -> None:
    pool, text = {1: "naive Bayes on word counts", 2: "boosted trees"}, "Naive Bayes on the counts of words"
    missing, said = KnowledgeSettings(backend="embeddings", model=tmp_path / "no-model"), list[str]()
    async with open_similarity(missing, said.append) as failing:
        assert failing.of_meaning
        for similarity in (WordSimilarity(), failing):
            found = await repetitions(similarity, list(pool.values()), [text])
            assert found.original(text, pool) == 1
        assert not failing.of_meaning
    assert len(said) == 1
