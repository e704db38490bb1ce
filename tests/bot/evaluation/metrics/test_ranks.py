"""Rank correlation: ties share their mean rank, and what is constant has none."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from bot.evaluation.metrics.ranking import mean_ranks, spearman
from tests.source_tree import ROOT


@given(st.lists(st.lists(st.sampled_from([-1.5, 0.0, 2, 3, 1e9, float("inf"), float("nan")]), min_size=2, max_size=2)))
def test_ranks_are_those_of_scipy(rows: list[list[float]]) -> None:
    columns = np.array(rows).reshape(-1, 2)
    for values in (columns, columns[:, 0]):
        np.testing.assert_array_equal(mean_ranks(values), rankdata(values, axis=0))


@pytest.mark.integration
def test_a_worker_that_blends_and_compares_imports_neither_scipys_statistics_nor_scikit_learn() -> None:
    modules = "bot.evaluation.blending.blend, bot.evaluation.scoring.agreement, bot.evaluation.grading.grade"
    code = f"import sys, {modules}; print({{'scipy.stats', 'sklearn'}} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_rank_correlation_gives_ties_their_mean_rank() -> None:
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1.0], [1.0]) is None
    assert spearman([1, 1], [1, 2]) is None
    assert spearman([1, 1], [2, 2]) == 1.0
