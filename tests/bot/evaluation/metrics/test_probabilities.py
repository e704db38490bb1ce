import math

import numpy as np
import pytest

from tests.bot.evaluation.metrics.parts import score


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


def test_column_wise_log_loss_by_plain_loops_is_not_that_of_classes():
    truth, chance = [[1, 1], [0, 0], [0, 1]], [[0.9, 0.6], [0.2, 0.3], [0.4, 1.0]]
    each = []
    for column in range(2):
        losses = []
        for row in range(3):
            p = chance[row][column] if truth[row][column] else 1 - chance[row][column]
            losses.append(-math.log(min(max(p, 1e-15), 1 - 1e-15)))
        each.append(sum(losses) / 3)
    assert score("mean_columnwise_log_loss", truth, chance) == pytest.approx(sum(each) / 2)
    assert score("log_loss", truth, chance) != pytest.approx(sum(each) / 2)


def test_weighted_log_loss_weighs_columns_and_positive_cells():
    # The first row's cells weigh 2 * 2 and 1, the second's 2 and 1.
    truth, chance = [[1, 0], [0, 0]], [[0.5, 0.75], [0.5, 0.75]]
    first = (4 * math.log(2) + math.log(4)) / 5
    second = (2 * math.log(2) + math.log(4)) / 3
    assert score("weighted_log_loss", truth, chance, weights=[2, 1], positive=2) == pytest.approx((first + second) / 2)


def test_weighted_log_loss_without_weights_is_the_column_wise_one():
    truth, chance = [[1, 1], [0, 0], [0, 1]], [[0.9, 0.6], [0.2, 0.3], [0.4, 0.9]]
    assert score("weighted_log_loss", truth, chance) == pytest.approx(score("mean_columnwise_log_loss", truth, chance))


@pytest.mark.parametrize(
    ("truth", "chance", "expected"),
    [
        ([[0, 1], [1, 0], [1, 0], [0, 1]], [[0.1, 0.9], [0.9, 0.1], [0.8, 0.2], [0.35, 0.65]], 0.216161),
        ([[0, 0.1, 0.9], [0.5, 0.5, 0], [0.5, 0.5, 0]], [[0.2, 0.1, 0.7], [0.3, 0.5, 0.2], [0.5, 0.5, 0]], 0.160531),
    ],
)
def test_kl_divergence_has_the_values_of_the_competitions_own_examples(truth, chance, expected):
    assert score("kl_divergence", truth, chance) == pytest.approx(expected, abs=1e-6)


def test_kl_divergence_is_scipys_sum_of_relative_entropies_and_rescales_rows():
    from scipy.special import rel_entr

    rng = np.random.default_rng(1)
    truth, chance = rng.dirichlet([1, 1, 1], size=20), rng.dirichlet([1, 1, 1], size=20)
    expected = rel_entr(truth, chance).sum(axis=1).mean()
    assert score("kl_divergence", truth, chance) == pytest.approx(expected)
    assert score("kl_divergence", truth, 7 * chance) == pytest.approx(expected)
    assert score("kl_divergence", truth, chance / 2, normalize=False) == pytest.approx(expected + math.log(2))
