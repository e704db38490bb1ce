import math

import numpy as np
import pytest

from bot.evaluation.directions import METRIC_DIRECTIONS
from bot.evaluation.metrics import METRICS, metric_named
from state.errors import UsageError


def score(name, truth, predicted, **params):
    def as_columns(values):
        return np.array(values).reshape(len(values), -1)

    return METRICS[name].score(as_columns(truth), as_columns(predicted), params)


def test_every_metric_has_the_direction_that_the_loop_reads():
    assert {name: metric.direction for name, metric in METRICS.items()} == METRIC_DIRECTIONS


def test_an_unknown_metric_is_named():
    with pytest.raises(UsageError, match="'f1' is not known"):
        metric_named("f1")


def test_log_loss_normalises_rows_before_it_clips():
    truth = [[1, 0, 0], [0, 1, 0]]
    predicted = [[2.0, 1.0, 1.0], [0.2, 0.6, 0.0]]
    assert score("log_loss", truth, predicted) == pytest.approx(-(math.log(0.5) + math.log(0.75)) / 2)


def test_log_loss_without_normalisation_takes_probabilities_as_they_are():
    assert score("log_loss", [[1, 0]], [[0.2, 0.6]], normalize=False) == pytest.approx(-math.log(0.2))


def test_log_loss_of_a_sure_error_is_bounded_by_eps():
    assert score("log_loss", [[1, 0]], [[0, 1]]) == pytest.approx(-math.log(1e-15))
    assert score("log_loss", [[1, 0]], [[0, 1]], eps=1e-3) == pytest.approx(-math.log(1e-3))
    assert score("log_loss", [[1, 0]], [[0, 0]]) == pytest.approx(-math.log(1e-15))


def test_log_loss_of_one_column_is_binary():
    assert score("log_loss", [1, 0], [0.9, 0.2]) == pytest.approx(-(math.log(0.9) + math.log(0.8)) / 2)


def test_log_loss_agrees_with_scikit_learn_on_sound_probabilities():
    from sklearn.metrics import log_loss

    chance = np.random.default_rng(0).dirichlet([1, 1, 1], size=50)
    labels = np.arange(50) % 3
    assert score("log_loss", np.eye(3)[labels], chance) == pytest.approx(log_loss(labels, chance))


def test_squared_and_absolute_errors_by_hand():
    assert score("rmse", [1, 2, 3], [1, 2, 5]) == pytest.approx(math.sqrt(4 / 3))
    assert score("mae", [1, 2, 3], [1, 2, 5]) == pytest.approx(2 / 3)


def test_rmsle_by_hand():
    expected = math.sqrt((math.log(4 / 2) ** 2 + math.log(10 / 5) ** 2) / 2)
    assert score("rmsle", [3, 9], [1, 4]) == pytest.approx(expected)


def test_mean_columnwise_rmsle_is_the_mean_of_roots_and_not_the_root_of_means():
    truth, predicted = [[0, 0], [0, 0]], [[0, math.e - 1], [0, math.e - 1]]
    assert score("mean_columnwise_rmsle", truth, predicted) == pytest.approx(0.5)
    assert score("rmsle", truth, predicted) == pytest.approx(math.sqrt(0.5))


def test_roc_auc_counts_pairs_with_ties_as_half():
    assert score("roc_auc", [0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]) == pytest.approx((1 + 1 + 0.5 + 1) / 4)


def test_roc_auc_of_several_columns_is_their_mean():
    truth = [[0, 1], [1, 0]]
    assert score("roc_auc", truth, [[0.1, 0.9], [0.8, 0.2]]) == 1.0
    assert score("roc_auc", truth, [[0.1, 0.1], [0.8, 0.2]]) == 0.5


def test_roc_auc_is_undefined_where_truth_has_one_class():
    assert math.isnan(score("roc_auc", [1, 1], [0.1, 0.2]))


def test_accuracy_compares_numbers_as_numbers_and_text_as_text():
    truth = np.array([["1"], ["2"], ["cat"], ["True"]], dtype=object)
    predicted = np.array([["1.0"], ["3"], [" cat"], ["False"]], dtype=object)
    assert METRICS["accuracy"].score(truth, predicted, {}) == 0.5
