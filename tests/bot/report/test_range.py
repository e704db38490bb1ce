"""Which part of an axis is shown."""

import math

from hypothesis import given
from hypothesis import strategies as st

from bot.report.range import axis_range

scores = st.floats(-1e6, 1e6, allow_subnormal=False)


def test_absurd_scores_at_both_ends_are_cut_off():
    board = [0.4 + i / 1000 for i in range(100)]
    shown = axis_range([*board, 35.0, 1e9, -1e9])
    assert 0.3 < shown.low < 0.4
    assert 0.5 < shown.high < 0.6


def test_what_is_wanted_widens_the_range_only_if_it_is_near():
    board = [0.4 + i / 1000 for i in range(100)]
    assert axis_range(board, [0.36]).holds(0.36)
    assert not axis_range(board, [5.0]).holds(5.0)
    assert axis_range(board, [5.0]) == axis_range(board)


def test_a_board_of_equal_scores_still_has_a_range():
    shown = axis_range([1.0] * 50, [1.0, 0.999])
    assert shown.low < 0.999
    assert shown.high > 1.0


@given(st.lists(scores, min_size=1, max_size=40), st.lists(scores, max_size=4))
def test_a_range_is_finite_and_holds_the_middle_of_the_values(values: list[float], wanted: list[float]):
    shown = axis_range(values, wanted)
    assert math.isfinite(shown.low)
    assert shown.low < shown.high
    assert shown.holds(sorted(values)[len(values) // 2])
    assert all(shown.holds(shown.clamp(value)) for value in values)
