import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evaluation.metrics.edit_distance import distance


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
