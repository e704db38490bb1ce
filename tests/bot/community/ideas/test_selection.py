"""What a draft is made of: what promises most here and now, and not what its siblings hold."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.community.ideas.pool import Situation, select, value
from tests.bot.agents.builtin.parts import idea

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
