"""Folds: each labelled row is in one, whichever part it is in, and groups and times are kept apart."""

from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

import pytest

from bot.evaluation.layouts.layout import Layout
from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.views.folds import fold_numbers
from bot.evaluation.views.split import RowSplit, split_rows
from tests.bot.evaluation.parts import card, competition, write


@dataclass(frozen=True)
class Folds:
    """How all labelled rows of a layout are cut."""

    split: RowSplit
    rows: list[list[int]]
    """Those of each fold."""
    never: list[int]
    """Those that are never validated."""
    forward: bool
    note: str


def folds_of(layout: Layout, count: int, seed: int = 0) -> Folds:
    split = split_rows(layout, seed, 1)
    labelled = [row for row in range(len(layout.ids)) if layout.has_label(row)]
    fold_of, forward, note = fold_numbers(layout, split, labelled, count, seed, 1)
    rows = [[row for row in labelled if fold_of[row] == number] for number in range(-1, count)]
    return Folds(split, rows[1:], rows[0], forward, note)


@pytest.fixture
def classes(tmp_path):
    train = [[f"r{n}", n, ["a", "b", "b", "c"][n % 4]] for n in range(200)]
    competition(tmp_path, train, [["t", 0]], header=("id", "x", "y"), default=("a",))
    return read_layout(tmp_path, card("accuracy"))


def test_every_row_is_in_one_fold(classes):
    folds = folds_of(classes, 5)
    assert sorted(row for rows in folds.rows for row in rows) == list(range(200))
    assert not folds.never and not folds.forward


def test_every_fold_has_its_share_of_each_class(classes):
    for rows in folds_of(classes, 4).rows:
        labels = [classes.labels[row][0] for row in rows]
        assert [abs(labels.count(label) - share) <= 1 for label, share in (("a", 12), ("b", 25), ("c", 12))] == [
            True
        ] * 3


def test_a_seed_gives_the_same_folds(classes):
    assert folds_of(classes, 3).rows == folds_of(classes, 3).rows
    assert folds_of(classes, 3).rows[0] != folds_of(classes, 3, seed=1).rows[0]


def test_whole_groups_go_into_folds_of_about_one_size(tmp_path):
    train = [[n, f"g{n // 5}", n] for n in range(400)]
    competition(tmp_path, train, [[n, f"g{n // 5}"] for n in range(400, 600)], header=("id", "group", "y"))
    layout = read_layout(tmp_path, card())
    folds = folds_of(layout, 4)
    assert folds.split.kind == "grouped"
    groups = [{row // 5 for row in rows} for rows in folds.rows]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


def days(count, start=0):
    return [(date(2020, 1, 1) + timedelta(days=start + n)).isoformat() for n in range(count)]


def test_where_the_test_comes_last_each_fold_learns_from_earlier_rows_alone(tmp_path):
    train = [[f"{n}s{s}", day, n + s] for n, day in enumerate(days(120)) for s in range(2)]
    competition(tmp_path, train, [[f"t{n}", day] for n, day in enumerate(days(30, 120))], header=("id", "day", "y"))
    layout = read_layout(tmp_path, card())
    folds = folds_of(layout, 4)
    assert folds.split.kind == "time" and folds.forward and "predicted from earlier rows only" in folds.note
    blocks = [[train[row][1] for row in rows] for rows in (folds.never, *folds.rows)]
    assert all(max(earlier) < min(later) for earlier, later in pairwise(blocks))


def test_where_test_rows_lie_between_folds_are_blocks_of_every_stretch(tmp_path):
    every = days(360)
    train = [[f"r{n}", day, n] for n, day in enumerate(every) if n % 30 < 20]
    competition(tmp_path, train, [[f"t{n}", d] for n, d in enumerate(every) if n % 30 >= 20], header=("id", "day", "y"))
    layout = read_layout(tmp_path, card())
    folds = folds_of(layout, 3)
    assert folds.split.kind == "time" and not folds.forward and "test rows lie between training rows" in folds.note
    assert sorted(row for rows in folds.rows for row in rows) == list(range(len(train)))
    for rows in folds.rows:
        assert {int(train[row][2]) // 30 for row in rows} == set(range(12))


def test_rows_of_one_id_are_in_one_fold(tmp_path):
    data = tmp_path / "data"
    rows = [[f"i{n // 2}", n % 4 // 2, ""] for n in range(120)]
    write(data / "train.csv", ["id", "y", "x"], rows)
    write(data / "test.csv", ["id", "x"], [["t", ""]])
    write(data / "sample_submission.csv", ["id", "y"], [["t", 0]])
    folds = folds_of(read_layout(data, card("roc_auc")), 5)
    ids = [{rows[row][0] for row in of} for of in folds.rows]
    assert sum(map(len, ids)) == len(set().union(*ids)) == 60
