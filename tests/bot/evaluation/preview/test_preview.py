import io
import zipfile

import pytest
from PIL import Image

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.preview import claim_lines, preview
from bot.evaluation.views.build import build_view, share_everything
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.evaluation.parts import SLUGS, card, competition, real, write
from tests.bot.evaluation.preview.test_column_lines import columns
from tests.bot.evaluation.written_layouts import LAYOUTS, write_layout

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
        ("The body age lies between 18 and 65.", "body_age ranges from 18 to 65, but the data has 0 to 99.6667"),
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
    assert "Description compared with the data" not in text and len(text.split()) <= 600


def picture(mode="RGB", size=(32, 24)):
    content = io.BytesIO()
    Image.new(mode, size).save(content, "PNG")
    return content.getvalue()


@pytest.fixture
def data(tmp_path):
    train = [[f"r{n}", n % 7 or "", "2011-01-01 00:00:00", f"word {n}", "ab"[n % 4 == 0]] for n in range(100)]
    competition(tmp_path, train, [["t0", 1, "2011-02-01 00:00:00", "w"]], header=("id", "x", "when", "text", "y"))
    return tmp_path


def test_files_columns_and_target_are_described(data):
    text = preview(data, card("accuracy"))
    assert "train.csv: 3.7 kB, 100 rows, 5 columns" in text
    assert "x: integer, '1' × 15, '2' × 14" in text and "15 missing" in text
    assert "when: time, '2011-01-01 00:00:00' × 100" in text
    assert "text: text of 6 to 7 characters, 100 distinct" in text
    assert "Columns of train.csv that are missing from the rows to predict: y" in text
    assert "y: 2 values: a 75 (75.0%), b 25 (25.0%)" in text
    assert "test.csv has the same columns except y." in text
    assert "One row for each row of test.csv, in the same order." in text


def test_a_quantity_is_described_by_its_distribution(tmp_path):
    text = preview(competition(tmp_path, [[n, n, n / 2] for n in range(101)], [["t", 0]]), card())
    assert "y: number, min 0, 10% 5, median 25, 90% 45, max 50, mean 25" in text


def test_numbered_columns_share_a_line(tmp_path):
    header = ("id", *(f"margin{n}" for n in range(1, 65)), "y")
    competition(tmp_path, [[r, *((c + 1) * r / 10 for c in range(64)), r] for r in range(10)], [["t"]], header=header)
    text = preview(tmp_path, card())
    assert "margin1 … margin64 (64 columns): " in text and "margin2" not in text


def test_many_columns_of_a_kind_share_a_line(tmp_path):
    names = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqrst"]
    competition(
        tmp_path, [[r, *(c * r / 10 for c in range(1, 81)), r] for r in range(20)], [["t"]], ("id", *names, "y")
    )
    assert "(80 columns): number" in preview(tmp_path, card()) and "dm:" not in preview(tmp_path, card())


@pytest.mark.integration
def test_folders_with_thousands_of_files_share_a_line(data):
    (data / "images").mkdir()
    for n in range(1500):
        (data / "images" / f"{n:04d}.png").write_bytes(picture() if n < 3 else b"")
    text = preview(data, card("accuracy"))
    assert "images/: 1,500 .png files" in text
    assert "0100.png" not in text


def test_archives_are_looked_into(data):
    with zipfile.ZipFile(data / "train.zip", "w") as archive:
        for n in range(40):
            archive.writestr(f"train/{n:02d}.png", picture("L", (8, 9)))
    with zipfile.ZipFile(data / "atoms.zip", "w") as archive:
        archive.writestr("atoms/1.xyz", "lattice 1 2 3\natom 0 0 0 Al\n")
    text = preview(data, card("accuracy"))
    assert "train.zip: 40 files (40 .png), e.g. train/00.png" in text
    assert "images, 40 of them checked: all 8 × 9 pixels, L" in text
    assert "atoms/1.xyz begins:\n    lattice 1 2 3" in text


def test_broken_and_foreign_files_are_tolerated(data):
    (data / "latin.csv").write_bytes(b"id,name\n1,caf\xe9\n")
    (data / "ragged.csv").write_text("a,b\n1\n")
    (data / "empty.csv").write_text("")
    (data / "broken.zip").write_bytes(b"PK not really")
    (data / "photo.png").write_bytes(b"no image")
    text = preview(data, card("accuracy"))
    assert "caf\ufffd" in text and "ragged.csv" in text and "broken.zip" in text
    text.encode()


@pytest.mark.integration
@pytest.mark.parametrize("limit", [300, 1000, 6000])
def test_a_preview_keeps_its_bound_and_is_always_the_same(data, limit):
    for n in range(30):
        write(data / f"table{n}.csv", [f"column {n}-{c} " + "x" * 50 for c in range(30)], [["v" * 80] * 30] * 3)
    text = preview(data, card("accuracy"), max_chars=limit)
    assert len(text) <= limit
    assert text == preview(data, card("accuracy"), max_chars=limit)


def test_the_training_rows_are_found_among_very_many_tables(data):
    for n in range(30):
        write(data / f"a{n}.csv", ["v"], [[n]])
    assert "y: 2 values: a 75 (75.0%), b 25 (25.0%)" in preview(data, card("accuracy"))


def test_every_column_of_text_shows_an_example(tmp_path):
    names = [f"text_{letter}" for letter in "abcdefghij"]
    train = [[r, *(f"{name} says {r}" for name in names), r] for r in range(40)]
    text = preview(competition(tmp_path, train, [["t", *names]], ("id", *names, "y")), card())
    assert all(f"'{name} says 0'" in text for name in names)


def test_of_very_many_columns_of_text_a_few_examples_are_shown(tmp_path):
    names = [f"cat{n}" for n in range(100)]
    train = [[r, *(f"{'ABC'[(r + n) % 3]}{n}" for n in range(100)), r] for r in range(40)]
    text = preview(competition(tmp_path, train, [["t", *names]], ("id", *names, "y")), card())
    assert "cat0 … cat99 (100 columns): text, 3 distinct each, e.g. cat0 'A0', cat1 'B1', cat2 'C2'" in text


def test_a_view_shows_how_its_rows_were_drawn(tmp_path):
    rows = [[f"r{n}", n % 7, "ab"[n % 4 == 0]] for n in range(200)]
    data, task = competition(tmp_path / "all", rows, [["t0", 1]]), card("accuracy")
    info = build_view(data, task, "holdout", 0, tmp_path / "data", tmp_path / "labels")
    text = preview(tmp_path / "data", task, tmp_path / "labels")
    assert (
        f"Of the 200 training rows, {info.train_rows} are in train.csv with labels, and {info.validation_rows} (30%) are in "
        "validation.csv without labels: sampled at random, stratified by y: each part contains the same 2 classes."
    ) in text
    assert "validation.csv and test.csv have the same columns except y." in text


def test_data_that_cannot_be_split_says_why(tmp_path):
    data = competition(tmp_path / "all", [["r", 1, 2]], [["t", 1]])
    share_everything(data, card(), "there is one row with a label", tmp_path / "data", tmp_path / "labels")
    assert "No rows are held out: there is one row with a label" in preview(
        tmp_path / "data", card(), tmp_path / "labels"
    )


def test_what_guards_doubt_is_stated(data):
    text = preview(data, card("accuracy"), doubts=["a fifth of the rows\n## repeat themselves"])
    assert "## Possible problems in the data\na fifth of the rows ## repeat themselves" in text


def test_files_of_rows_are_named_by_their_ids(tmp_path):
    competition(tmp_path, [[f"r{n}.png", n, n] for n in range(20)], [[f"t{n}.png", n] for n in range(10)])
    for side, letter, count in (("train", "r", 20), ("test", "t", 10)):
        with zipfile.ZipFile(tmp_path / f"{side}.zip", "w") as archive:
            for n in range(count):
                archive.writestr(f"{side}/{letter}{n}.png", picture("L", (8, 8 + n % 3)))
    text = preview(tmp_path, card())
    assert "train/{id} in train.zip: 20 of 20 training and validation rows have a file" in text
    assert "test/{id} in test.zip: 10 of 10 test rows have a file" in text
    assert "images, 20 of them checked: 8 to 8 wide, 8 to 10 high, most often 8 × 8 pixels, L" in text


def test_a_sample_in_another_order_is_reported(tmp_path):
    data = competition(tmp_path, [[n, n, n / 2] for n in range(50)], [["t0", 0], ["t1", 1]])
    write(data / "sample_submission.csv", ["id", "y"], [["t1", 0], ["t0", 0]])
    assert "One row for each row of test.csv, in a different order: match rows by id." in preview(data, card())


def test_folders_of_many_classes_share_a_line(tmp_path):
    for folder in range(30):
        for n in range(3):
            (tmp_path / "train" / f"class {folder}").mkdir(parents=True, exist_ok=True)
            (tmp_path / "train" / f"class {folder}" / f"{n}.png").write_bytes(picture(size=(8, 8)))
    competition(tmp_path, [[f"r{n}", n, n] for n in range(20)], [["t", 1]])
    text = preview(tmp_path, card())
    assert "train/[30 folders]/: 90 .png files" in text and "images, 60 of them checked: all 8 × 8 pixels, RGB" in text


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_has_a_preview_that_names_label_and_hold_out(tmp_path, name):
    data, task = write_layout(name, tmp_path / "whole")
    info = build_view(data, task, "holdout", 0, tmp_path / "data", tmp_path / "labels")
    text = preview(tmp_path / "data", task, tmp_path / "labels")
    assert info.description in text and all(column in text for column in info.label_columns)


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_previews_of_real_views_say_what_a_competitor_needs(slug, tmp_path):
    folder, task = real(slug)
    info = build_view(folder / "data", task, "holdout", 0, tmp_path / "data", tmp_path / "labels")
    text = preview(tmp_path / "data", task, tmp_path / "labels")
    assert 1000 < len(text) <= 10_000
    assert all(f"\n{column}: " in text for column in info.label_columns)
    assert info.description in text and "more lines" not in text and "(cut)" not in text
    for part in WANTED[slug]:
        assert part in text


WANTED = {
    "aerial-cactus-identification": ("{id} in train.zip: 14,175 of 14,175", "all 32 × 32 pixels, RGB"),
    "bike-sharing-demand": (
        "the latest rows by datetime in each of 24 periods",
        "casual, registered, count",
        "in test.csv",
    ),
    "leaf-classification": ("margin1 … margin64 (64 columns): number", "species: 99 classes with"),
    "nomad2018-predict-transparent-conductors": (
        " of the 240 ids of test.csv also occur in train.csv, for different rows: never join by id.",
        "train/{id}/geometry.xyz in train_geometry.zip: 2,160 of 2,160",
        "have the same feature values as an earlier row",
    ),
    "spooky-author-identification": ("text: text of 21 to ", "distinct, e.g. "),
}
"""What a script must know, and cannot from the description alone."""
