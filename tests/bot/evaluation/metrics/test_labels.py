import math

import numpy as np
import pytest
from sklearn import metrics as scikit_learn

from bot.evaluation.metrics.registry import METRICS
from tests.bot.evaluation.metrics.parts import score

RNG = np.random.default_rng(11)
TRUTH = RNG.integers(0, 5, 200).tolist()
PREDICTED = [value if RNG.random() < 0.6 else int(RNG.integers(0, 5)) for value in TRUTH]


def test_accuracy_compares_numbers_as_numbers_and_text_as_text():
    truth = np.array([["1"], ["2"], ["cat"], ["True"]], dtype=object)
    predicted = np.array([["1.0"], ["3"], [" cat"], ["False"]], dtype=object)
    assert METRICS["accuracy"].score(truth, predicted, {}) == 0.5
    assert METRICS["error_rate"].score(truth, predicted, {}) == 0.5


def test_a_row_is_right_if_all_its_labels_are():
    assert score("accuracy", [["a", "b"], ["a", "b"]], [["a", "b"], ["a", "c"]]) == 0.5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", scikit_learn.accuracy_score(TRUTH, PREDICTED)),
        ("balanced_accuracy", scikit_learn.balanced_accuracy_score(TRUTH, PREDICTED)),
        ("cohen_kappa", scikit_learn.cohen_kappa_score(TRUTH, PREDICTED)),
        ("quadratic_weighted_kappa", scikit_learn.cohen_kappa_score(TRUTH, PREDICTED, weights="quadratic")),
        ("mcc", scikit_learn.matthews_corrcoef(TRUTH, PREDICTED)),
        ("macro_f1", scikit_learn.f1_score(TRUTH, PREDICTED, average="macro")),
        ("micro_f1", scikit_learn.f1_score(TRUTH, PREDICTED, average="micro")),
        ("weighted_f1", scikit_learn.f1_score(TRUTH, PREDICTED, average="weighted")),
        ("binary_f1", scikit_learn.f1_score([t == 1 for t in TRUTH], [p == 1 for p in PREDICTED])),
    ],
)
def test_labels_are_scored_as_scikit_learn_does(name, expected):
    assert score(name, TRUTH, PREDICTED) == pytest.approx(expected)
    named = [[f"class {label}" for label in side] for side in (TRUTH, PREDICTED)]
    if name not in ("quadratic_weighted_kappa", "binary_f1"):
        assert score(name, *named) == pytest.approx(expected)


def kappa_by_loops(truth, predicted):
    """Kaggle's definition, from the matrices O, E and w."""
    grades = range(min(truth + predicted), max(truth + predicted) + 1)
    n, wide = len(truth), (len(grades) - 1) ** 2
    above = below = 0.0
    for i in grades:
        for j in grades:
            weight = (i - j) ** 2 / wide
            above += weight * sum(t == i and p == j for t, p in zip(truth, predicted, strict=True))
            below += weight * truth.count(i) * predicted.count(j) / n
    return 1 - above / below


def test_quadratic_weighted_kappa_by_its_matrices():
    assert score("quadratic_weighted_kappa", TRUTH, PREDICTED) == pytest.approx(kappa_by_loops(TRUTH, PREDICTED))


def test_a_grade_that_nobody_has_still_counts_in_the_distance():
    truth, predicted = [1, 2, 4, 4, 1], [1, 4, 4, 2, 2]
    assert score("quadratic_weighted_kappa", truth, predicted) == pytest.approx(kappa_by_loops(truth, predicted))
    by_places = scikit_learn.cohen_kappa_score(truth, predicted, weights="quadratic")
    assert score("quadratic_weighted_kappa", truth, predicted) != pytest.approx(by_places)


def test_quadratic_weighted_kappa_at_its_edges():
    assert score("quadratic_weighted_kappa", [1, 2], [2, 1]) == pytest.approx(-1.0)
    assert score("quadratic_weighted_kappa", [1, 2, 3], [2, 2, 2]) == pytest.approx(0.0)
    assert math.isnan(score("quadratic_weighted_kappa", [2, 2], [2, 2]))
    assert math.isnan(score("quadratic_weighted_kappa", ["a", "b"], ["a", "b"]))
    assert score("quadratic_weighted_kappa", ["1", "2"], ["1.0", "2.0"]) == pytest.approx(1.0)


def test_macro_f1_counts_classes_of_either_side():
    # Class a: 2/3, b: 0 (never predicted), c: 0 (never true).
    assert score("macro_f1", ["a", "a", "b"], ["a", "c", "a"]) == pytest.approx((2 * 1 / (2 + 2) + 0 + 0) / 3)
    assert score("micro_f1", ["a", "a", "b"], ["a", "c", "a"]) == pytest.approx(1 / 3)


def test_balanced_accuracy_does_not_count_classes_that_are_predicted_alone():
    assert score("balanced_accuracy", ["a", "a", "b"], ["a", "c", "b"]) == pytest.approx((0.5 + 1) / 2)


def test_f_beta_by_hand():
    truth, predicted = [1, 1, 1, 0, 0], [1, 0, 0, 1, 0]  # TP 1, FN 2, FP 1
    assert score("binary_f1", truth, predicted) == pytest.approx(2 / (2 + 2 + 1))
    assert score("binary_f_beta", truth, predicted, beta=2) == pytest.approx(5 / (5 + 4 * 2 + 1))
    assert score("binary_f_beta", truth, predicted, beta=0.5) == pytest.approx(1.25 / (1.25 + 0.25 * 2 + 1))


def test_the_positive_class_may_be_named_or_be_a_word_of_truth():
    truth, predicted = ["ham", "spam", "spam"], ["spam", "spam", "ham"]
    assert score("binary_f1", truth, predicted, positive="spam") == pytest.approx(0.5)
    assert score("binary_f1", ["True", "False"], ["1", "false"]) == pytest.approx(1.0)
    assert math.isnan(score("binary_f1", ["0", "0"], ["0", "0"]))
    assert score("binary_f1", ["1", "0"], ["0", "1"]) == 0.0


def test_several_columns_are_averaged():
    pairs = [[t, t] for t in TRUTH], [[t, p] for t, p in zip(TRUTH, PREDICTED, strict=True)]
    for name in ("macro_f1", "mcc", "quadratic_weighted_kappa", "balanced_accuracy"):
        assert score(name, *pairs) == pytest.approx((1 + score(name, TRUTH, PREDICTED)) / 2)


def test_kappa_of_one_and_the_same_label_is_undefined():
    assert math.isnan(score("cohen_kappa", ["a", "a"], ["a", "a"]))
    assert math.isnan(score("mcc", ["a", "a"], ["a", "a"]))
    assert score("mcc", ["a", "b"], ["a", "a"]) == 0.0
