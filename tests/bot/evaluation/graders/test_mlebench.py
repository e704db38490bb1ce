"""The names that MLE-bench's graders import, against values found in another way."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from bot.evaluation.graders.inside.mlebench import metrics
from bot.evaluation.graders.inside.mlebench.competitions import utils
from bot.evaluation.graders.inside.mlebench.grade_helpers import InvalidSubmissionError


@pytest.mark.parametrize("shape", [(3, 4), (1, 7), (5, 1)])
def test_run_lengths_go_down_the_columns_from_one_and_back(shape: tuple[int, int]) -> None:
    mask = np.random.default_rng(1).random(shape) < 0.5
    text = " ".join(map(str, utils.rle_encode(mask.astype(int))))
    pixels = [column * shape[0] + row + 1 for column in range(shape[1]) for row in range(shape[0]) if mask[row, column]]
    pairs = list(map(int, text.split()))
    covered = [
        at for start, length in zip(pairs[0::2], pairs[1::2], strict=True) for at in range(start, start + length)
    ]
    assert covered == pixels
    assert np.array_equal(utils.rle_decode(text, *shape), mask)


def test_run_lengths_of_nothing_are_an_empty_mask() -> None:
    assert utils.rles_to_masks(["", " "], [2, 3], [2, 1])[1].tolist() == [[False], [False], [False]]


@pytest.mark.parametrize("text", ["1", "3 1 1 1", "0 2", "1 0", "1 3 2 1", "-1 2", 5, float("nan"), None])
def test_wrong_run_lengths_are_assertion_errors_as_graders_expect(text: object) -> None:
    with pytest.raises(AssertionError):
        utils.rle_decode(text, 3, 3)  # type: ignore[arg-type]


def test_dice_is_twice_the_overlap_over_the_sum() -> None:
    assert metrics.dice_coefficient([1, 1, 0, 0], [0, 1, 1, 1]) == 2 / 5
    assert metrics.dice_coefficient([0, 0], [0, 0], both_empty_value=1.0) == 1.0
    assert np.isnan(metrics.dice_coefficient([0, 0], [0, 0]))


def test_average_precision_counts_each_item_once() -> None:
    # hits at ranks 1 and 3, of three relevant items
    assert metrics.average_precision_at_k({"a", "b", "c"}, ["a", "a", "b", "x"], 4) == pytest.approx((1 + 2 / 3) / 3)
    assert metrics.mean_average_precision_at_k([{"a"}, {"b"}], [["x", "a"], ["b"]], k=5) == 0.75
    assert metrics.mean_average_precision_at_k([{"a"}], [["x", "a"]], k=1) == 0.0


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    answers = pd.DataFrame({"id": ["a", "b", "c"], "p": [1, 0, 0], "q": [0, 1, 1]})
    submission = pd.DataFrame({"q": [0.2, 0.9, 0.6], "id": ["c", "b", "a"], "p": [0.8, 0.1, 0.4]})
    return submission, answers


def test_log_loss_inputs_are_matched_by_id_and_by_column() -> None:
    submission, answers = frames()
    inputs = utils.one_hot_dfs_to_log_loss_inputs(submission, answers, apply_softmax=False)
    assert log_loss(inputs["y_true"], inputs["y_pred"]) == pytest.approx(-np.mean(np.log([0.4, 0.9, 0.2])))
    soft = utils.one_hot_dfs_to_log_loss_inputs(submission, answers)["y_pred"]
    assert soft[0].tolist() == pytest.approx([1 / (1 + np.exp(0.2)), 1 / (1 + np.exp(-0.2))])
    hard = utils.one_hot_dfs_to_log_loss_inputs(answers, answers)
    assert hard["y_pred"].tolist() == answers[["p", "q"]].to_numpy().tolist()
    with pytest.raises(InvalidSubmissionError, match="lacks the columns"):
        utils.one_hot_dfs_to_log_loss_inputs(submission.drop(columns=["q"]), answers)
    with pytest.raises(AssertionError):
        utils.one_hot_dfs_to_log_loss_inputs(submission.assign(id=["c", "b", "z"]), answers)


def test_auroc_inputs_are_matched_by_id_and_must_be_probabilities() -> None:
    submission, answers = frames()
    inputs = utils.prepare_for_auroc_metric(submission, answers, id_col="id", target_col="p")
    assert (inputs["y_true"].tolist(), inputs["y_score"].tolist()) == ([1, 0, 0], [0.4, 0.1, 0.8])
    for wrong in ({"p": [0.1, 1.2, 0.3]}, {"p": ["x", "y", "z"]}, {"id": ["a", "b", "z"]}):
        with pytest.raises(InvalidSubmissionError):
            utils.prepare_for_auroc_metric(submission.assign(**wrong), answers, "id", "p")
    with pytest.raises(InvalidSubmissionError, match="has 2 rows, but the answers have 3"):
        utils.prepare_for_auroc_metric(submission.head(2), answers, "id", "p")


def test_accuracy_inputs_are_matched_by_id() -> None:
    submission, answers = frames()
    inputs = utils.prepare_for_accuracy_metric(submission, answers, target_column="q", id_column="id")
    assert inputs["y_pred"].tolist() == [0.6, 0.9, 0.2]
    with pytest.raises(InvalidSubmissionError, match="has no column p"):
        utils.prepare_for_accuracy_metric(submission.drop(columns=["p"]), answers, target_column="p", id_column="id")


def test_labels_become_one_column_a_class() -> None:
    hot = utils.df_to_one_hot(pd.DataFrame({"id": [1, 2], "breed": ["y", "x"]}), "id", "breed", ["x", "y", "z"])
    assert hot.to_dict("list") == {"id": [1, 2], "x": [0, 1], "y": [1, 0], "z": [0, 0]}
