"""Folds: each labelled row is asked for once, whichever part it is in, and groups and times are kept apart."""

from datetime import date, timedelta

import pytest

from bot.evaluation.answers.view_names import ViewName
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.views.folds import FoldRows, fold_rows
from bot.evaluation.views.split import Split, split_rows
from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import card, competition, write


def folds_of(layout: Layout, count: int, seed: int = 0) -> tuple[Split, list[FoldRows]]:
    split = split_rows(layout, seed, 1)
    return split, [fold_rows(layout, split, ViewName("fold", k, count), seed, 1) for k in range(1, count + 1)]


@pytest.fixture
def classes(tmp_path):
    train = [[f"r{n}", n, ["a", "b", "b", "c"][n % 4]] for n in range(200)]
    competition(tmp_path, train, [["t", 0]], header=("id", "x", "y"), default=("a",))
    return read_layout(tmp_path, card("accuracy"))


def test_every_row_is_asked_for_once(classes):
    _, folds = folds_of(classes, 5)
    asked = [row for fold in folds for row in fold.asked]
    assert sorted(asked) == list(range(200))
    assert all(not set(fold.asked) & set(fold.train) for fold in folds)
    assert all(sorted([*fold.asked, *fold.train]) == sorted(asked) for fold in folds)


def test_every_fold_has_its_share_of_each_class(classes):
    _, folds = folds_of(classes, 4)
    for fold in folds:
        labels = [classes.labels[row][0] for row in fold.asked]
        assert [abs(labels.count(label) - share) <= 1 for label, share in (("a", 12), ("b", 25), ("c", 12))] == [
            True
        ] * 3


def test_a_seed_gives_the_same_folds_whichever_is_asked_for_first(classes):
    assert folds_of(classes, 3) == folds_of(classes, 3)
    assert folds_of(classes, 3)[1][0].asked != folds_of(classes, 3, seed=1)[1][0].asked


def test_whole_groups_go_into_folds_of_about_one_size(tmp_path):
    train = [[n, f"g{n // 5}", n] for n in range(400)]
    competition(tmp_path, train, [[n, f"g{n // 5}"] for n in range(400, 600)], header=("id", "group", "y"))
    layout = read_layout(tmp_path, card())
    split, folds = folds_of(layout, 4)
    assert split.kind == "grouped"
    groups = [{row // 5 for row in fold.asked} for fold in folds]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


def days(count, start=0):
    return [(date(2020, 1, 1) + timedelta(days=start + n)).isoformat() for n in range(count)]


def test_where_the_test_comes_last_each_fold_learns_from_earlier_rows_alone(tmp_path):
    train = [[f"{n}s{s}", day, n + s] for n, day in enumerate(days(120)) for s in range(2)]
    competition(tmp_path, train, [[f"t{n}", day] for n, day in enumerate(days(30, 120))], header=("id", "day", "y"))
    layout = read_layout(tmp_path, card())
    split, folds = folds_of(layout, 4)
    assert split.kind == "time" and "learns from what is earlier" in folds[0].note
    for fold in folds:
        times = [train[row][1] for row in fold.asked]
        assert max(train[row][1] for row in fold.train) < min(times)
    assert not set().union(*(fold.asked for fold in folds)) & set(folds[0].train)


def test_where_test_rows_lie_between_folds_are_blocks_of_every_stretch(tmp_path):
    every = days(360)
    train = [[f"r{n}", day, n] for n, day in enumerate(every) if n % 30 < 20]
    competition(tmp_path, train, [[f"t{n}", d] for n, d in enumerate(every) if n % 30 >= 20], header=("id", "day", "y"))
    layout = read_layout(tmp_path, card())
    split, folds = folds_of(layout, 3)
    assert split.kind == "time" and "test rows lie between training rows" in folds[0].note
    asked = sorted(row for fold in folds for row in fold.asked)
    assert asked == list(range(len(train)))
    for fold in folds:
        assert {int(train[row][2]) // 30 for row in fold.asked} == set(range(12))


def test_too_few_rows_for_so_many_folds_are_refused(tmp_path):
    competition(tmp_path, [[f"r{n}", n, n % 2] for n in range(20)], [["t", 0]])
    with pytest.raises(UnsupportedLayout, match="too few for 50 folds"):
        folds_of(read_layout(tmp_path, card("roc_auc")), 50)


def test_rows_of_one_id_are_in_one_fold(tmp_path):
    data = tmp_path / "data"
    rows = [[f"i{n // 2}", n % 4 // 2, ""] for n in range(120)]
    write(data / "train.csv", ["id", "y", "x"], rows)
    write(data / "test.csv", ["id", "x"], [["t", ""]])
    write(data / "sample_submission.csv", ["id", "y"], [["t", 0]])
    _, folds = folds_of(read_layout(data, card("roc_auc")), 5)
    ids = [{rows[row][0] for row in fold.asked} for fold in folds]
    assert sum(map(len, ids)) == len(set().union(*ids))
    assert all({rows[row][0] for row in fold.train}.isdisjoint(i) for fold, i in zip(folds, ids, strict=True))
