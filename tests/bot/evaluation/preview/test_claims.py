import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.preview import claim_lines, preview
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.evaluation.parts import SLUGS, card, real
from tests.bot.evaluation.preview.test_column_lines import columns

ROWS = range(300)


@pytest.fixture
def known(tmp_path):
    y, rating, age, gap = [n % 5 / 4 for n in ROWS], [n % 4 for n in ROWS], [n / 3 for n in ROWS], ["", *[*ROWS][1:]]
    return columns(tmp_path, y=y, rating=rating, body_age=age, gap=gap)


def claims(known, description, metric="rmse", files=()):
    task = card(metric).model_copy(update={"description": description})
    return claim_lines(task, known[:1], known[1:], files)


@pytest.mark.parametrize(
    ("description", "contradicted"),
    [
        ("Target labels are continuous values in the range [0,1].", "few distinct values: y (5)"),
        ("The column `rating` is a continuous score.", "few distinct values: rating (4)"),
        ("The body age lies between 18 and 65.", "body_age the range 18 to 65, but it has 0 to 99.6667"),
        ("There are no missing values in this data.", "some are: gap (0.3%)"),
        ("Join it with weather.csv and `train.csv`.", "files that do not exist: weather.csv."),
    ],
)
def test_what_the_data_contradict_is_reported(known, description, contradicted):
    (line,) = claims(known, description, files=["train.csv"])
    assert contradicted in line


@pytest.mark.parametrize(
    "description",
    [
        "We continuously improve the body age, a continuous quantity.",
        "The body age lies between 0 and 120. The rating is between 1 and 100 in other data, and body_age from 5 to 6.",
        "Predict missing values; there are no prizes.",
        "Write submission.csv, in the form of sampleSubmission.csv; see https://example.org/more.zip and {id}.csv.",
        "Each row is of one of 5 classes, or of 20 categories of animals.",
        "",
    ],
)
def test_what_is_true_or_may_mean_something_else_is_not(known, description):
    assert claims(known, description, "accuracy", ["data/sample_submission.csv"]) == []


def test_a_number_of_classes_that_the_labels_have_not_is_reported(known):
    assert "mentions 12 classes, but the labels have 5" in claims(known, "It has 12 classes.", "accuracy")[0]
    assert claims(known, "It has 12 classes.") == []


def test_files_are_looked_for_no_further_than_needed(known):
    def files():
        yield "train.csv"
        raise AssertionError

    assert claims(known, "See train.csv.", files=files()) == []


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_descriptions_of_real_competitions_are_not_accused(slug):
    folder, _ = real(slug)
    snapshot = Snapshot.load(folder, METRIC_DIRECTIONS)
    text = preview(snapshot.data, snapshot.card)
    assert "The description against the data" not in text and len(text.split()) <= 600
