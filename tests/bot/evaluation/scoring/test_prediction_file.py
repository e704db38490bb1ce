import numpy as np
import pytest

from bot.evaluation.scoring import prediction_file
from bot.evaluation.scoring.prediction_file import read_submission, read_truth
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card, write
from tests.bot.evaluation.rejections import saying

IDS = ["a", "b", "c"]


@pytest.fixture
def sample(tmp_path):
    return write(tmp_path / "sample_submission.csv", ["id", "y"], [[i, 0] for i in IDS])


def test_rows_and_columns_may_come_in_any_order(sample):
    path = write(sample.with_name("submission.csv"), ["y", "id"], [[3, "c"], [1.5, "a"], ["2e0", "b"]])
    ids, values = read_submission(path, sample, card())
    assert ids == IDS
    assert values.tolist() == [[1.5], [2.0], [3.0]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        (b"\xff\xfe\x00binary", "not UTF-8 text"),
        ("id\na\nb\nc\n", "lacks the column 'y'"),
        ("id,y,z\na,1,1\nb,1,1\nc,1,1\n", "should not have the column 'z'"),
        ("id,y,y\na,1,1\nb,1,1\nc,1,1\n", "repeats the column 'y'"),
        ("id,y\na,1\nb,2\n", "2 rows; 3 are expected, and the first missing id is 'c'"),
        ("id,y\na,1\nb,2\nd,3\n", "row 3: the id 'd' is not in the sample submission, whose 3 ids look like 'a'"),
        ("id,y\na,1\nb,2\nc,3\nc,3\n", "row 4: the id 'c' appears more often than in the sample submission"),
        ("id,y\na,1\na,2\nc,3\n", "row 2: the id 'a' appears more often than in the sample submission"),
        ("id,y\na,1\nb,\nc,3\n", "row 2 (id 'b'): the value of 'y' is missing"),
        ("id,y\na,1\nb,NaN\nc,3\n", "row 2 (id 'b'): the value of 'y' is missing ('NaN')"),
        ("id,y\na,1\nb,2\nc,-inf\n", "row 3 (id 'c'): the value of 'y' is not finite: '-inf'"),
        ("id,y\na,high\nb,2\nc,3\n", "row 1 (id 'a'): the value of 'y' is not a number: 'high'"),
        ("id,y\na,1_000\nb,2\nc,3\n", "is not a number: '1_000'"),
        ("id,y\na,1,2\nb,2\nc,3\n", "row 1: 3 cells, but the header has 2"),
        ("<html>not found</html>", "lacks the columns 'id', 'y'"),
    ],
)
def test_a_fault_is_reported_with_its_row_and_column(sample, content, expected):
    assert expected in saying(sample, content)


def test_a_file_far_larger_than_its_sample_is_not_even_read(sample):
    path = sample.with_name("submission.csv")
    with path.open("wb") as file:
        file.truncate(20_000_000)
    with pytest.raises(InvalidSubmission, match="20,000,000 bytes"):
        read_submission(path, sample, card())


def test_a_missing_file_is_reported_as_missing(sample):
    with pytest.raises(InvalidSubmission, match=r"nothing\.csv does not exist"):
        read_submission(sample.with_name("nothing.csv"), sample, card())


@pytest.mark.parametrize("metric", ["rmsle", "mean_columnwise_rmsle"])
def test_a_negative_prediction_is_refused_where_logarithms_are_taken(sample, metric):
    assert "'-0.1', but the metric takes the logarithm" in saying(sample, "id,y\na,1\nb,-0.1\nc,3\n", card(metric))


def test_a_probability_outside_zero_and_one_is_refused(sample):
    assert "between 0 and 1" in saying(sample, "id,y\na,1\nb,1.5\nc,0\n", card("log_loss"))


def test_rows_of_several_probabilities_need_not_sum_to_one(tmp_path):
    sample = write(tmp_path / "sample_submission.csv", ["id", "p", "q"], [["a", 0.5, 0.5]])
    path = write(tmp_path / "submission.csv", ["id", "p", "q"], [["a", 3, 1]])
    assert read_submission(path, sample, card("log_loss", ("p", "q")))[1].tolist() == [[3.0, 1.0]]


def test_ids_are_compared_as_the_sample_writes_them(tmp_path):
    sample = write(tmp_path / "sample_submission.csv", ["id", "y"], [["2011-01-20 00:00:00", 0], ["007", 0]])
    path = write(tmp_path / "submission.csv", ["id", "y"], [["2011-01-20", 0], ["007", 0]])
    with pytest.raises(InvalidSubmission, match=r"'2011-01-20' is not in the sample.*'2011-01-20 00:00:00'"):
        read_submission(path, sample, card())


def test_labels_may_be_text_but_not_missing(sample):
    path = write(sample.with_name("submission.csv"), ["id", "y"], [["a", "None"], ["b", "x y"], ["c", "1"]])
    assert read_submission(path, sample, card("accuracy"))[1].ravel().tolist() == ["None", "x y", "1"]
    assert "is missing" in saying(sample, "id,y\na,\nb,1\nc,1\n", card("accuracy"))


def test_ids_that_the_sample_repeats_are_filled_in_order(tmp_path):
    sample = write(tmp_path / "sample_submission.csv", ["id", "y"], [["a", 0], ["b", 0], ["a", 0]])
    path = write(tmp_path / "submission.csv", ["id", "y"], [["a", 1], ["a", 2], ["b", 3]])
    assert read_submission(path, sample, card())[1].ravel().tolist() == [1.0, 3.0, 2.0]


def test_truth_ignores_other_columns_and_rows(tmp_path):
    path = write(
        tmp_path / "answers.csv", ["id", "Usage", "y"], [["z", "Ignored", ""], ["b", "Public", -2], ["a", "", 1]]
    )
    assert np.array_equal(read_truth(path, ["a", "b"], card("rmsle")), [[1.0], [-2.0]])


def test_truth_without_a_wanted_id_is_refused(tmp_path):
    path = write(tmp_path / "answers.csv", ["id", "y"], [["a", 1]])
    with pytest.raises(InvalidSubmission, match="first missing id is 'b'"):
        read_truth(path, ["a", "b"], card())


def test_texts_may_not_take_much_more_memory_than_their_file_takes_on_disk(sample, monkeypatch):
    task = card("own", predictions="text")
    monkeypatch.setattr(prediction_file, "_SLACK_BYTES_OF_TEXT", 5000)
    monkeypatch.setattr(prediction_file, "_TIMES_SAMPLE", 0)
    plain, wide = "x" * 1200, "\U0001f600" + "x" * 1200
    path = write(sample.with_name("submission.csv"), ["id", "y"], [[i, plain] for i in IDS])
    assert read_submission(path, sample, task)[1].ravel().tolist() == [plain] * 3
    write(path, ["id", "y"], [[i, wide] for i in IDS])
    with pytest.raises(
        InvalidSubmission, match=r"submission\.csv, row 2: predictions up to this row need too much memory"
    ):
        read_submission(path, sample, task)
