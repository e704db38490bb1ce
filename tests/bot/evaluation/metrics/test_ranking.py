import math

import numpy as np
import pytest

from tests.bot.evaluation.metrics.parts import score

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
