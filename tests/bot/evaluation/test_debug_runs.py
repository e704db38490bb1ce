"""What a debug run asks, of every metric, view and kind of truth: a good script passes wherever the hold-out would score it."""

import csv
import random
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.answers import LabelledView
from bot.evaluation.metrics.registry import METRICS
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.scoring.score import check_view_scorable, score_execution
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.build import build_view
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import read, write
from tests.bot.evaluation.truths import SHAPES, write_truth

QUICK = ("spearman", "roc_auc", "binary_f1", "quadratic_weighted_kappa", "rmse", "dice")
"""One metric of each kind; the others are tried with the integration tests."""
EVERYTHING = [
    pytest.param(metric, shape, marks=() if metric in QUICK else pytest.mark.integration)
    for metric in METRICS
    for shape in SHAPES
]


def build(folder: Path, metric: str, shape: str, view: str) -> TaskCard:
    """Write a competition and one of its views; returns the card."""
    task = write_truth(folder / "competition", metric, SHAPES[shape], random.Random(shape))
    build_view(folder / "competition", task, view, 0, folder / view / "data", folder / view / "labels")
    return task


def good_script(folder: Path, view: str, task: TaskCard) -> dict[str, Any]:
    """Score predictions that are right, and the sample submission as it is."""
    place, sample = folder / view, folder / view / "data" / "sample_validation.csv"
    ids = read_table(sample).keys(task.row_columns)
    right = read_truth(place / "labels" / "labels.csv", ids, task)
    rows = [[row[0], *cells] for row, cells in zip(read(sample)[1:], right.tolist(), strict=True)]
    predictions = write(place / "predictions.csv", task.columns, rows)
    submission = place / "data" / "sample_submission.csv"
    return score_execution(LabelledView(place / "data", place / "labels", task), predictions, submission)


@pytest.mark.parametrize(("metric", "shape"), EVERYTHING)
def test_a_good_script_passes_the_debug_run_and_is_scored_by_the_holdout_unless_its_truth_is_at_fault(
    tmp_path: Path, metric: str, shape: str
) -> None:
    task = build(tmp_path, metric, shape, "sample")
    tried = good_script(tmp_path, "sample", task)
    assert tried.fine, tried.message
    build(tmp_path, metric, shape, "holdout")
    done = good_script(tmp_path, "holdout", task)
    try:
        check_view_scorable(LabelledView(tmp_path / "holdout" / "data", tmp_path / "holdout" / "labels", task))
    except UnsupportedLayout as error:
        assert shape == "constant", "in all others each column varies, and the data allow that it does in each part"
        assert "the truth in columns y0 (" in str(error) and "is the same in all" in str(error)
        assert done.score is None and done.fine
    else:
        assert done.score is not None
        # Three rare values are one for each part of the rows, and some are for the hold-out's sample.
        assert tried.score is not None


@pytest.mark.integration
@pytest.mark.parametrize("metric", METRICS)
def test_what_is_known_of_a_metric_is_so(tmp_path: Path, metric: str) -> None:
    facts = METRICS[metric]
    task = build(tmp_path, metric, "constant", "holdout")
    scored = good_script(tmp_path, "holdout", task).score is not None
    assert scored is not facts.of_varied
    task = build(tmp_path, metric, "small", "holdout")
    place = tmp_path / "holdout"
    sample = place / "data" / "sample_validation.csv"
    usual = score_execution(LabelledView(place / "data", place / "labels", task), sample, place / "none.csv")
    assert (usual.score is not None) is facts.scores_constants


@pytest.mark.parametrize("view", ["sample", "holdout"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_that_is_not_valid_never_passes(tmp_path: Path, shape: str, view: str) -> None:
    task = build(tmp_path, "spearman", shape, view)
    place = tmp_path / view
    sample, submission = place / "data" / "sample_validation.csv", place / "data" / "sample_submission.csv"
    with sample.open(newline="") as file:
        header, first, *rest = csv.reader(file)
    for bad in ([header, *rest], [header, [first[0], *["nan"] * (len(first) - 1)], *rest]):
        predictions = write(place / "predictions.csv", bad[0], bad[1:])
        tried = score_execution(LabelledView(place / "data", place / "labels", task), predictions, submission)
        assert not tried.fine and tried.score is None
        assert not score_execution(LabelledView(place / "data", place / "labels", task), sample, predictions).fine
