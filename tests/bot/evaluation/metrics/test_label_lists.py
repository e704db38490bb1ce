import math

import numpy as np
import pytest
from sklearn import metrics as scikit_learn
from sklearn.preprocessing import MultiLabelBinarizer

from tests.bot.evaluation.metrics.parts import score

RNG = np.random.default_rng(13)
LABELS = list("abcdef")


def some(rows: int = 60) -> list[str]:
    return [" ".join(label for label in LABELS if RNG.random() < 0.4) or "f" for _ in range(rows)]


TRUTH, PREDICTED = some(), some()


@pytest.mark.parametrize("average", ["micro", "macro", "samples"])
def test_f1_of_sets_is_scikit_learns_of_their_indicators(average):
    binarizer = MultiLabelBinarizer(classes=LABELS)
    sides = [binarizer.fit_transform([row.split() for row in side]) for side in (TRUTH, PREDICTED)]
    expected = scikit_learn.f1_score(*sides, average=average)
    assert score(f"multilabel_{average}_f1", TRUTH, PREDICTED) == pytest.approx(expected)


def test_f1_of_sets_by_hand():
    truth, predicted = ["a b", "c"], ["b d", "c c"]  # 2 right, of 3 true ones and 3 predicted
    assert score("multilabel_micro_f1", truth, predicted) == pytest.approx(4 / 6)
    assert score("multilabel_macro_f1", truth, predicted) == pytest.approx((0 + 1 + 1 + 0) / 4)
    assert score("multilabel_samples_f1", truth, predicted) == pytest.approx((0.5 + 1) / 2)


def test_labels_that_no_answer_has_are_wrong_unless_they_are_to_be_ignored():
    truth, predicted = ["a b", "c"], ["b z", "c"]
    assert score("multilabel_micro_f1", truth, predicted) == pytest.approx(4 / 6)
    assert score("multilabel_micro_f1", truth, predicted, known_only=True) == pytest.approx(4 / 5)


def test_f1_of_nothing_is_undefined_but_a_rows_is_one():
    assert math.isnan(score("multilabel_micro_f1", ["", ""], ["", ""]))
    assert math.isnan(score("multilabel_macro_f1", ["", ""], ["", ""]))
    assert score("multilabel_samples_f1", ["", "a"], ["", "b"]) == 0.5


def average_precision_by_definition(actual: list[str], ranked: list[str], k: int) -> float:
    """The sum of the precision at each place whose label is relevant and new, by the most that can be relevant."""
    total = 0.0
    for place in range(1, min(k, len(ranked)) + 1):
        if ranked[place - 1] in actual and ranked[place - 1] not in ranked[: place - 1]:
            right = len({label for label in ranked[:place] if label in actual})
            total += right / place
    return total / min(len(actual), k)


@pytest.mark.parametrize("k", [1, 3, 12])
def test_map_at_k_is_the_mean_of_average_precisions(k):
    ranked = [" ".join(RNG.permutation(LABELS)[: RNG.integers(1, 7)]) for _ in TRUTH]
    each = [average_precision_by_definition(t.split(), p.split(), k) for t, p in zip(TRUTH, ranked, strict=True)]
    assert score("map_at_k", TRUTH, ranked, k=k) == pytest.approx(np.mean(each))


def test_map_at_5_of_one_label_is_the_reciprocal_of_its_place():
    assert score("map_at_k", ["w"], ["w x y"]) == 1.0
    assert score("map_at_k", ["w"], ["x w y"]) == 0.5
    assert score("map_at_k", ["w"], ["a b c d e w"]) == 0.0
    assert score("map_at_k", ["w"], ["x x w"]) == pytest.approx(1 / 3)


def test_map_at_k_of_several_labels_by_hand():
    # Right at places 1 and 3, of three that there are.
    assert score("map_at_k", ["a b c"], ["a x b"], k=12) == pytest.approx((1 + 2 / 3) / 3)
    assert score("map_at_k", ["a b c"], ["a b"], k=2) == pytest.approx(1.0)
    assert score("map_at_k", ["a", ""], ["a", "b"]) == 0.5
    assert score("map_at_k", ["a"], ["a a a"]) == 1.0


def test_top_k_error_looks_at_the_first_k_labels():
    truth, predicted = ["3", "7", "9"], ["3 1 2", "1 7 2", "1 2"]
    assert score("top_k_error", truth, predicted) == pytest.approx(2 / 3)
    assert score("top_k_error", truth, predicted, k=2) == pytest.approx(1 / 3)
    assert score("top_k_error", ["3"], [""]) == 1.0
