import math

import pytest

from bot.evaluation.bounds import value_bounds
from bot.evaluation.submission_file import value_bounds as as_the_reader_knows_it
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
    bounds = value_bounds(card(metric, ("x", "y", "z")[:columns]))
    assert (bounds.low, bounds.high) == (low, high)
    assert bool(bounds.reason) == (low == 0)


def test_the_reader_of_submissions_has_the_same():
    assert as_the_reader_knows_it is value_bounds
