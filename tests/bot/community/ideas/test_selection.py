"""What a draft is made of, which ideas are repeated, and what an experiment uses."""

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.community.ideas.pool import Situation, select, value
from bot.community.ideas.similarity import Repetitions, repetitions
from bot.community.ideas.uses import Uses, added, credited, ideas_named, uses
from bot.knowledge.embeddings import EmbeddingSimilarity, open_similarity
from bot.knowledge.settings import KnowledgeSettings
from bot.knowledge.similarity import WordSimilarity
from tests.bot.agents.builtin.parts import idea
from tests.bot.knowledge.test_similarity import similarity as by_letters

__all__ = ["by_letters"]


HERE = Situation(gpus=0, weights=False, late=False)

WORDS = ("naive Bayes of words", "boosting of lengths", "ridge on pixels", "kernel ridge of shapes", "forest of dates")


def test_what_was_measured_in_vain_is_never_selected_and_what_was_used_comes_after_its_equals() -> None:
    pool = [replace(idea(1, "forest", 9.0), has_no_gain=True), idea(2, "ridge", used=1), idea(3, "boosting")]
    assert select(pool, 1, HERE) == ((3, 2),)


def test_what_the_machine_cannot_carry_out_comes_last() -> None:
    bert, ridge = idea(1, "Fine-tune BERT for three epochs", 9.0), idea(2, "Ridge on counts", 5.0)
    assert value(bert, HERE) < value(ridge, HERE)
    assert value(bert, replace(HERE, gpus=1)) > value(ridge, HERE)
    fetched = idea(3, "Average pretrained word vectors", 9.0)
    assert value(fetched, HERE) < value(ridge, HERE) < value(fetched, replace(HERE, weights=True))


def test_a_family_that_the_blend_lacks_goes_before_one_that_it_has() -> None:
    now = replace(HERE, blended=frozenset({"naive Bayes"}))
    bayes, forest = idea(1, "Naive Bayes on words"), idea(2, "Random forest on counts")
    assert value(forest, now) > value(bayes, now) == value(bayes, HERE)


def test_late_in_a_run_what_is_feasible_weighs_more() -> None:
    bold, sure = replace(idea(1, "bold", 7.0), feasibility=3.0), replace(idea(2, "sure", 5.0), feasibility=9.0)
    assert value(bold, replace(HERE, late=True)) / value(sure, replace(HERE, late=True)) < value(bold, HERE) / value(
        sure, HERE
    )


def test_siblings_get_different_ideas_and_different_paths() -> None:
    pool = [replace(idea(n, text, 9.0 - n / 10), path="text" if n < 3 else "other") for n, text in enumerate(WORDS)]
    first, second = select(pool, 2, HERE, ideas_per_draft=1)
    assert (first, second) == ((0,), (3,))


def test_a_repetition_in_other_words_is_worth_little_in_the_same_draft_too() -> None:
    pool = [
        idea(1, "boosting of sentence lengths", 9.0),
        idea(2, "boosting of the sentence length", 8.9),
        idea(3, "ridge", 5.0),
    ]
    assert select(pool, 1, HERE, ideas_per_draft=2) == ((1, 3),)


@given(supports=st.lists(st.floats(0.1, 10.0), max_size=8), drafts=st.integers(0, 4), each=st.integers(1, 4))
def test_every_draft_gets_distinct_ideas_of_the_pool_as_many_as_there_are(supports, drafts, each) -> None:
    pool = [idea(n, f"{WORDS[n % 5]} number {n}", support) for n, support in enumerate(supports)]
    chosen = select(pool, drafts, HERE, each)
    assert len(chosen) == drafts
    assert all(len(set(one)) == len(one) == min(each, len(pool)) for one in chosen)
    assert chosen == select(pool, drafts, HERE, each)


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
    missing, said = KnowledgeSettings(model=tmp_path / "no-model"), list[str]()
    async with open_similarity(missing, None, said.append) as failing:
        assert failing.of_meaning
        for similarity in (WordSimilarity(), failing):
            found = await repetitions(similarity, list(pool.values()), [text])
            assert found.original(text, pool) == 1
        assert not failing.of_meaning
    assert len(said) == 1


IDEAS = {
    1: "TF-IDF of character n-grams (1 to 5) with logistic regression, C 10: 0.31 instead of 0.36 by word counts.",
    2: "Target encoding of the category out of fold, with a smoothing of 20, rather than one-hot columns.",
    3: "Predict the log of the target, as the metric is RMSLE.",
    4: "Gradient boosting on lags of the count.",
    5: "Random forest on colour histograms with 32 bins.",
    6: "Sort the answers by their length.",
    7: "CatBoost",
}

CODES = {
    1: "v = TfidfVectorizer(analyzer='char', ngram_range=(1, 5))\nLogisticRegression(C=10).fit(v.fit_transform(X), y)",
    2: "enc = TargetEncoder(smooth=20).fit_transform(X, y)",
    3: "y = np.log1p(train.sales)\np = np.expm1(model.predict(X))",
    4: "import lightgbm as lgb\nd['before'] = d['count'].shift(1)\nlgb.train({}, d)",
    5: "colour_histogram = np.histogram(image, bins=32)\nRandomForestClassifier().fit(colour_histogram, y)",
    7: "from catboost import CatBoostRegressor\nCatBoostRegressor().fit(X, y)",
}


@pytest.mark.parametrize("number", CODES)
def test_an_idea_is_seen_in_code_that_carries_it_out_and_in_no_other(number: int) -> None:
    assert uses({"fit.py": CODES[number]}, "v2", IDEAS).seen_ideas == {number}
    commented = "\n".join(f"# {line}" for line in CODES[number].splitlines())
    assert not uses({"fit.py": commented, "notes.txt": CODES[number]}, "v2", IDEAS).seen_ideas


def test_another_forest_is_another_idea() -> None:
    assert uses({"fit.py": "RandomForestClassifier().fit(tokens, y)"}, "", IDEAS).ideas == frozenset()


def test_several_files_are_one_experiment() -> None:
    found = uses({"features.py": CODES[2], "fit.py": CODES[7]}, "", IDEAS)
    assert (found.families, found.ideas) == (("catboost",), {2, 7})


def test_an_idea_that_is_named_by_number_counts_whatever_it_says_and_the_note_goes_before_comments() -> None:
    assert uses({}, "idea6-sorted: by length", IDEAS).named_ideas == {6}
    assert uses({"fit.py": "# Idea 6 and idea 2\nx = 1"}, "sorted", IDEAS).named_ideas == {2, 6}
    assert uses({"fit.py": "# idea 2\nx = 1"}, "idea 6", IDEAS).named_ideas == {6}
    assert uses({}, "idea 99", IDEAS).ideas == frozenset(), "the pool has none of this number"
    assert uses({"fit.py": CODES[2]}, "without idea 2", IDEAS).ideas == frozenset()


@given(st.lists(st.integers(1, 999), min_size=1, max_size=4), st.sampled_from([", ", " and ", " + ", ", idea "]))
def test_lists_of_numbers_are_read_whole(numbers: list[int], between: str) -> None:
    assert ideas_named(f"v3: ideas {between.join(map(str, numbers))}, 0.5 better") >= set(numbers)


def test_a_gain_is_credited_to_the_one_idea_that_differs_or_that_the_coder_names() -> None:
    none, one = (Uses((), frozenset(), frozenset(seen)) for seen in ((), {1}))
    two = Uses((), frozenset(), frozenset({1, 2}))
    assert (credited(one, none), credited(two, one), credited(two, none)) == (1, 2, None)
    assert (added(two, one), added(two, None)) == ({2}, {1, 2})
    said = Uses((), frozenset({5}), frozenset({1, 2}))
    assert (credited(said, none), credited(said, None), credited(two, None)) == (5, 5, None)
