"""Similarity by words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.knowledge.similarity import word_similarities

WORDS = st.lists(
    st.sampled_from(
        ["target", "encoding", "folds", "birds", "sing", "trees", "masks", "of", "the", "and", "NEAR", "OR"]
    ),
    max_size=8,
)


async def test_a_text_is_most_like_itself_and_unlike_one_without_a_common_word():
    texts = ["target encoding of categories", "encoding of images", "birds sing"]
    whole, part, nothing = await word_similarities("target encoding of categories", texts)
    assert whole > 0.9
    assert whole > part > 0
    assert nothing == 0


async def test_forms_of_a_word_are_the_same_word():
    assert (await word_similarities("encodings", ["an encoding", "folds"]))[0] > 0


@pytest.mark.integration
@given(query=WORDS, texts=st.lists(WORDS, max_size=6))
async def test_scores_lie_between_0_and_1_and_keep_the_order_of_texts(query, texts):
    asked, given_ = " ".join(query), [" ".join(words) for words in texts]
    scores = await word_similarities(asked, given_)
    assert len(scores) == len(texts)
    assert all(0 <= score <= 1 for score in scores)
    # What the query looks like to SQLite's own language of queries makes no difference.
    assert all((score > 0) == bool(set(query) & set(words)) for score, words in zip(scores, texts, strict=True))
