"""Competitions whose training rows are files: in folders by class, named by class, or each with a file of labels."""

import os
import random
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from bot.evaluation.views import build_view
from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import card, column, read, write

SPECIES = ("Black-grass", "Charlock", "Sugar beet")


def build(data, task, name="holdout", seed=0):
    out = data.parent / name.replace("/", "-")
    info = build_view(data, task, name, seed, out / "data", out / "labels")
    return info, out / "data", out / "labels" / "labels.csv"


def picture(path: Path, rng: random.Random, size=(8, 6)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.frombytes("L", size, rng.randbytes(size[0] * size[1])).save(path)
    return path


@pytest.fixture
def seedlings(tmp_path):
    rng, data = random.Random(1), tmp_path / "data"
    for number, name in enumerate(SPECIES):
        for _ in range(40):
            path = picture(data / "train" / name / f"{rng.randrange(16**9):09x}.png", rng)
            os.utime(path, (1000 + number, 1000 + number))
    tests = [picture(data / "test" / f"{rng.randrange(16**9):09x}.png", rng).name for _ in range(30)]
    write(data / "sample_submission.csv", ["file", "species"], [[name, "Sugar beet"] for name in tests])
    return data, card("accuracy", ("species",), "file")


@pytest.fixture
def cats(tmp_path):
    rng, data = random.Random(2), tmp_path / "data"
    for name in ("cat", "dog"):
        for number in range(40):
            picture(data / "train" / f"{name}.{number}.jpg", rng)
    for number in range(1, 31):
        picture(data / "test" / f"{number}.jpg", rng)
    write(data / "sample_submission.csv", ["id", "label"], [[number, 0.5] for number in range(1, 31)])
    task = card("log_loss", ("label",)).model_copy(
        update={"description": "the probability of a dog (1 = dog, 0 = cat)"}
    )
    return data, task


def inner(data):
    """What a script can read of each file but its pixels: never the same for all rows of a label."""
    return {path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()}


def classes_by_content(data):
    """The class of each training file of the seedlings, by what it holds."""
    return {path.read_bytes(): path.parent.name for path in (data / "train").rglob("*.png")}


@pytest.mark.parametrize("name", ["sample", "holdout", "final", "fold 2/3"])
def test_files_in_folders_by_class_are_moved_where_their_label_is_withheld(seedlings, name):
    data, task = seedlings
    info, out, labels = build(data, task, name)
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


@pytest.mark.parametrize("name", ["sample", "holdout", "final", "fold 1/3"])
def test_nothing_of_a_moved_file_but_its_content_goes_with_its_label(seedlings, name):
    data, task = seedlings
    _, out, labels = build(data, task, name)
    stats = [(out / path).stat() for path in column(out / "validation.csv", "path")]
    truth = column(labels, "species")
    assert len({stat.st_mtime_ns for stat in stats}) == 1 and all(stat.st_nlink == 1 for stat in stats)
    assert {path.parts for path in (out / "validation").rglob("*") if path.is_dir()} == set()
    by_place = [label for _, label in sorted(zip([stat.st_ino for stat in stats], truth, strict=True))]
    by_name = [label for _, label in sorted(zip(column(labels, "file"), truth, strict=True))]
    for order in (truth, by_place, by_name):
        assert sum(a != b for a, b in zip(order, order[1:], strict=False)) > len(order) / 4
    withheld = {path.name for path in (data / "train").rglob("*.png")} - {
        p.name for p in (out / "train").rglob("*.png")
    }
    texts = b"".join(path.read_bytes() for path in out.rglob("*.csv"))
    for species in SPECIES:
        assert not [n for n in withheld if f"{species}/{n}".encode() in texts]


def test_names_that_tell_the_class_give_way_to_numbers_after_those_of_the_test(cats):
    data, task = cats
    info, out, labels = build(data, task)
    ids = column(out / "validation.csv", "id")
    assert min(map(int, ids)) > 30 and {int(i) for i in ids} <= set(range(31, 111))
    assert set(column(out / "validation.csv", "path")) == {f"validation/{i}.jpg" for i in ids}
    contents = {path.read_bytes(): path.name[:3] for path in (data / "train").iterdir()}
    truth = [contents[(out / f"validation/{i}.jpg").read_bytes()] for i in ids]
    assert [str(int(animal == "dog")) for animal in truth] == column(labels, "label")
    left = {path.name for path in (out / "train").iterdir()}
    assert {Path(path).name for path in column(out / "train.csv", "path")} == left and len(left) == info.train_rows
    numbered = sorted(zip(map(int, ids), truth, strict=True))
    changes = sum(a[1] != b[1] for a, b in zip(numbered, numbered[1:], strict=False))
    assert changes > len(ids) / 4


def test_names_that_count_through_the_classes_give_way_too(tmp_path):
    rng, data = random.Random(3), tmp_path / "data"
    for number in range(90):
        picture(data / "train" / SPECIES[number // 30] / f"img_{number:03d}.png", rng)
    tests = [picture(data / "test" / f"img_{number:03d}.png", rng).name for number in range(90, 120)]
    write(data / "sample_submission.csv", ["file", "species"], [[name, "Charlock"] for name in tests])
    _, out, _ = build(data, card("accuracy", ("species",), "file"))
    originals = {path.name for path in (data / "train").rglob("*.png")}
    assert not originals & set(column(out / "validation.csv", "file"))
    assert not set(tests) & set(column(out / "validation.csv", "file"))


def test_the_same_names_in_several_folders_are_told_apart(tmp_path):
    rng, data = random.Random(4), tmp_path / "data"
    for word in ("yes", "no", "up"):
        for number in range(20):
            path = data / "train" / "audio" / word / f"{number:04x}_nohash_0.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(rng.randbytes(100))
    (data / "test" / "audio").mkdir(parents=True)
    for number in range(20):
        (data / "test" / "audio" / f"clip_{number:04x}.wav").write_bytes(rng.randbytes(100))
    names = [f"clip_{number:04x}.wav" for number in range(20)]
    write(data / "sample_submission.csv", ["fname", "label"], [[name, "no"] for name in names])
    info, out, labels = build(data, card("accuracy", ("label",), "fname"))
    assert info.train_rows + info.validation_rows == 60 - 6
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
    picture(data / "thumbnails" / names[0], random.Random(0))
    info, out, labels = build(data, task)
    assert not (out / "list.txt").exists() and (out / "notes.txt").exists()
    stay = set(column(out / "train.csv", "path"))
    assert set(zipfile.ZipFile(out / "train.zip").namelist()) == stay
    assert (out / "thumbnails" / names[0]).exists() == (names[0] in stay)
    assert "list.txt left out: it names files whose labels are withheld" in info.notes
    assert {m.date_time for m in zipfile.ZipFile(out / "train.zip").infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("competition", ["seedlings", "cats"])
def test_the_same_seed_gives_the_same_files(competition, request):
    data, task = request.getfixturevalue(competition)
    for name in ("holdout", "fold 1/3", "swap"):
        first = build(data, task, name)[1]
        held = {path: (first / path).read_bytes() for path in inner(first)}
        again = build(data, task, name)[1]
        assert held == {path: (again / path).read_bytes() for path in inner(again)}


def test_swapped_files_stand_where_the_test_files_stood(cats):
    data, task = cats
    _, holdout, labels = build(data, task)
    _, out, swapped = build(data, task, "swap")
    assert {path.name for path in (out / "test").iterdir()} == {f"{i}.jpg" for i in column(labels, "id")}
    assert column(out / "sample_submission.csv", "id") == column(labels, "id") == column(swapped, "id")
    for number in column(labels, "id"):
        assert (out / "test" / f"{number}.jpg").read_bytes() == (holdout / "validation" / f"{number}.jpg").read_bytes()
    assert not (out / "validation.csv").exists() and not (out / "sample_validation.csv").exists()


def test_two_classes_of_which_nothing_says_which_is_one_are_refused(cats):
    data, task = cats
    with pytest.raises(UnsupportedLayout, match="of the classes cat and dog; nothing says which of them is 1"):
        build(data, task.model_copy(update={"description": ""}))


def test_classes_may_be_columns_of_the_submission(seedlings):
    data, _ = seedlings
    tests = sorted(path.name for path in (data / "test").iterdir())
    write(data / "sample_submission.csv", ["file", *SPECIES], [[name, 0.3, 0.3, 0.4] for name in tests])
    _, out, labels = build(data, card("log_loss", SPECIES, "file"))
    assert {tuple(row[1:]) for row in read(labels)[1:]} == {("1", "0", "0"), ("0", "1", "0"), ("0", "0", "1")}
    assert read(out / "train.csv")[0] == ["file", "path", "label"]


@pytest.fixture
def documents(tmp_path):
    rng, data = random.Random(5), tmp_path / "data"
    for number in range(30):
        picture(data / "train" / f"{number}.png", rng)
        picture(data / "train_cleaned" / f"{number}.png", rng)
    asked = []
    for number in range(30, 34):
        picture(data / "test" / f"{number}.png", rng)
        asked += [[f"{number}_{y}_{x}", 1] for x in range(1, 9) for y in range(1, 7)]
    write(data / "sample_submission.csv", ["id", "value"], asked)
    return data, card("rmse", ("value",))


@pytest.mark.parametrize("name", ["sample", "holdout", "final", "fold 1/3"])
def test_files_of_labels_are_left_out_and_their_pixels_asked_for(documents, name):
    data, task = documents
    info, out, labels = build(data, task, name)
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
    _, out, labels = build(data, task, "swap")
    units = {identifier.rsplit("_", 2)[0] for identifier in column(labels, "id")}
    assert {path.stem for path in (out / "test").iterdir()} == units
    assert not units & {path.stem for path in (out / "train").iterdir()}
    assert {path.stem for path in (out / "train").iterdir()} == {
        path.stem for path in (out / "train_cleaned").iterdir()
    }


def test_masks_of_withheld_rows_are_left_out(tmp_path):
    rng, data = random.Random(6), tmp_path / "data"
    ids = [f"{rng.randrange(16**10):010x}" for _ in range(80)]
    for number, identifier in enumerate(ids):
        where = "train" if number < 60 else "test"
        picture(data / where / "images" / f"{identifier}.png", rng)
        if number < 60:
            picture(data / "train" / "masks" / f"{identifier}.png", rng)
    write(
        data / "train.csv", ["id", "rle_mask"], [[i, f"{n} {n + 1}" if n % 3 else ""] for n, i in enumerate(ids[:60])]
    )
    write(data / "depths.csv", ["id", "z"], [[i, n] for n, i in enumerate(ids)])
    write(data / "sample_submission.csv", ["id", "rle_mask"], [[i, "1 1"] for i in ids[60:]])
    task = card("grade.py", ("rle_mask",), predictions="text")
    for name in ("holdout", "sample", "fold 1/3"):
        info, out, labels = build(data, task, name)
        masks, asked = {path.stem for path in (out / "train" / "masks").iterdir()}, set(column(labels, "id"))
        assert masks == set(column(out / "train.csv", "id")) and not masks & asked
        assert {path.stem for path in (out / "train" / "images").iterdir()} == set(ids[:60])
        assert set(column(out / "depths.csv", "id")) == set(ids)
    _, out, labels = build(data, task, "swap")
    assert {path.stem for path in (out / "test" / "images").iterdir()} == set(column(labels, "id"))
    assert {path.stem for path in (out / "train" / "images").iterdir()} == set(column(out / "train.csv", "id"))
