import hashlib
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from bot.evaluation.views.build import VERSION, build_view
from state.errors import UnsupportedLayout, UsageError
from tests.bot.evaluation.parts import card, column, competition, read, write
from tests.bot.evaluation.written_layouts import write_layout

SUBMISSION = ("id", "a", "b")
TASK = card("log_loss", ("a", "b"))
VIEWS = ("sample", "holdout", "sealed", "trial", "full")


@pytest.fixture
def data(tmp_path):
    train = [[f"r{n:04d}", f"0.{n:04d}0", "ab"[n % 3 == 0]] for n in range(1000)]
    test = [[f"t{n:04d}", f"{n}.50"] for n in range(300)]
    header = ("id", "x", "who")
    return competition(tmp_path / "data", train, test, header=header, submission=SUBMISSION, default=("0.50", "0.5"))


def view(data, name="holdout", task=TASK, seed=0, place="view"):
    out = data.parent / place / name
    info = build_view(data, task, name, seed, out / "data", out / "labels")
    return info, out / "data", out / "labels" / "labels.csv"


def contents(folder: Path):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_holdout_withholds_labels_of_both_parts(data):
    info, out, labels = view(data)
    assert (info.name, info.seed, info.version, info.split_kind) == ("holdout", 0, VERSION, "stratified")
    assert (info.withheld_columns, info.label_columns) == (("who",), ("who",))
    assert (info.train_rows, info.validation_rows, info.final_rows) == (700, 300, 100)
    assert read(out / "validation.csv")[0] == ["id", "x"]
    shown, asked = set(column(out / "train.csv", "id")), column(out / "validation.csv", "id")
    assert len(shown) == 700 and len(asked) == 300 and not shown & set(asked)
    assert column(out / "sample_validation.csv", "id") == asked == column(labels, "id")
    assert asked != sorted(asked)
    truth = dict(zip(column(data / "train.csv", "id"), column(data / "train.csv", "who"), strict=True))
    assert [row[1:] for row in read(labels)[1:]] == [["1", "0"] if truth[i] == "a" else ["0", "1"] for i in asked]


def test_sample_validation_is_filled_as_the_sample_submission_is(data):
    _, out, _ = view(data)
    header, *rows = read(out / "sample_validation.csv")
    assert header == list(SUBMISSION)
    assert {tuple(row[1:]) for row in rows} == {("0.50", "0.5")}


def test_views_of_one_seed_share_their_parts(data):
    ids = {}
    for name in VIEWS:
        _, out, _ = view(data, name)
        ids[name] = (set(column(out / "train.csv", "id")), set(column(out / "validation.csv", "id")))
    everything = set(column(data / "train.csv", "id"))
    assert ids["holdout"][0] | ids["holdout"][1] == everything == ids["full"][0]
    assert not ids["holdout"][0] & ids["holdout"][1]
    assert ids["sample"][0] < ids["holdout"][0] and ids["sample"][1] < ids["holdout"][1]
    assert ids["full"][1] < everything and len(ids["full"][1]) == 20
    assert ids["sealed"][0] | ids["sealed"][1] == everything and not ids["sealed"][0] & ids["sealed"][1]
    assert ids["sealed"][1] < ids["holdout"][1] and len(ids["sealed"][1]) == 10
    assert ids["trial"][0] < ids["holdout"][0] and len(ids["trial"][0]) == 665 and ids["trial"][1] == ids["sealed"][1]


def test_sample_has_few_rows_and_their_test_rows(data):
    info, out, _ = view(data, "sample")
    assert (info.train_rows, info.validation_rows, info.final_rows) == (400, 200, 0)
    assert len(read(out / "test.csv")) == len(read(out / "sample_submission.csv")) == 201
    assert column(out / "test.csv", "id") == column(out / "sample_submission.csv", "id")


def test_cells_keep_their_text_and_rows_their_order(tmp_path):
    awkward = ["0.10", "1e3", "", "NA", "007", 'say "x", y', "two\nlines", "a\rb", " 1 ", "é", "TRUE", "-0"]
    data = competition(tmp_path / "data", [[f"r{n}", awkward[n % 12], n] for n in range(120)], [["t", "0"]])
    for name in VIEWS:
        _, out, _ = view(data, name, card())
        rows = {row[0]: row for row in read(data / "train.csv")[1:]}
        shown = read(out / "train.csv")[1:]
        assert shown == [rows[row[0]] for row in shown]
        assert [int(row[2]) for row in shown] == sorted(int(row[2]) for row in shown)
        assert all(row == rows[row[0]][:2] for row in read(out / "validation.csv")[1:])


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(data):
    for name in VIEWS:
        first, again, other = (view(data, name, seed=s, place=p)[1] for s, p in ((1, "a"), (1, "b"), (2, "c")))
        assert contents(first.parent) == contents(again.parent) != contents(other.parent)


def test_a_view_replaces_an_older_one_and_leaves_nothing_half_made(data):
    _, out, _ = view(data)
    (out / "leftover.csv").write_text("old")
    view(data)
    assert sorted(path.name for path in out.parent.iterdir()) == ["data", "labels"]
    assert not (out / "leftover.csv").exists()


def test_the_competitions_own_files_are_never_written_to(data):
    (data / "images").mkdir()
    (data / "images" / "a.png").write_bytes(b"image")
    before = contents(data)
    for name in VIEWS:
        view(data, name)
    assert contents(data) == before


def test_other_files_are_linked_hard_and_never_symbolically(data):
    (data / "images").mkdir()
    (data / "images" / "a.png").write_bytes(b"image")
    (data / "linked.png").symlink_to(data / "images" / "a.png")
    _, out, _ = view(data)
    assert not any(path.is_symlink() for path in out.rglob("*"))
    assert (out / "images" / "a.png").samefile(data / "images" / "a.png")
    assert (out / "linked.png").read_bytes() == b"image"
    assert (out / "test.csv").samefile(data / "test.csv")


def test_another_table_with_labels_is_filtered(data):
    rows = read(data / "train.csv")[1:]
    write(data / "extra" / "folds.csv", ["fold", "id", "who"], [[n % 5, row[0], row[2]] for n, row in enumerate(rows)])
    both = [*column(data / "train.csv", "id"), *column(data / "test.csv", "id")]
    write(data / "features.csv", ["id", "z"], [[identifier, 1] for identifier in both])
    info, out, _ = view(data)
    assert column(out / "extra" / "folds.csv", "id") == column(out / "train.csv", "id")
    assert "folds.csv: removed 300 rows with withheld ids" in info.notes
    assert (out / "features.csv").samefile(data / "features.csv")


def test_what_may_hold_labels_and_cannot_be_filtered_is_left_out(data):
    train = (data / "train.csv").read_bytes()
    with zipfile.ZipFile(data / "train.csv.zip", "w") as archive:
        archive.writestr("train.csv", train)
    with zipfile.ZipFile(data / "images.zip", "w") as archive:
        archive.writestr("r0001.png", b"image who")
    (data / "train.json").write_text('[{"id": "r0001", "who": "a"}]')
    (data / "train.parquet").write_bytes(b"PAR1 id who PAR1")
    (data / "other.json").write_text('{"sizes": [1, 2]}')
    write(data / "labels_in_order.csv", ["who"], [["a"]])
    info, out, _ = view(data)
    names = {path.name for path in out.iterdir()}
    assert names >= {"images.zip", "other.json"}
    assert not names & {"train.csv.zip", "train.json", "train.parquet", "labels_in_order.csv"}
    assert sum("left out" in note for note in info.notes) == 4
    assert (view(data, "full")[1] / "train.csv.zip").exists()


def test_equal_ids_in_train_and_test_are_never_joined(tmp_path):
    train, test = [[n, n / 10, n] for n in range(100)], [[n, n / 20] for n in range(50)]
    data = competition(tmp_path / "data", train, test)
    write(data / "sample_submission_2.csv", ["id", "y"], [[n, 1] for n in range(50)])
    _, out, _ = view(data, task=card())
    for name in ("test.csv", "sample_submission.csv", "sample_submission_2.csv"):
        assert read(out / name) == read(data / name)


def test_without_a_test_table_the_rest_of_the_row_is_withheld(tmp_path):
    write(tmp_path / "data" / "train.csv", ["id", "width", "y"], [[f"{n}.jpg", n, n % 2] for n in range(100)])
    write(tmp_path / "data" / "sample_submission.csv", ["id", "y"], [[f"t{n}.jpg", 0.5] for n in range(300)])
    info, out, _ = view(tmp_path / "data", "sample", card("roc_auc"))
    assert info.withheld_columns == ("width", "y")
    assert read(out / "validation.csv")[0] == ["id"]
    assert len(read(out / "sample_submission.csv")) == 201 and not (out / "test.csv").exists()


@pytest.mark.parametrize("name", ["train/{label}/{id}.jpg", "train/{id}_{label}.jpg", "{label}.{id}.jpg"])
def test_files_named_or_filed_by_their_labels_are_refused(tmp_path, name):
    rows = [[f"i{n}.jpg", ["cat", "dog"][n % 2]] for n in range(60)]
    data = tmp_path / "data"
    write(data / "train.csv", ["id", "y"], rows)
    write(data / "sample_submission.csv", ["id", "y"], [["t.jpg", "cat"]])
    with zipfile.ZipFile(data / "train.zip", "w") as archive:
        for identifier, label in rows:
            archive.writestr(name.format(id=identifier.removesuffix(".jpg"), label=label), b"")
    with pytest.raises(UnsupportedLayout, match="names or folders of the training files reveal the labels"):
        view(data, task=card("accuracy"))


def test_a_competitions_own_validation_file_is_refused(data):
    write(data / "validation.csv", ["id"], [[1]])
    with pytest.raises(UnsupportedLayout, match=r"a file named validation.csv"):
        view(data)


def test_labels_may_not_lie_in_the_view(data, tmp_path):
    with pytest.raises(UsageError, match="must not be inside the view"):
        build_view(data, TASK, "holdout", 0, tmp_path / "v", tmp_path / "v" / "labels")


FORK = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        "


@pytest.mark.parametrize("name", [*VIEWS, "swap"])
def test_what_a_mac_puts_into_a_zip_is_in_none_of_a_view(data, name):
    for side in ("train", "test", "more"):
        with zipfile.ZipFile(data / f"{side}.csv.zip", "w") as archive:
            archive.write(data / ("test.csv" if side == "more" else f"{side}.csv"), f"{side}.csv")
            archive.writestr(f"__MACOSX/._{side}.csv", FORK)
            archive.writestr("._folder", FORK)
    (data / "train.csv").unlink()
    (data / "test.csv").unlink()
    _, out, _ = view(data, name)
    rows = {path.name: len(pd.read_csv(path)) for path in sorted(out.glob("*.zip"))}
    assert rows.keys() == {"more.csv.zip", "test.csv.zip", "train.csv.zip"}
    assert rows["test.csv.zip"] == len(read(out / "sample_submission.csv")) - 1


def test_a_fork_does_not_reveal_of_which_class_a_withheld_file_is(tmp_path):
    data, task = write_layout("plant_seedlings", tmp_path)
    with zipfile.ZipFile(data / "train.zip", "w") as archive:
        for path in sorted((data / "train").glob("*/*")):
            archive.write(path, path.relative_to(data))
            archive.writestr(f"__MACOSX/{path.parent.relative_to(data)}/._{path.name}", FORK)
    _, out, _ = view(data, task=task)
    with zipfile.ZipFile(out / "train.zip") as archive:
        assert len(archive.namelist()) == len(read(out / "train.csv")) - 1
