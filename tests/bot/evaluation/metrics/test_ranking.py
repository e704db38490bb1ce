import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from bot.evaluation.metrics.ranking import mean_ranks, spearman
from tests.bot.evaluation.metrics.parts import score
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


RNG = np.random.default_rng(7)
TRUTH, SCORES = (RNG.random(60) < 0.4).astype(int), RNG.random(60).round(1)


def test_roc_auc_counts_pairs_with_ties_as_half():
    assert score("roc_auc", [0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]) == pytest.approx((1 + 1 + 0.5 + 1) / 4)


def test_roc_auc_of_several_columns_is_their_mean():
    truth = [[0, 1], [1, 0]]
    assert score("roc_auc", truth, [[0.1, 0.9], [0.8, 0.2]]) == 1.0
    assert score("roc_auc", truth, [[0.1, 0.1], [0.8, 0.2]]) == 0.5


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_areas_are_undefined_where_truth_has_one_class(name):
    assert math.isnan(score(name, [1, 1], [0.1, 0.2]))
    assert math.isnan(score(name, [0, 0], [0.1, 0.2]))
    assert math.isnan(score(name, [[1, 1], [1, 0]], [[0.1, 0.2], [0.3, 0.1]]))


def test_average_precision_by_hand():
    # The true rows stand at places 1 and 3.
    assert score("average_precision", [1, 0, 1], [0.9, 0.8, 0.1]) == pytest.approx((1 / 1 + 2 / 3) / 2)


def lwlrap_by_loops(truth, scores):
    precisions = []
    for labels, values in zip(truth, scores, strict=True):
        for label in np.flatnonzero(labels):
            above = [other for other in range(len(values)) if values[other] >= values[label]]
            precisions.append(sum(bool(labels[other]) for other in above) / len(above))
    return sum(precisions) / len(precisions)


def test_lwlrap_is_the_mean_of_precisions_over_all_true_labels():
    truth, scores = (RNG.random((25, 5)) < 0.3).astype(int), RNG.random((25, 5))
    assert score("lwlrap", truth, scores) == pytest.approx(lwlrap_by_loops(truth, scores))


def test_lwlrap_skips_rows_without_labels():
    assert score("lwlrap", [[1, 0], [0, 0]], [[0.1, 0.9], [0.5, 0.4]]) == pytest.approx(0.5)
    assert math.isnan(score("lwlrap", [[0, 0]], [[0.1, 0.9]]))


def probabilistic_f_by_definition(labels, chances, beta):
    found = sum(p for label, p in zip(labels, chances, strict=True) if label)
    wrong = sum(p for label, p in zip(labels, chances, strict=True) if not label)
    precision, recall = found / (found + wrong), found / sum(labels)
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_probabilistic_f_is_that_of_precision_and_recall(beta):
    chances = RNG.random(60)
    expected = probabilistic_f_by_definition(TRUTH.tolist(), chances.tolist(), beta)
    assert score("probabilistic_f1", TRUTH, chances, beta=beta) == pytest.approx(expected)


def test_probabilistic_f_of_decisions_is_the_plain_one_and_chances_are_cut():
    from sklearn.metrics import f1_score

    decided = (SCORES > 0.5).astype(int)
    assert score("probabilistic_f1", TRUTH, decided) == pytest.approx(f1_score(TRUTH, decided))
    assert score("probabilistic_f1", TRUTH, decided * 9.0 - 4) == pytest.approx(f1_score(TRUTH, decided))
    assert score("probabilistic_f1", [1, 0], [0, 0.5]) == 0.0
    assert math.isnan(score("probabilistic_f1", [0, 0], [0, 0.5]))
