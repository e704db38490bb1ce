import math

import numpy as np
import pytest

from tests.bot.evaluation.metrics.parts import score

RNG = np.random.default_rng(5)
TRUTH = RNG.normal(size=(40, 2)).round(1)
PREDICTED = (TRUTH + RNG.normal(size=(40, 2))).round(1)


def test_r2_by_hand_and_as_scikit_learns():
    from sklearn.metrics import r2_score

    assert score("r2", [1, 2, 3], [1, 2, 5]) == pytest.approx(1 - 4 / 2)
    assert score("r2", TRUTH, PREDICTED) == pytest.approx(r2_score(TRUTH, PREDICTED))


def test_r2_of_the_mean_is_zero_and_of_a_constant_truth_undefined():
    assert score("r2", [1, 2, 3], [2, 2, 2]) == pytest.approx(0.0)
    assert math.isnan(score("r2", [2, 2, 2], [1, 2, 3]))
    assert math.isnan(score("r2", [2], [2]))


def test_correlations_are_scipys():
    from scipy.stats import pearsonr, spearmanr

    for name, function in (("pearson", pearsonr), ("spearman", spearmanr)):
        expected = np.mean([function(TRUTH[:, column], PREDICTED[:, column])[0] for column in range(2)])
        assert score(name, TRUTH, PREDICTED) == pytest.approx(expected)


def test_pearson_wants_a_line_and_spearman_an_order():
    truth, bent = [1, 2, 3, 4], [1, 8, 27, 64]
    assert score("spearman", truth, bent) == pytest.approx(1.0)
    assert 0.9 < score("pearson", truth, bent) < 1.0
    assert score("pearson", truth, [9, 7, 5, 3]) == pytest.approx(-1.0)


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_a_correlation_with_a_constant_is_undefined(name):
    assert math.isnan(score(name, [1, 2, 3], [4, 4, 4]))
    assert math.isnan(score(name, [4, 4, 4], [1, 2, 3]))
    assert math.isnan(score(name, [[1, 1], [2, 2]], [[1, 4], [2, 4]]))


def kaggles_gini(truth, predicted):
    """The implementation that many notebooks share: cumulative shares in descending order of the prediction."""
    order = sorted(range(len(truth)), key=lambda row: -predicted[row])
    total, reached, area = sum(truth), 0.0, 0.0
    for row in order:
        reached += truth[row] / total
        area += reached
    return (area - (len(truth) + 1) / 2) / len(truth)


def test_gini_is_the_area_of_cumulative_shares_by_that_of_a_perfect_order():
    truth, predicted = RNG.uniform(0, 5, 30).tolist(), RNG.permutation(30).astype(float).tolist()
    expected = kaggles_gini(truth, predicted) / kaggles_gini(truth, truth)
    assert score("gini", truth, predicted) == pytest.approx(expected)


def test_gini_of_two_classes_is_twice_the_auc_less_one():
    truth, predicted = (RNG.random(50) < 0.3).astype(int), RNG.random(50).round(1)
    assert score("gini", truth, predicted) == pytest.approx(2 * score("roc_auc", truth, predicted) - 1)
    assert math.isnan(score("gini", [1, 1], [0.2, 0.4]))


def test_laplace_likelihood_by_hand_with_both_clips():
    truth, predicted = [[2000, 0], [3000, 0]], [[2100, 200], [5000, 1]]
    first = -math.sqrt(2) * 100 / 200 - math.log(math.sqrt(2) * 200)
    second = -math.sqrt(2) * 1000 / 70 - math.log(math.sqrt(2) * 70)
    assert score("laplace_log_likelihood", truth, predicted) == pytest.approx((first + second) / 2)
    # What the competition's discussions name as the best that can be reached.
    assert score("laplace_log_likelihood", [[1, 0]], [[1, 70]]) == pytest.approx(-4.5952, abs=1e-4)


def test_laplace_likelihood_takes_its_clips_and_wants_two_columns():
    assert score("laplace_log_likelihood", [[0, 0]], [[5, 1]], clip=1, most=2) == pytest.approx(
        -math.sqrt(2) * 2 - math.log(math.sqrt(2))
    )
    assert math.isnan(score("laplace_log_likelihood", [[1]], [[1]]))
    assert math.isnan(score("laplace_log_likelihood", [[1, 0]], [[1, 0]], clip=0))


def test_angles_between_directions_by_hand():
    up, down, east, north = [0, 0], [0, math.pi], [0, math.pi / 2], [math.pi / 2, math.pi / 2]
    assert score("mean_angular_error", [up], [down]) == pytest.approx(math.pi)
    assert score("mean_angular_error", [up, east], [east, north]) == pytest.approx(math.pi / 2)
    # At a pole the azimuth means nothing, and a full turn changes nothing.
    assert score("mean_angular_error", [up, east], [[3, 0], [2 * math.pi, math.pi / 2]]) == pytest.approx(0, abs=1e-7)


def test_angles_are_those_of_the_haversine_formula():
    truth, predicted = (np.column_stack([RNG.uniform(0, 6, 20), RNG.uniform(0, 3, 20)]) for _ in range(2))
    angles = []
    for (a1, z1), (a2, z2) in zip(truth, predicted, strict=True):
        h = math.sin((z1 - z2) / 2) ** 2 + math.sin(z1) * math.sin(z2) * math.sin((a1 - a2) / 2) ** 2
        angles.append(2 * math.asin(math.sqrt(h)))
    assert score("mean_angular_error", truth, predicted) == pytest.approx(np.mean(angles))
