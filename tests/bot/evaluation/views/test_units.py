"""Rows that are alike lie on both sides of a split as often as the test has rows like training rows, and no more often."""

import random
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from bot.evaluation.layouts.layout import Layout
from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.views.build import VERSION
from bot.evaluation.views.folds import fold_numbers
from bot.evaluation.views.split import RowSplit, split_rows, withheld_shares
from bot.evaluation.views.units import Joining
from tests.bot.evaluation.parts import card, competition, write
from tests.bot.evaluation.written_layouts import LAYOUTS, write_layout

ROWS = 1_000
WORDS = ("raven", "stood", "bust", "pallas", "near", "chamber", "door", "that", "bleak", "december", "evening", "upon")


def split_of(layout: Layout, seed: int = 0) -> RowSplit:
    return split_rows(layout, seed, VERSION)


def apart(split: RowSplit, keys: list[str]) -> float:
    """The share of withheld rows whose key a training row has."""
    known = {keys[row] for row in split.rows("train")}
    withheld = split.rows("holdout", "final")
    return sum(keys[row] in known for row in withheld) / len(withheld)


def folds_apart(layout: Layout, split: RowSplit, keys: list[str]) -> int:
    """How many keys are in several folds."""
    fold_of, _, _ = fold_numbers(layout, split, range(len(keys)), 5, 0, VERSION)
    return sum(count > 1 for count in Counter(key for key, _ in {(keys[r], fold_of[r]) for r in fold_of}).values())


def copies(tmp_path: Path, in_test: float) -> tuple[Layout, list[str]]:
    """A third of the rows in pairs of equal features; of the test rows that share repeats a training row."""
    rng = random.Random(0)
    keys = [f"{n // 2 if n < 340 else n}" for n in range(ROWS)]
    rng.shuffle(keys)
    train = [[f"r{n}", key, rng.randrange(3)] for n, key in enumerate(keys)]
    test = [[f"t{n}", keys[n] if n < 400 * in_test else f"new {n}"] for n in range(400)]
    return read_layout(competition(tmp_path, train, test, default=("a",)), card("accuracy")), keys


@pytest.mark.parametrize("seed", [0, 1])
def test_copies_stay_on_one_side_where_the_test_has_none(tmp_path: Path, seed: int) -> None:
    layout, keys = copies(tmp_path, 0.0)
    split = split_of(layout, seed)
    assert apart(split, keys) == 0 and folds_apart(layout, split, keys) == 0
    assert "340 near-duplicate rows stay on the same side" in split.note
    assert split.unlike == ()
    assert len(split.rows("holdout")) == pytest.approx(200, abs=4)
    assert len(split.rows("final")) == pytest.approx(100, abs=4)
    shares = [Counter(layout.labels[row][0] for row in split.rows(part)) for part in ("train", "holdout", "final")]
    for label in "012":
        assert max(s[label] / s.total() for s in shares) - min(s[label] / s.total() for s in shares) < 0.08
    assert split == split_of(layout, seed) != split_of(layout, seed + 1)


def test_copies_are_drawn_one_by_one_where_the_test_has_as_many(tmp_path: Path) -> None:
    layout, keys = copies(tmp_path, 0.3)
    split = split_of(layout)
    assert 0.15 < apart(split, keys) < 0.35
    assert "near-duplicate" not in split.note and split.unlike == ()


def test_as_many_copies_stay_on_one_side_as_the_test_lacks(tmp_path: Path) -> None:
    layout, keys = copies(tmp_path, 0.1)
    assert [round(apart(split_of(layout, seed), keys), 1) for seed in range(5)] == [0.1] * 5


def test_a_test_that_repeats_rows_which_the_hold_out_cannot_repeat_is_reported(tmp_path: Path) -> None:
    layout, keys = copies(tmp_path, 0.8)
    (found,) = split_of(layout).unlike
    assert f"{apart(split_of(layout), keys):.1%} of the withheld rows repeat a training row, but 80.0%" in found
    assert found.endswith("the score may be worse than on the test rows")


def test_texts_are_equal_but_for_case_and_punctuation(tmp_path: Path) -> None:
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=12)) for _ in range(150)]
    train = [[f"a{n}", text, n % 3] for n, text in enumerate(texts)]
    train += [[f"b{n}", f"{text.capitalize().replace(' ', ',  ', 2)}!", n % 3] for n, text in enumerate(texts)]
    test = [[f"t{n}", " ".join(rng.choices(WORDS, k=12))] for n in range(100)]
    layout = read_layout(competition(tmp_path, train, test, default=("a",)), card("accuracy"))
    assert apart(split_of(layout), [id[1:] for id in layout.ids]) == 0


def test_cells_that_differ_in_case_or_sign_are_not_equal(tmp_path: Path) -> None:
    train = [[f"{side}{n}", f"{side if n % 2 else side.upper()}{n}", n % 3] for n in range(150) for side in ("c", "-")]
    layout = read_layout(competition(tmp_path, train, [["t", "none"]], default=("a",)), card("accuracy"))
    assert "near-duplicate" not in split_of(layout).note


@pytest.mark.parametrize("zipped", [False, True])
def test_files_of_equal_bytes_stay_on_one_side(tmp_path: Path, zipped: bool) -> None:
    rng = random.Random(0)
    contents = [rng.randbytes(40) for _ in range(100)]
    files = {f"train/{n:03d}.jpg": contents[n % 100] for n in range(200)}
    files |= {f"test/x{n:03d}.jpg": rng.randbytes(40) for n in range(50)}
    write(tmp_path / "train.csv", ["id", "y"], [[f"{n:03d}", n % 3] for n in range(200)])
    write(tmp_path / "sample_submission.csv", ["id", "y"], [[f"x{n:03d}", 0] for n in range(50)])
    if zipped:
        for side in ("train", "test"):
            with zipfile.ZipFile(tmp_path / f"{side}.zip", "w") as archive:
                for name in files:
                    if name.startswith(side):
                        archive.writestr(name, files[name])
    else:
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
    layout = read_layout(tmp_path, card("accuracy"))
    split = split_of(layout)
    assert apart(split, [str(int(id) % 100) for id in layout.ids]) == 0
    assert "200 near-duplicate rows" in split.note


@pytest.mark.parametrize("share", [1 / 3, 2 / 3])
def test_groups_are_shared_with_the_training_rows_as_those_of_the_test_are(tmp_path: Path, share: float) -> None:
    rng = random.Random(1)
    keys = [f"patient {n % 200}" for n in range(1_200)]
    rng.shuffle(keys)
    new = 50 - round(50 * share)
    names = [f"patient {n}" for n in range(200 - (50 - new), 200 + new)]
    train = [[f"r{n}", key, rng.random(), n % 3] for n, key in enumerate(keys)]
    test = [[f"t{n}", names[n % 50], rng.random()] for n in range(300)]
    header = ("id", "patient", "x", "y")
    layout = read_layout(competition(tmp_path, train, test, header=header, default=("a",)), card("accuracy"))
    for seed in range(3):
        split = split_of(layout, seed)
        assert (split.kind, split.unlike) == ("stratified", ())
        assert apart(split, keys) == pytest.approx(share, abs=0.08)


def test_a_test_of_other_groups_than_the_few_of_the_training_rows_is_reported(tmp_path: Path) -> None:
    train = [[f"r{n}", f"site {n % 4}", n % 3] for n in range(400)]
    test = [[f"t{n}", f"site {7 + n % 2}"] for n in range(200)]
    split = split_of(read_layout(competition(tmp_path, train, test), card("accuracy")))
    assert split.kind == "stratified"
    (found,) = split.unlike
    assert found.startswith("no 'x' in the test rows occurs in the training rows, but the training rows have too few")


def test_ids_that_a_cut_in_time_would_part_are_reported(tmp_path: Path) -> None:
    days = [f"2020-{1 + n // 28:02d}-{1 + n % 28:02d}" for n in range(330)]
    train = [[f"r{n % 100}", days[n], n % 100 % 3] for n in range(300)]
    test = [[f"r{n % 100}", day] for n, day in enumerate(days[300:])]
    split = split_of(read_layout(competition(tmp_path, train, test), card("accuracy")))
    assert split.kind == "stratified"
    assert split.unlike[0] == "the test rows were split off by time (x), which would separate rows with the same id"


def test_a_unit_grows_no_larger_than_it_may() -> None:
    joining = Joining(6)
    assert joining.join([0, 1], 3) and joining.join([3, 4], 3) and joining.join([1, 2], 3)
    assert not joining.join([2, 3], 3)
    assert [joining.unit(row) for row in range(6)] == [0, 0, 0, 3, 3, 5]


@pytest.mark.parametrize("name", LAYOUTS)
def test_parts_have_their_sizes_in_every_layout(tmp_path: Path, name: str) -> None:
    layout = read_layout(*write_layout(name, tmp_path))
    asked = [row for row in range(len(layout.ids)) if layout.has_label(row) and layout.form.has_prediction_rows(row)]
    split = split_of(layout)
    largest = max(Counter(split.units.unit_of_row[row] for row in asked).values())
    for part, share in zip(("holdout", "final"), withheld_shares(len(asked)), strict=True):
        count = len(set(split.rows(part)) & set(asked))
        # A unit more or less, of each stratum at most half a one; and no more of the latest than the test has.
        off = count - share * len(asked)
        assert (off if split.kind == "time" else abs(off)) <= max(largest, 5), (count, share * len(asked))
