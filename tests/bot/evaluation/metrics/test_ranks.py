"""Rank correlation: ties share their mean rank, and what is constant has none."""

import numpy as np
import pytest

from bot.evaluation.metrics.ranks import spearman


def test_rank_correlation_gives_ties_their_mean_rank() -> None:
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1.0], [1.0]) is None
    assert spearman([1, 1], [1, 2]) is None
    assert spearman([1, 1], [2, 2]) == 1.0
