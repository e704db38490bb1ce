"""Preparing submissions for common metrics: MLE-bench's names and refusals, our own code.

What a submission is refused for is an `InvalidSubmissionError`; what can only be the answers' fault, and what run lengths
do wrong, is an `AssertionError`, which graders turn into a refusal themselves.
"""

# ruff: noqa: S101 - graders catch AssertionError, so that it is part of the interface
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..grade_helpers import InvalidSubmissionError
from ..utils import get_logger

__all__ = [
    "df_to_one_hot",
    "get_logger",
    "is_one_hot_encoded",
    "one_hot_dfs_to_log_loss_inputs",
    "prepare_for_accuracy_metric",
    "prepare_for_auroc_metric",
    "rle_decode",
    "rle_encode",
    "rles_to_masks",
]

Array = NDArray[Any]


def df_to_one_hot(df: pd.DataFrame, id_column: str, target_column: str, classes: Sequence[str]) -> pd.DataFrame:
    """Return the ids with one column a class, 1 where the target names it."""
    columns = {name: (df[target_column] == name).astype(int) for name in classes}
    return pd.DataFrame({id_column: df[id_column], **columns})


def is_one_hot_encoded(xs: Array) -> bool:
    """Return whether every row of a matrix is zeros with a single one."""
    assert xs.ndim == 2, "expected a matrix"
    return bool(np.isin(xs, (0, 1)).all() and (xs.sum(axis=1) == 1).all())


def one_hot_dfs_to_log_loss_inputs(
    submission_one_hot: pd.DataFrame, answers_one_hot: pd.DataFrame, id_column: str = "id", apply_softmax: bool = True
) -> dict[str, Any]:
    """Return `y_true` and `y_pred` for a log loss, rows in the order of their ids, columns in that of the answers.

    `apply_softmax` (the default there) turns rows into probabilities, unless they are one-hot already.
    """
    answer_columns = list(answers_one_hot.columns)
    missing = [name for name in answer_columns if name not in submission_one_hot.columns]
    if missing:
        raise InvalidSubmissionError(f"the submission lacks the columns {missing[:10]}")
    prediction = submission_one_hot[answer_columns].sort_values(id_column)
    truth = answers_one_hot.sort_values(id_column)
    assert list(prediction[id_column]) == list(truth[id_column]), (
        f"the values of {id_column} do not match those in the answers"
    )
    y_true = truth.drop(columns=[id_column]).to_numpy()
    y_pred = prediction.drop(columns=[id_column]).to_numpy()
    if apply_softmax and not is_one_hot_encoded(y_pred):
        raised = np.exp(y_pred - y_pred.max(axis=1, keepdims=True))
        y_pred = raised / raised.sum(axis=1, keepdims=True)
    return {"y_true": y_true, "y_pred": y_pred}


def prepare_for_accuracy_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, target_column: str, id_column: str
) -> dict[str, Any]:
    """Return `y_true` and `y_pred` of one column, rows in the order of their ids."""
    prediction, truth = _by_id(submission, answers, id_column, target_column)
    return {"y_true": truth[target_column].to_numpy(), "y_pred": prediction[target_column].to_numpy()}


def prepare_for_auroc_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, id_col: str, target_col: str
) -> dict[str, Any]:
    """Return `y_true` and `y_score` of one column of probabilities, rows in the order of their ids."""
    prediction, truth = _by_id(submission, answers, id_col, target_col)
    try:
        scores = pd.to_numeric(prediction[target_col])
    except ValueError as error:
        raise InvalidSubmissionError(f"the column {target_col} is not numeric") from error
    if scores.min() < 0 or scores.max() > 1:
        raise InvalidSubmissionError(f"the column {target_col} must contain probabilities from 0 to 1")
    return {"y_true": truth[target_col].to_numpy(), "y_score": scores.to_numpy()}


def _by_id(
    submission: pd.DataFrame, answers: pd.DataFrame, id_column: str, target: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    for name in (id_column, target):
        assert name in answers.columns, f"the answers have no column {name}"
        if name not in submission.columns:
            raise InvalidSubmissionError(f"the submission has no column {name}")
    if len(submission) != len(answers):
        raise InvalidSubmissionError(f"the submission has {len(submission)} rows, but the answers have {len(answers)}")
    prediction, truth = submission.sort_values(id_column), answers.sort_values(id_column)
    if (prediction[id_column].to_numpy() != truth[id_column].to_numpy()).any():
        raise InvalidSubmissionError(f"the values of {id_column} do not match those in the answers")
    return prediction, truth


def rle_decode(rle_string: str, height: int, width: int) -> Array:
    """Return a mask (height, width) from run lengths: `start length` pairs, starts from 1, down the columns.

    Raises:
        AssertionError: no text, an odd number of numbers, starts that do not rise, runs that overlap or are empty.
        ValueError: something that is no whole number.
    """
    assert isinstance(rle_string, str), f"run lengths must be text, not {type(rle_string).__name__}"
    numbers = np.array([int(word) for word in rle_string.split()], dtype=np.int64)
    mask: Array = np.zeros(height * width, dtype=bool)
    if numbers.size:
        assert numbers.size % 2 == 0, "run lengths must come in pairs"
        starts, lengths = numbers[0::2], numbers[1::2]
        assert (starts > 0).all() and (lengths > 0).all(), "run starts and lengths must be greater than 0"
        assert (np.diff(starts) >= 0).all(), "runs must be sorted by start"
        assert (starts[1:] > (starts + lengths - 1)[:-1]).all(), "run lengths must not overlap"
        for start, length in zip(starts, lengths, strict=True):
            mask[start - 1 : start - 1 + length] = True
    return mask.reshape((height, width), order="F")


def rle_encode(x: Array, fg_val: int = 1) -> list[int]:
    """Return the run lengths of a mask, as one list `start, length, start, length, …`."""
    is_set = np.concatenate([[False], (np.asarray(x) == fg_val).ravel(order="F"), [False]])
    edges = np.flatnonzero(is_set[1:] != is_set[:-1])
    starts, run_ends = edges[0::2], edges[1::2]
    return [int(number) for pair in zip(starts + 1, run_ends - starts, strict=True) for number in pair]


def rles_to_masks(
    rl_encodings: Iterable[str], image_heights: Iterable[int], image_widths: Iterable[int]
) -> list[Array]:
    """Return one mask for each run length with its height and width."""
    sizes = zip(rl_encodings, image_heights, image_widths, strict=True)
    return [rle_decode(text, height=height, width=width) for text, height, width in sizes]
