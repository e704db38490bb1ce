"""Competitions whose training rows are files: in folders by class, named by class, or each with a file of labels."""

import os
import random
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import card, column, read, write
from tests.bot.evaluation.written_layouts import SPECIES, picture, view_of, write_layout


@pytest.fixture
def seedlings(tmp_path):
    data, task = write_layout("plant_seedlings", tmp_path)
    for number, name in enumerate(SPECIES):
        for path in (data / "train" / name).iterdir():
            os.utime(path, (1000 + number, 1000 + number))
    return data, task


@pytest.fixture
def cats(tmp_path):
    return write_layout("dogs_vs_cats", tmp_path)


@pytest.fixture
def documents(tmp_path):
    return write_layout("denoising_documents", tmp_path)


def changes(labels):
    """How often the label changes from one to the next."""
    return sum(a != b for a, b in pairwise(labels))


def inner(data):
    """What a script can read of each file but its pixels: never the same for all rows of a label."""
    return {path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()}


def classes_by_content(data):
    """The class of each training file of the seedlings, by what it holds."""
    return {path.read_bytes(): path.parent.name for path in (data / "train").rglob("*.png")}


@pytest.mark.parametrize("name", ["sample", "holdout"])
def test_files_in_folders_by_class_are_moved_where_their_label_is_withheld(seedlings, name):
    data, task = seedlings
    info, out, labels = view_of(data, task, name)
    header, *index = read(out / "train.csv")
    assert header == ["file", "path", "species"] and len(index) == info.train_rows
    assert all((out / path).parent.name == label for _, path, label in index)
    header, *asked = read(out / "validation.csv")
    assert header == ["file", "path"] and len(asked) == info.validation_rows
    assert [row[0] for row in asked] == column(out / "sample_validation.csv", "file") == column(labels, "file")
    of_content = classes_by_content(data)
    assert [of_content[(out / path).read_bytes()] for _, path in asked] == column(labels, "species")
    assert {path for path in inner(out) if path.startswith("train/")} == {path for _, path, _ in index}
    assert {path for path in inner(out) if path.startswith("validation/")} == {path for _, path in asked}


@pytest.mark.parametrize("name", ["sample", "holdout"])
def test_nothing_of_a_moved_file_but_its_content_goes_with_its_label(seedlings, name):
    data, task = seedlings
    _, out, labels = view_of(data, task, name)
    stats = [(out / path).stat() for path in column(out / "validation.csv", "path")]
    truth = column(labels, "species")
    assert len({stat.st_mtime_ns for stat in stats}) == 1 and all(stat.st_nlink == 1 for stat in stats)
    assert {path.parts for path in (out / "validation").rglob("*") if path.is_dir()} == set()
    by_place = [label for _, label in sorted(zip([stat.st_ino for stat in stats], truth, strict=True))]
    by_name = [label for _, label in sorted(zip(column(labels, "file"), truth, strict=True))]
    for order in (truth, by_place, by_name):
        assert changes(order) > len(order) / 4
    withheld = {path.name for path in (data / "train").rglob("*.png")} - {
        p.name for p in (out / "train").rglob("*.png")
    }
    texts = b"".join(path.read_bytes() for path in out.rglob("*.csv"))
    for species in SPECIES:
        assert not [n for n in withheld if f"{species}/{n}".encode() in texts]


def test_names_that_reveal_the_class_give_way_to_numbers_after_those_of_the_test(cats):
    data, task = cats
    info, out, labels = view_of(data, task)
    ids = column(out / "validation.csv", "id")
    assert min(map(int, ids)) > 20 and {int(i) for i in ids} <= set(range(21, 81))
    assert set(column(out / "validation.csv", "path")) == {f"validation/{i}.jpg" for i in ids}
    contents = {path.read_bytes(): path.name[:3] for path in (data / "train").iterdir()}
    truth = [contents[(out / f"validation/{i}.jpg").read_bytes()] for i in ids]
    assert [str(int(animal == "dog")) for animal in truth] == column(labels, "label")
    left = {path.name for path in (out / "train").iterdir()}
    assert {Path(path).name for path in column(out / "train.csv", "path")} == left and len(left) == info.train_rows
    assert changes([animal for _, animal in sorted(zip(map(int, ids), truth, strict=True))]) > len(ids) / 4


def test_names_that_count_through_the_classes_give_way_too(tmp_path):
    rng, data = random.Random(3), tmp_path / "data"
    for number in range(90):
        picture(data / "train" / SPECIES[number // 30] / f"img_{number:03d}.png", rng)
    tests = [picture(data / "test" / f"img_{number:03d}.png", rng).name for number in range(90, 120)]
    write(data / "sample_submission.csv", ["file", "species"], [[name, "Charlock"] for name in tests])
    _, out, _ = view_of(data, card("accuracy", ("species",), "file"))
    originals = {path.name for path in (data / "train").rglob("*.png")}
    assert not originals & set(column(out / "validation.csv", "file"))
    assert not set(tests) & set(column(out / "validation.csv", "file"))


def test_the_same_names_in_several_folders_are_distinguished(tmp_path):
    info, _, labels = view_of(*write_layout("speech_commands", tmp_path))
    assert info.train_rows + info.validation_rows == 60
    assert len(set(column(labels, "fname"))) == info.validation_rows
    assert set(column(labels, "label")) == {"yes", "no", "up"}


def test_what_else_names_a_withheld_file_is_left_out(seedlings):
    data, task = seedlings
    names = sorted(path.relative_to(data).as_posix() for path in (data / "train").rglob("*.png"))
    (data / "list.txt").write_text("\n".join(names))
    (data / "notes.txt").write_text("taken in Denmark")
    with zipfile.ZipFile(data / "train.zip", "w", strict_timestamps=False) as archive:
        for name in names:
            archive.write(data / name, name)
    for name in names[:2]:
        picture(data / "thumbnails" / name, random.Random(0))
    info, out, _ = view_of(data, task)
    assert not (out / "list.txt").exists() and (out / "notes.txt").exists()
    stay = set(column(out / "train.csv", "path"))
    assert set(zipfile.ZipFile(out / "train.zip").namelist()) == stay
    assert (out / "thumbnails" / names[0]).exists() == (names[0] in stay)
    assert "list.txt left out: it names files whose labels are withheld" in info.notes
    assert {m.date_time for m in zipfile.ZipFile(out / "train.zip").infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("competition", ["seedlings", "cats"])
def test_the_same_seed_gives_the_same_files(competition, request):
    data, task = request.getfixturevalue(competition)
    for name in ("holdout", "swap"):
        first = view_of(data, task, name)[1]
        held = {path: (first / path).read_bytes() for path in inner(first)}
        again = view_of(data, task, name)[1]
        assert held == {path: (again / path).read_bytes() for path in inner(again)}


def test_swapped_files_stand_where_the_test_files_stood(cats):
    data, task = cats
    _, holdout, labels = view_of(data, task)
    _, out, swapped = view_of(data, task, "swap")
    assert {path.name for path in (out / "test").iterdir()} == {f"{i}.jpg" for i in column(labels, "id")}
    assert column(out / "sample_submission.csv", "id") == column(labels, "id") == column(swapped, "id")
    for number in column(labels, "id"):
        assert (out / "test" / f"{number}.jpg").read_bytes() == (holdout / "validation" / f"{number}.jpg").read_bytes()
    assert not (out / "validation.csv").exists() and not (out / "sample_validation.csv").exists()


def test_two_classes_of_which_it_is_unclear_which_is_one_are_refused(cats):
    data, task = cats
    with pytest.raises(UnsupportedLayout, match="to the classes cat and dog; it is unclear which of the classes is 1"):
        view_of(data, task.model_copy(update={"description": ""}))


def test_classes_may_be_columns_of_the_submission(seedlings):
    data, _ = seedlings
    tests = sorted(path.name for path in (data / "test").iterdir())
    write(data / "sample_submission.csv", ["file", *SPECIES], [[name, 0.3, 0.3, 0.4] for name in tests])
    _, out, labels = view_of(data, card("log_loss", SPECIES, "file"))
    assert {tuple(row[1:]) for row in read(labels)[1:]} == {("1", "0", "0"), ("0", "1", "0"), ("0", "0", "1")}
    assert read(out / "train.csv")[0] == ["file", "path", "label"]


@pytest.mark.parametrize("name", ["sample", "holdout"])
def test_files_of_labels_are_left_out_and_their_pixels_asked_for(documents, name):
    data, task = documents
    info, out, labels = view_of(data, task, name)
    asked = column(out / "validation.csv", "id")
    cleaned = {path.stem for path in (out / "train_cleaned").iterdir()}
    assert cleaned == set(column(out / "train.csv", "id")) and not cleaned & set(asked)
    assert read(out / "validation.csv")[0] == ["id", "path"]
    assert (out / column(out / "validation.csv", "path")[0]).read_bytes() == (
        data / f"train/{asked[0]}.png"
    ).read_bytes()
    rows = dict(read(labels)[1:])
    assert list(rows) == column(out / "sample_validation.csv", "id") and len(rows) == 48 * len(asked)
    with Image.open(data / f"train_cleaned/{asked[0]}.png") as image:
        assert float(rows[f"{asked[0]}_6_2"]) == image.getpixel((1, 5)) / 255
    assert list(rows)[:2] == [f"{asked[0]}_1_1", f"{asked[0]}_2_1"]
    assert info.notes[0] == "the labels are the files in train_cleaned/; train.csv is an index of the files"


def test_documents_that_stand_in_for_the_test_replace_it(documents):
    data, task = documents
    _, out, labels = view_of(data, task, "swap")
    units = {identifier.rsplit("_", 2)[0] for identifier in column(labels, "id")}
    assert {path.stem for path in (out / "test").iterdir()} == units
    assert not units & {path.stem for path in (out / "train").iterdir()}
    assert {path.stem for path in (out / "train").iterdir()} == {
        path.stem for path in (out / "train_cleaned").iterdir()
    }


def test_masks_of_withheld_rows_are_left_out(tmp_path):
    data, task = write_layout("salt_masks", tmp_path)
    everyone = set(column(data / "depths.csv", "id"))
    for name in ("holdout", "sample"):
        _, out, labels = view_of(data, task, name)
        masks, asked = {path.stem for path in (out / "train" / "masks").iterdir()}, set(column(labels, "id"))
        assert masks == set(column(out / "train.csv", "id")) and not masks & asked
        assert {path.stem for path in (out / "train" / "images").iterdir()} == set(column(data / "train.csv", "id"))
        assert set(column(out / "depths.csv", "id")) == everyone
    _, out, labels = view_of(data, task, "swap")
    assert {path.stem for path in (out / "test" / "images").iterdir()} == set(column(labels, "id"))
    assert {path.stem for path in (out / "train" / "images").iterdir()} == set(column(out / "train.csv", "id"))


def test_files_in_archives_follow_their_rows(tmp_path):
    """aerial-cactus-identification and others: train.zip and test.zip beside train.csv."""
    rng, data = random.Random(8), tmp_path / "data"
    write(data / "train.csv", ["id", "has_cactus"], [[f"{n:03x}.jpg", n % 2] for n in range(60)])
    write(data / "sample_submission.csv", ["id", "has_cactus"], [[f"{n:03x}.jpg", 0.5] for n in range(60, 80)])
    for side, numbers in (("train", range(60)), ("test", range(60, 80))):
        with zipfile.ZipFile(data / f"{side}.zip", "w") as archive:
            for n in numbers:
                archive.writestr(f"{side}/{n:03x}.jpg", rng.randbytes(50))
    with zipfile.ZipFile(data / "train.zip") as archive:
        pictures = {Path(name).name: archive.read(name) for name in archive.namelist()}
    _, out, labels = view_of(data, card("roc_auc", ("has_cactus",)), "swap")
    with zipfile.ZipFile(out / "test.zip") as tested, zipfile.ZipFile(out / "train.zip") as trained:
        assert {Path(name).name for name in trained.namelist()} == set(column(out / "train.csv", "id"))
        assert {Path(name).name for name in tested.namelist()} == set(column(labels, "id"))
        assert all(tested.read(name) == pictures[Path(name).name] for name in tested.namelist())
        assert all(name.startswith("test/") for name in tested.namelist())
