import math

import numpy as np
import pytest

from tests.bot.evaluation.metrics.parts import score

RNG = np.random.default_rng(3)
TRUTH, PREDICTED = RNG.uniform(0.5, 9, (30, 2)), RNG.uniform(0.5, 9, (30, 2))
CELLS = list(zip(TRUTH.ravel().tolist(), PREDICTED.ravel().tolist(), strict=True))


def test_squared_and_absolute_errors_by_hand():
    assert score("rmse", [1, 2, 3], [1, 2, 5]) == pytest.approx(math.sqrt(4 / 3))
    assert score("mse", [1, 2, 3], [1, 2, 5]) == pytest.approx(4 / 3)
    assert score("mae", [1, 2, 3], [1, 2, 5]) == pytest.approx(2 / 3)
    assert score("median_absolute_error", [1, 2, 3], [1, 3, 9]) == 1.0


def test_rmsle_by_hand():
    expected = math.sqrt((math.log(4 / 2) ** 2 + math.log(10 / 5) ** 2) / 2)
    assert score("rmsle", [3, 9], [1, 4]) == pytest.approx(expected)
    assert score("msle", [3, 9], [1, 4]) == pytest.approx(expected**2)


def test_a_mean_over_columns_is_the_mean_of_roots_and_not_the_root_of_means():
    truth, predicted = [[0, 0], [0, 0]], [[0, math.e - 1], [0, math.e - 1]]
    assert score("mean_columnwise_rmsle", truth, predicted) == pytest.approx(0.5)
    assert score("rmsle", truth, predicted) == pytest.approx(math.sqrt(0.5))
    assert score("mean_columnwise_rmse", [[0, 0], [0, 0]], [[3, 1], [3, 1]]) == pytest.approx(2.0)
    assert score("rmse", [[0, 0], [0, 0]], [[3, 1], [3, 1]]) == pytest.approx(math.sqrt(5))


def test_columns_that_do_not_count_may_hold_anything():
    assert score("mean_columnwise_rmse", [[0, 0, 0]], [[3, 1, 1e9]], columns=[0, 1]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("name", "term", "finish"),
    [
        ("mape", lambda t, p: abs(t - p) / t, lambda mean: mean),
        ("smape", lambda t, p: 200 * abs(t - p) / (t + p), lambda mean: mean),
        ("rmspe", lambda t, p: ((t - p) / t) ** 2, math.sqrt),
    ],
)
def test_relative_errors_are_means_of_their_terms(name, term, finish):
    expected = finish(sum(term(t, p) for t, p in CELLS) / len(CELLS))
    assert score(name, TRUTH, PREDICTED) == pytest.approx(expected)


def test_smape_of_two_zeros_is_zero_and_of_one_zero_the_largest():
    assert score("smape", [0, 0], [0, 5]) == pytest.approx(100.0)
    assert score("smape", [0], [-3]) == pytest.approx(200.0)
    assert score("smape", [0], [-3], scale=1) == pytest.approx(2.0)


def test_rmspe_leaves_out_rows_without_sales():
    assert score("rmspe", [0, 2], [7, 1]) == pytest.approx(0.5)
    assert math.isnan(score("rmspe", [0, 0], [1, 2]))


def test_mape_of_a_truth_of_zero_is_enormous_but_a_number():
    assert 1e14 < score("mape", [0, 1], [1, 1]) < 1e17


def test_pinball_loss_charges_each_side_and_each_column_by_its_quantile():
    assert score("pinball_loss", [10], [8], quantiles=[0.9]) == pytest.approx(1.8)
    assert score("pinball_loss", [8], [10], quantiles=[0.9]) == pytest.approx(0.2)
    both = score("pinball_loss", [[10, 10]], [[8, 12]], quantiles=[0.1, 0.9])
    assert both == pytest.approx((0.1 * 2 + 0.1 * 2) / 2)


def test_pinball_loss_is_scikit_learns():
    from sklearn.metrics import mean_pinball_loss

    for alpha in (0.05, 0.5, 0.8):
        expected = mean_pinball_loss(TRUTH[:, 0], PREDICTED[:, 0], alpha=alpha)
        assert score("pinball_loss", TRUTH[:, :1], PREDICTED[:, :1], quantiles=[alpha]) == pytest.approx(expected)
