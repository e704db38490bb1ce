"""Charts: which part of an axis is shown, and where values are drawn."""

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.report.charts import Axis, Chart, Series, score_axis, time_axis

scores = st.floats(-1e6, 1e6, allow_subnormal=False)


def test_absurd_scores_at_both_ends_are_cut_off():
    board = [0.4 + i / 1000 for i in range(100)]
    shown = score_axis([*board, 35.0, 1e9, -1e9])
    assert 0.3 < shown.low < 0.4
    assert 0.5 < shown.high < 0.6


def test_what_is_wanted_widens_the_range_only_if_it_is_near():
    board = [0.4 + i / 1000 for i in range(100)]
    assert score_axis(board, [0.36]).holds(0.36)
    assert not score_axis(board, [5.0]).holds(5.0)
    assert score_axis(board, [5.0]) == score_axis(board)


def test_a_board_of_equal_scores_still_has_a_range():
    shown = score_axis([1.0] * 50, [1.0, 0.999])
    assert shown.low < 0.999
    assert shown.high > 1.0


@given(st.lists(scores, min_size=1, max_size=40), st.lists(scores, max_size=4))
def test_a_range_is_finite_and_holds_the_middle_of_the_values(values: list[float], wanted: list[float]):
    shown = score_axis(values, wanted)
    assert math.isfinite(shown.low)
    assert shown.low < shown.high
    assert shown.holds(sorted(values)[len(values) // 2])
    assert all(0.0 <= shown.place(value, 0.0, 100.0) <= 100.0 for value in values)
    assert all(shown.holds(value) or shown.place(value, 0.0, 100.0) in (0.0, 100.0) for value in values)


def test_ticks_stand_at_round_values_of_the_unit_that_fits():
    assert [text for _, text in time_axis(5 * 3600.0).ticks(6)] == ["0", "1", "2", "3", "4", "5"]
    assert time_axis(90.0).label == "seconds since the start"
    assert [text for _, text in replace(score_axis([1.0, 3.0]), least_step=1.0).ticks(7)] == ["1", "2", "3"]


def test_better_is_up_and_what_lies_beyond_an_axis_is_drawn_at_its_end():
    y_axis = Axis(0.0, 1.0, falling=True)
    chart = Chart("scores", time_axis(10.0), y_axis, ())
    (_, best), (_, worst), (_, beyond) = (chart.place((5.0, score)) for score in (0.0, 1.0, 9.0))
    assert best < worst == beyond == chart.edges[3]


def test_steps_keep_the_last_of_several_changes_within_a_unit_of_the_drawing():
    steps = Series("best", "good", [(0.0, 0.1), (50.0, 0.2), (50.01, 0.3), (100.0, 0.3)], "steps")
    assert Chart("scores", Axis(0.0, 100.0), Axis(0.0, 1.0), [steps]).path(steps).count("H") == 2
