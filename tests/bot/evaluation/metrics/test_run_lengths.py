import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evaluation.metrics.masks import overlap, read_mask

RUNS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), max_size=8)


def text_of(runs):
    return " ".join(f"{start} {length}" for start, length in runs)


def pixels_of(runs):
    return {pixel for start, length in runs for pixel in range(start, start + length)}


def test_the_example_of_kaggles_pages():
    # "'1 3 10 5' implies pixels 1,2,3,10,11,12,13,14 are to be included in the mask"
    mask = read_mask("1 3 10 5")
    assert mask is not None
    assert mask.begins.tolist() == [1, 10]
    assert mask.run_ends.tolist() == [4, 15]
    assert mask.size == len({1, 2, 3, 10, 11, 12, 13, 14})


@given(RUNS, RUNS)
def test_sizes_and_overlaps_are_those_of_sets_of_pixels(left, right):
    masks = read_mask(text_of(left)), read_mask(text_of(right))
    assert masks[0] is not None
    assert masks[1] is not None
    assert masks[0].size == len(pixels_of(left))
    assert overlap(*masks) == overlap(*masks[::-1]) == len(pixels_of(left) & pixels_of(right))


@pytest.mark.parametrize("text", ["", " ", "-", "5 0"])
def test_nothing_is_an_empty_mask(text):
    mask = read_mask(text)
    assert mask is not None
    assert mask.size == 0


@pytest.mark.parametrize("text", ["1", "1 2 3", "a b", "1 -2", "-1 2", "1.5 2", "1 99999999999999999999", "[1 2]"])
def test_what_is_no_run_lengths_is_none(text):
    assert read_mask(text) is None
