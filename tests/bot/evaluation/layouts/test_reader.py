import pytest

from bot.evaluation.layouts.reader import read_layout
from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import card, competition, write

TRAIN = [[f"r{n}", n, "ab"[n % 2]] for n in range(20)]
TEST = [["t0", 1], ["t1", 2]]


def test_a_column_of_classes_becomes_the_prediction_columns(tmp_path):
    competition(tmp_path, TRAIN, TEST, header=("id", "x", "who"), submission=("id", "a", "b", "c"), default=(0, 0, 0))
    layout = read_layout(tmp_path, card("log_loss", ("a", "b", "c")))
    assert layout.withheld_columns == layout.label_columns == ("who",)
    assert [layout.truth(0), layout.truth(1)] == [("1", "0", "0"), ("0", "1", "0")]


def test_prediction_columns_may_carry_a_prefix(tmp_path):
    submission = ("id", "who_a", "who_b")
    competition(tmp_path, TRAIN, TEST, header=("id", "x", "who"), submission=submission, default=(0, 0))
    assert read_layout(tmp_path, card("log_loss", submission[1:])).truth(1) == ("0", "1")


def test_every_column_that_test_rows_lack_is_withheld(tmp_path):
    competition(tmp_path, [[*row[:2], 1, 2, 3] for row in TRAIN], TEST, header=("id", "x", "part", "rest", "y"))
    write(tmp_path / "test.csv", ["id", "x"], TEST)
    layout = read_layout(tmp_path, card())
    assert layout.withheld_columns == ("part", "rest", "y")
    assert layout.label_columns == ("y",)


def test_without_a_test_table_everything_but_the_id_is_withheld(tmp_path):
    competition(tmp_path, [[n, n, n] for n in range(20)], TEST)
    (tmp_path / "test.csv").unlink()
    assert read_layout(tmp_path, card()).withheld_columns == ("x", "y")


def test_a_label_that_test_rows_have_as_a_blank_column_is_withheld(tmp_path):
    competition(tmp_path, [[n, n, n] for n in range(20)], TEST)
    write(tmp_path / "test.csv", ["id", "x", "y"], [["t0", 1, ""]])
    assert read_layout(tmp_path, card()).withheld_columns == ("y",)


def test_a_label_may_have_another_name_if_it_is_the_only_candidate(tmp_path):
    competition(tmp_path, [[n, n, n] for n in range(20)], TEST, header=("id", "x", "target"))
    assert read_layout(tmp_path, card()).label_columns == ("target",)


def test_truth_values_become_numbers_where_the_metric_wants_numbers(tmp_path):
    competition(tmp_path, [[n, n, n % 2 == 0] for n in range(20)], TEST)
    assert read_layout(tmp_path, card("roc_auc")).truth(0) == ("1",)
    assert read_layout(tmp_path, card("accuracy")).truth(0) == ("True",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: (d / "train.csv").unlink(), "no train.csv"),
        (lambda d: (d / "sample_submission.csv").unlink(), "no sample_submission.csv"),
        (lambda d: write(d / "train.csv", ["what", "x", "y"], [[1, 2, 3]]), "exactly one column named 'id'"),
        (lambda d: write(d / "train.csv", ["id", "x"], [[1, 2]]), "No column in train.csv can be identified"),
        (
            lambda d: write(d / "train.csv", ["id", "x", "v", "w"], [[1, 2, 3, 4]]),
            "No column in train.csv can be identified",
        ),
        (lambda d: write(d / "train.csv", ["id", "x", "y"], [[1, 2, 3], [1, 2, 4]]), "the id '1' more than once"),
        (lambda d: write(d / "train.csv", ["id", "x", "y"], [[1, 2, "high"]]), "row 1: the label 'y' is 'high'"),
        (lambda d: (d / "train.csv").write_text("id,x,y\n1,2\n"), "train.csv, line 2: 2 cells"),
        (
            lambda d: write(d / "sample_submission.csv", ["id", "z"], [["t0", 1]]),
            "sample_submission.csv must have exactly one",
        ),
    ],
)
def test_what_cannot_be_split_is_refused_with_a_sentence(tmp_path, change, message):
    competition(tmp_path, [[n, n, n] for n in range(20)], TEST)
    change(tmp_path)
    with pytest.raises(UnsupportedLayout, match=message):
        read_layout(tmp_path, card())
