import math

import pytest

from tests.bot.evaluation.metrics.parts import score


def test_a_point_must_lie_within_a_box_of_its_label():
    truth = ["u 0 0 10 10 v 20 20 10 10"]
    assert score("points_in_boxes_f1", truth, ["u 5 5 v 25 25"]) == 1.0
    assert score("points_in_boxes_f1", truth, ["v 5 5 v 25 25"]) == pytest.approx(2 * 1 / 4)
    assert score("points_in_boxes_f1", truth, ["u 10 5"]) == 0.0  # upon the edge
    assert score("points_in_boxes_f1", truth, [""]) == 0.0


def test_a_point_serves_one_box_and_a_box_one_point():
    truth = ["u 0 0 10 10 u 5 5 10 10"]
    assert score("points_in_boxes_f1", truth, ["u 7 7"]) == pytest.approx(2 * 1 / 3)
    assert score("points_in_boxes_f1", truth, ["u 7 7 u 8 8 u 9 9"]) == pytest.approx(2 * 2 / 5)


def test_counts_are_pooled_over_the_pages():
    truth, predicted = ["u 0 0 2 2 u 4 4 2 2", "v 0 0 2 2"], ["u 1 1", "v 1 1 v 9 9"]
    assert score("points_in_boxes_f1", truth, predicted) == pytest.approx(2 * 2 / (3 + 3))


@pytest.mark.parametrize("said", ["u 1", "u 1 one", "u nan 1", "u 1 1 v"])
def test_what_is_no_list_of_points_has_no_score(said):
    assert math.isnan(score("points_in_boxes_f1", ["u 0 0 2 2"], [said]))


def test_nothing_at_all_is_undefined():
    assert math.isnan(score("points_in_boxes_f1", ["", ""], ["", ""]))
