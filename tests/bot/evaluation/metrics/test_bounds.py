import math

import pytest

from bot.evaluation.metrics.registry import prediction_bounds
from tests.bot.evaluation.parts import card


@pytest.mark.parametrize(
    ("metric", "columns", "low", "high"),
    [
        ("rmse", 1, -math.inf, math.inf),
        ("msle", 1, 0, math.inf),
        ("log_loss", 1, 0, 1),
        ("log_loss", 3, 0, math.inf),
        ("kl_divergence", 3, 0, math.inf),
        ("mean_columnwise_log_loss", 3, 0, 1),
        ("weighted_log_loss", 3, 0, 1),
        ("pearson", 1, -math.inf, math.inf),
        ("no such metric", 1, -math.inf, math.inf),
    ],
)
def test_a_metric_takes_the_numbers_that_its_formula_takes(metric, columns, low, high):
    bounds = prediction_bounds(card(metric, ("x", "y", "z")[:columns]))
    assert (bounds.low, bounds.high) == (low, high)
    assert bool(bounds.reason) == (low == 0)
