import io
import zipfile

import pytest
from PIL import Image

from bot.evaluation.preview import preview
from bot.evaluation.views import build_view
from tests.bot.evaluation.parts import SLUGS, card, competition, real, write


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
    assert "Columns of train.csv that rows to predict lack: y" in text
    assert "y: 2 values: a 75 (75.0%), b 25 (25.0%)" in text
    assert "test.csv has the same columns without y." in text
    assert "One row for each of test.csv, in its order." in text


def test_a_quantity_is_described_by_its_distribution(tmp_path):
    text = preview(competition(tmp_path, [[n, n, n / 2] for n in range(101)], [["t", 0]]), card())
    assert "y: number, min 0, 10% 5, median 25, 90% 45, max 50, mean 25" in text


def test_numbered_columns_share_a_line(tmp_path):
    header = ("id", *(f"margin{n}" for n in range(1, 65)), "y")
    competition(tmp_path, [[r, *(c / 10 for c in range(64)), r] for r in range(10)], [["t"]], header=header)
    text = preview(tmp_path, card())
    assert "margin1 … margin64 (64 columns): " in text and "margin2" not in text


def test_many_columns_of_a_kind_share_a_line(tmp_path):
    names = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqrst"]
    competition(
        tmp_path, [[r, *(c * r / 10 for c in range(1, 81)), r] for r in range(20)], [["t"]], ("id", *names, "y")
    )
    assert "(80 columns): number" in preview(tmp_path, card()) and "dm:" not in preview(tmp_path, card())


def test_folders_with_thousands_of_files_share_a_line(data):
    (data / "images").mkdir()
    for n in range(1500):
        (data / "images" / f"{n:04d}.png").write_bytes(picture() if n < 3 else b"")
    text = preview(data, card("accuracy"))
    assert "images/: 1,500 files .png" in text
    assert "0100.png" not in text


def test_archives_are_looked_into(data):
    with zipfile.ZipFile(data / "train.zip", "w") as archive:
        for n in range(40):
            archive.writestr(f"train/{n:02d}.png", picture("L", (8, 9)))
    with zipfile.ZipFile(data / "atoms.zip", "w") as archive:
        archive.writestr("atoms/1.xyz", "lattice 1 2 3\natom 0 0 0 Al\n")
    text = preview(data, card("accuracy"))
    assert "train.zip: 40 files (40 .png), e.g. train/00.png" in text
    assert "train/00.png: 8 × 9 pixels, L" in text
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


@pytest.mark.parametrize("limit", [300, 1000, 6000])
def test_a_preview_keeps_its_bound_and_is_always_the_same(data, limit):
    for n in range(30):
        write(data / f"table{n}.csv", [f"column {n}-{c} " + "x" * 50 for c in range(30)], [["v" * 80] * 30] * 3)
    text = preview(data, card("accuracy"), limit)
    assert len(text) <= limit
    assert text == preview(data, card("accuracy"), limit)


@pytest.mark.parametrize("slug", SLUGS)
def test_previews_of_real_views_are_short_and_name_the_target(slug, tmp_path):
    folder, task = real(slug)
    info = build_view(folder / "data", task, "sample", 0, tmp_path / "data", tmp_path / "labels")
    text = preview(tmp_path / "data", task)
    assert 1000 < len(text) <= 6000
    assert all(f"\n{column}: " in text for column in info.label_columns)
