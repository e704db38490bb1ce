import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evaluation.metrics.edit_distance import distance
from tests.bot.evaluation.metrics.parts import score


def by_table(left, right):
    """The table of Wagner and Fischer, cell by cell."""
    above = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("kitten", "sitting", 3),
        ("saturday", "sunday", 3),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abc", "abc", 0),
        ("flaw", "lawn", 2),
        ("aa", "a", 1),
        ("the cat sat", "the sat", 4),
    ],
)
def test_distances_that_everybody_knows(left, right, expected):
    assert distance(left, right) == expected


@given(st.text("abc", max_size=80), st.text("abc", max_size=80))
def test_it_is_that_of_the_table(left, right):
    assert distance(left, right) == by_table(left, right)


@given(st.lists(st.integers(1, 4), max_size=12), st.lists(st.integers(1, 4), max_size=12))
def test_it_takes_sequences_of_anything(left, right):
    assert distance(left, right) == by_table(left, right) == distance(right, left)


@given(st.text("ab", max_size=9), st.text("ab", max_size=9), st.text("ab", max_size=9))
def test_the_way_round_is_never_shorter(one, two, three):
    assert distance(one, three) <= distance(one, two) + distance(two, three)


RNG = np.random.default_rng(17)


def test_word_jaccard_by_hand():
    assert score("word_jaccard", ["so very good"], ["very GOOD day"]) == pytest.approx(2 / 4)
    assert score("word_jaccard", ["good good", "a"], ["good", "b"]) == pytest.approx((1 + 0) / 2)
    assert score("word_jaccard", ["", "a"], ["", ""]) == 0.5


def test_word_jaccard_is_the_pages_own_formula():
    def page(one, two):
        a, b = set(one.lower().split()), set(two.lower().split())
        c = a.intersection(b)
        return len(c) / (len(a) + len(b) - len(c))

    sides = [[" ".join(RNG.choice(list("abcdE"), 4)) for _ in range(30)] for _ in range(2)]
    assert score("word_jaccard", *sides) == pytest.approx(np.mean([page(*pair) for pair in zip(*sides, strict=True)]))


def test_levenshtein_is_the_mean_in_characters():
    assert score("levenshtein", ["kitten", "same"], ["sitting", "same"]) == 1.5
    assert score("levenshtein", ["He went home ."], ["He home ."]) == 5


def test_levenshtein_ratio_counts_words_over_all_rows():
    truth, predicted = ["2 14 20 6", "7"], ["2 20 6 6", "8 9"]
    assert score("levenshtein_ratio", truth, predicted) == pytest.approx((2 + 2) / 5)
    assert score("levenshtein_ratio", ["1"], ["1 2 3"]) == 2.0
    assert math.isnan(score("levenshtein_ratio", [""], ["1"]))


def test_kendall_tau_by_hand():
    assert score("kendall_tau", ["a b c"], ["c b a"]) == -1.0
    assert score("kendall_tau", ["a b c"], ["a c b"]) == pytest.approx(1 - 4 * 1 / 6)
    assert score("kendall_tau", ["a b c", "a b"], ["a b c", "b a"]) == pytest.approx(1 - 4 * 1 / 8)


def test_kendall_tau_pools_pairs_that_stand_the_wrong_way_round():
    truth = [list(RNG.permutation(n).astype(str)) for n in (2, 5, 9, 30)]
    predicted = [list(RNG.permutation(row)) for row in truth]
    wrong = sum(
        (row.index(a) < row.index(b)) != (other.index(a) < other.index(b))
        for row, other in zip(truth, predicted, strict=True)
        for a, b in combinations(row, 2)
    )
    pairs = sum(math.comb(len(row), 2) for row in truth)
    joined = [[" ".join(row) for row in side] for side in (truth, predicted)]
    assert score("kendall_tau", *joined) == pytest.approx(1 - 2 * wrong / pairs)


def test_kendall_tau_of_one_order_is_scipys():
    from scipy.stats import kendalltau

    order = RNG.permutation(12)
    truth, predicted = " ".join(map(str, range(12))), " ".join(map(str, order))
    assert score("kendall_tau", [truth], [predicted]) == pytest.approx(kendalltau(range(12), order).statistic)


@pytest.mark.parametrize("predicted", ["a b", "a b b", "a b d", "a b c d", "a b c c"])
def test_an_order_of_other_things_has_no_score(predicted):
    assert math.isnan(score("kendall_tau", ["a b c"], [predicted]))
