import math

import pytest

from bot.evaluation.answers import LabelledView, NodeScore, ScoredFiles
from bot.evaluation.scoring.score import check_view_scorable, score_execution
from bot.evaluation.views.build import build_view
from state.errors import InfrastructureFailure, UnsupportedLayout
from tests.bot.evaluation.parts import card, competition, read, write


@pytest.fixture
def view(tmp_path):
    data = competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(100)], [["t0", 0], ["t1", 1]])
    build_view(data, card(), "holdout", 0, tmp_path / "view", tmp_path / "labels")
    return tmp_path


def scored(view, predictions, submission, task=None):
    return score_execution(LabelledView(view / "view", view / "labels", task or card()), predictions, submission)


def test_predictions_are_scored_by_the_official_metric(view):
    rows = [[row[0], float(row[0][1:]) + 2] for row in read(view / "view" / "sample_validation.csv")[1:]]
    predictions = write(view / "validation_predictions.csv", ["id", "y"], reversed(rows))
    submission = write(view / "submission.csv", ["id", "y"], [["t1", 1], ["t0", 0]])
    assert scored(view, predictions, submission) == ScoredFiles(
        NodeScore(pytest.approx(2.0), final=pytest.approx(2.0)), valid=True, fine=True
    )


def test_score_and_validity_are_independent(view):
    good = view / "view" / "sample_validation.csv"
    bad = write(view / "submission.csv", ["id", "y"], [["t0", 1]])
    result = scored(view, good, bad)
    assert math.isfinite(result.score.value) and not result.valid
    assert "submission.csv has 1 rows where 2 are expected" in result.message


def test_what_was_not_written_gives_no_score(view):
    result = scored(view, view / "validation_predictions.csv", view / "submission.csv")
    assert (result.score, result.valid, result.fine) == (None, False, False)
    assert "validation_predictions.csv does not exist" in result.message
    assert "submission.csv does not exist" in result.message


def test_predictions_for_other_rows_give_no_score(view):
    sample = view / "view" / "sample_submission.csv"
    result = scored(view, sample, sample)
    assert (result.score, result.valid, result.fine) == (None, True, False)
    assert "the id 't0' is not in the sample" in result.message


def test_a_truth_that_cannot_be_scored_is_no_fault_of_the_files(view):
    write(view / "labels" / "labels.csv", ["id", "y"], [[r[0], 1] for r in read(view / "labels" / "labels.csv")[1:]])
    sample = view / "view" / "sample_validation.csv"
    result = scored(view, sample, view / "view" / "sample_submission.csv", card("roc_auc"))
    assert result.score is None and result.fine
    message = "metric roc_auc cannot be computed on these rows: the truth of column y (1) is constant in all 20 rows."
    assert message in result.message
    with pytest.raises(UnsupportedLayout, match=r"cannot score this view's labels .*: the truth of column y \(1\)"):
        check_view_scorable(LabelledView(view / "view", view / "labels", card("roc_auc")))


def test_predictions_that_a_metric_is_not_defined_on_are_named(view):
    result = scored(
        view, view / "view" / "sample_validation.csv", view / "view" / "sample_submission.csv", card("pearson")
    )
    assert result.score is None and result.fine
    assert "for sample_validation.csv: the prediction of column y (0) is constant in all 20 rows." in result.message


def test_lost_labels_are_the_engines_failure(view):
    (view / "labels" / "labels.csv").unlink()
    with pytest.raises(InfrastructureFailure, match="labels of this view cannot be read"):
        scored(view, view / "view" / "sample_validation.csv", view / "submission.csv")
