"""The registry of metrics, and what holds for all of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.metrics.registry import METRICS, metric_named
from state.errors import UsageError
from tests.bot.evaluation.metrics.parts import columns, score

CHANCES = [[0, 1], [1, 0], [1, 0], [0, 1], [1, 0], [0, 1]]
NUMBERS = [3.0, 1.0, 4.0, 1.5, 9.0, 2.5]
LABELS = ["1", "2", "1", "3", "2", "1"]
MASKS = ["1 3 10 5", "", "2 2", "5 1 7 1", "1 40", "-"]
PERFECT = {
    name: (CHANCES, CHANCES)
    if facts.of_classes and facts.input_kind == "number"
    else {"number": (NUMBERS, NUMBERS), "label": (LABELS, LABELS), "text": (LABELS, LABELS)}[facts.input_kind]
    for name, facts in METRICS.items()
} | {
    "kl_divergence": ([[0.2, 0.8], [0.5, 0.5]], [[0.2, 0.8], [0.5, 0.5]]),
    "laplace_log_likelihood": ([[2000, 0], [2500, 0]], [[2000, 70], [2500, 70]]),
    "mean_angular_error": ([[0, 1], [2, 3], [6, 0]], [[0, 1], [2, 3], [6, 0]]),
    "dice": (MASKS, MASKS),
    "global_dice": (MASKS, MASKS),
    "mask_map_iou": (MASKS, MASKS),
    "kendall_tau": (["a b c", "b a"], ["a b c", "b a"]),
    "multilabel_samples_f1": (["a b", "", "c"], ["b a", "", "c"]),
}
"""Truth and predictions that are as good as can be."""


def test_an_unknown_metric_is_named():
    with pytest.raises(UsageError, match="Unknown metric 'f1'"):
        metric_named("f1")


@pytest.mark.parametrize("name", METRICS)
def test_perfect_predictions_have_the_best_score_that_there_is(name: str):
    truth, predicted = PERFECT[name]
    facts = METRICS[name]
    best = -math.log(math.sqrt(2) * 70) if name == "laplace_log_likelihood" else None
    assert score(name, truth, predicted) == pytest.approx(
        best if best is not None else facts.minimum if facts.direction == "minimize" else facts.maximum, abs=1e-7
    )


@pytest.mark.parametrize("name", METRICS)
def test_without_rows_nothing_is_defined(name: str):
    assert math.isnan(score(name, [], []))


@pytest.mark.parametrize("name", METRICS)
def test_shuffled_predictions_are_worse_and_within_the_range(name: str):
    truth, predicted = PERFECT[name]
    facts = METRICS[name]
    turned = [*predicted[1:], predicted[0]]
    if name == "kendall_tau":
        turned = ["c a b", "a b"]
    perfect, other = score(name, truth, predicted), score(name, truth, turned)
    assert other > perfect if facts.direction == "minimize" else other < perfect
    assert facts.minimum <= other <= facts.maximum


@pytest.mark.parametrize("name", METRICS)
def test_the_order_of_the_rows_does_not_matter(name: str):
    truth, predicted = PERFECT[name]
    turned = [*predicted[1:], predicted[0]] if name != "kendall_tau" else ["c a b", "a b"]
    backwards = score(name, truth[::-1], turned[::-1])
    assert backwards == pytest.approx(score(name, truth, turned))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("many", [1, 2, 3])
def test_constants_and_odd_widths_raise_nothing(name: str, many: int):
    for truth, predicted in ((0, 0), (1, 0), (0, 1), (1, 1)):
        assert isinstance(score(name, [[truth] * many] * 3, [[predicted] * many] * 3), float)
    assert isinstance(score(name, [[1] * many], [[0] * many]), float)


WORDS = st.text(alphabet=st.sampled_from("ab 10-.e_\u0661\u00e9\n"), max_size=12)


@settings(max_examples=40)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
def test_no_text_makes_a_metric_of_texts_or_labels_fail(rows: list[tuple[str, str]]):
    truth, predicted = [one for one, _ in rows], [other for _, other in rows]
    for name, facts in METRICS.items():
        if facts.input_kind != "number":
            found = score(name, truth, predicted)
            assert math.isnan(found) or facts.minimum - 1e-12 <= found <= facts.maximum + 1e-12


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_metrics_of_numbers_stay_within_their_range_for_any_chances(rows: list[tuple[int, float]]):
    truth, predicted = [one for one, _ in rows], [other for _, other in rows]
    for name, facts in METRICS.items():
        if facts.input_kind == "number":
            found = score(name, truth, predicted)
            assert math.isnan(found) or facts.minimum - 1e-9 <= found <= facts.maximum + 1e-9, name


ONE_SIDED = {
    *("log_loss", "mean_columnwise_log_loss", "weighted_log_loss", "kl_divergence", "roc_auc"),
    *("average_precision", "lwlrap", "probabilistic_f1", "mean_columnwise_rmsle", "mape", "rmspe", "r2", "gini"),
    *(
        "mean_columnwise_rmse",
        "laplace_log_likelihood",
        "pinball_loss",
        "balanced_accuracy",
        "weighted_f1",
        "kendall_tau",
    ),
    *("map_at_k", "top_k_error", "binary_f1", "binary_f_beta", "levenshtein_ratio"),
}
"""Of which truth and prediction may not change places, or need not in general."""


@pytest.mark.parametrize("name", sorted(METRICS.keys() - ONE_SIDED))
def test_truth_and_prediction_may_change_places(name: str):
    truth, predicted = PERFECT[name]
    turned = [*predicted[1:], predicted[0]]
    assert score(name, truth, turned) == pytest.approx(score(name, turned, truth))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("log_loss", {"eps": "small"}),
        ("map_at_k", {"k": 0}),
        ("map_at_k", {"k": 2.5}),
        ("pinball_loss", {"quantiles": [0.5, 0.5]}),
        ("pinball_loss", {"quantiles": [1.5]}),
        ("mean_columnwise_rmse", {"columns": [3]}),
        ("binary_f_beta", {"beta": 0}),
        ("binary_f_beta", {"beta": True}),
    ],
)
def test_a_parameter_that_means_nothing_is_named(name: str, params: dict[str, object]):
    with pytest.raises(UsageError, match=f"metric.params.{next(iter(params))}"):
        score(name, [0, 1], [1, 1], **params)


def test_scores_are_pythons_own_floats():
    assert {type(score(name, *PERFECT[name])) for name in METRICS} == {float}


def test_arrays_of_whole_numbers_will_do_for_numbers():
    for name in ("pearson", "gini", "rmsle", "r2", "spearman"):
        whole = np.array([[1], [2], [4]])
        assert METRICS[name].score(whole, whole, {}) == pytest.approx(score(name, [1, 2, 4], [1, 2, 4]))


def test_kinds_are_handed_over_as_the_reader_does():
    assert columns("rmse", [1, 2]).dtype == float
    assert columns("accuracy", [1, 2]).dtype == object
