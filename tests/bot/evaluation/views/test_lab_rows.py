"""The validation rows of a lab: a tenth of the labelled rows in two equal halves, which are like the test rows and each other."""

import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.layouts.layout import Layout
from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.metrics.registry import metric_per_fold
from bot.evaluation.view_names import VALIDATION
from bot.evaluation.views.build import build_folds, build_view
from bot.evaluation.views.lab_rows import Budget, draw_latest
from bot.evaluation.views.split import RowSplit, split_rows, withheld_shares
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import card, column, competition, read, write
from tests.bot.evaluation.views.test_split import classes_of, hours, rare_columns
from tests.bot.evaluation.written_layouts import LAYOUTS, write_layout

HALVES = ("holdout", "final")


def split_of(layout: Layout, seed: int = 0) -> RowSplit:
    return split_rows(layout, seed, 1, "lab")


def halves_of(split: RowSplit, key) -> list[Counter]:
    return [Counter(key(row) for row in split.rows(half)) for half in HALVES]


@given(st.integers(0, 10**7))
def test_about_a_tenth_is_withheld_within_its_bounds(rows):
    budget = Budget.for_rows(rows)
    assert budget.target <= budget.maximum <= max(2, min(0.12 * rows, 10_000))
    assert budget.target >= min(100, budget.maximum) and (
        rows < 1_000 or budget.target == min(round(rows / 10), 10_000)
    )
    assert sum(withheld_shares(rows, "lab")) == pytest.approx(budget.target / max(1, rows))


@settings(max_examples=8)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=12), st.integers(0, 9))
def test_each_half_has_a_row_of_each_class_of_ten_where_the_rows_allow_it(tmp_path_factory, sizes, seed):
    sizes = [*sizes, 200]
    layout = classes_of(tmp_path_factory.mktemp("c"), sizes)
    split, budget = split_of(layout, seed), Budget.for_rows(sum(sizes))
    halves = halves_of(split, lambda row: int(layout.labels[row][0]))
    assert abs(halves[0].total() - halves[1].total()) <= 2
    assert sum(half.total() for half in halves) <= budget.maximum
    parted = {label for label, size in enumerate(sizes) if size >= 10}
    assert all(set(half) <= parted for half in halves), "rarer classes stay in train"
    if 2 * len(parted) <= budget.maximum:
        assert all(set(half) == parted for half in halves)


def test_where_too_many_classes_are_for_a_row_of_each_none_has_three(tmp_path):
    layout = classes_of(tmp_path, [10] * 99)
    halves = halves_of(split_of(layout), lambda row: layout.labels[row][0])
    assert [half.total() for half in halves] == [59, 59]
    assert len(halves[0] | halves[1]) == 99 and set(halves[0].values()) == set(halves[1].values()) == {1}


def test_classes_are_withheld_as_often_as_they_are(tmp_path):
    layout = classes_of(tmp_path, [3_000, 900, 100])
    halves = halves_of(split_of(layout), lambda row: int(layout.labels[row][0]))
    assert [half.total() for half in halves] == [200, 200]
    for half in halves:
        assert half[1] == pytest.approx(45, abs=3) and half[2] == pytest.approx(5, abs=2)


def test_classes_that_are_all_rare_are_withheld_nevertheless(tmp_path):
    layout = classes_of(tmp_path, [5] * 100)
    halves = halves_of(split_of(layout), lambda row: layout.labels[row][0])
    assert all(half.total() == 30 for half in halves)
    left = Counter(layout.labels[row][0] for row in split_of(layout).rows("train"))
    assert len(left) == 100 and min(left.values()) >= 4


def test_the_smallest_tables_have_a_row_in_each_half(tmp_path):
    layout = classes_of(tmp_path, [6, 5])
    assert [half.total() for half in halves_of(split_of(layout), int)] == [1, 1]


@settings(max_examples=6)
@given(st.lists(st.integers(12, 60), min_size=1, max_size=6), st.integers(0, 9))
def test_every_column_varies_in_every_half_where_the_metric_needs_it(tmp_path_factory, rares, seed):
    layout = rare_columns(tmp_path_factory.mktemp("r"), rares, metric="roc_auc")
    split = split_of(layout, seed)
    for at in range(len(rares)):
        assert all(len({layout.labels[row][at] for row in split.rows(half)}) == 2 for half in HALVES)


def grouped(tmp_path: Path, groups: int, each: int = 5) -> Layout:
    train = [[f"r{n}", f"patient {n % groups}", n % 3] for n in range(groups * each)]
    test = [[f"t{n}", f"patient {groups + n % 20}"] for n in range(200)]
    return read_layout(competition(tmp_path, train, test, default=("a",)), card("accuracy"))


def test_each_half_has_four_groups_where_the_rows_allow_it(tmp_path):
    for groups in (70, 200):
        split = split_of(grouped(tmp_path / str(groups), groups))
        halves = halves_of(split, lambda row: row % groups)  # noqa: B023 - called at once
        assert split.kind == "grouped" and all(len(half) >= 4 for half in halves)
        assert not set(halves[0]) & set(halves[1])
        assert {row % groups for row in split.rows("train")}.isdisjoint({*halves[0], *halves[1]})
        assert 0.1 <= sum(half.total() for half in halves) / (5 * groups) <= 0.12


def test_fewer_groups_are_reported(tmp_path):
    split = split_of(grouped(tmp_path, 40))
    assert split.kind == "grouped" and "only 2 of them in one of the halves" in split.note
    assert [len(half) for half in halves_of(split, lambda row: row % 40)] == [2, 2]


def test_groups_that_are_too_large_to_withhold_are_kept_whole_by_folds(tmp_path):
    layout = grouped(tmp_path, 10, 30)
    split = split_of(layout)
    assert split.kind == "stratified" and "too large to withhold" in split.unlike[0]
    build_folds(tmp_path, card("accuracy"), 0, 5, tmp_path / "folds", tmp_path / "labels", "lab")
    info = json.loads((tmp_path / "folds" / "folds.json").read_text())
    assert (info["kind"], info["column"], info["folds"]) == ("grouped", "x", 10)
    rows = read(tmp_path / "folds" / "folds.csv")[1:]
    of_group = {int(row[1][1:]) % 10: row[-1] for row in rows}
    assert all(row[-1] == of_group[int(row[1][1:]) % 10] for row in rows)


def test_the_latest_rows_are_withheld_in_blocks_of_each_half_in_turn(tmp_path):
    rows = 2_000
    train, test = [[t, 0, 1.5] for t in hours(rows)], [[t, 0] for t in hours(50, rows)]
    split = split_of(read_layout(competition(tmp_path, train, test), card()))
    assert split.kind == "time" and split.parts[:1_800] == ("train",) * 1_800
    late = split.parts[1_800:]
    assert Counter(late) == {"holdout": 100, "final": 100}
    assert sum(left != right for left, right in pairwise(late)) == 9


def test_of_stretches_in_turn_each_half_has_every_hour(tmp_path):
    train = [[t, 0, 1.5] for block in range(12) for t in hours(240, 480 * block)]
    test = [[t, 0] for block in range(12) for t in hours(240, 480 * block + 240)]
    split = split_of(read_layout(competition(tmp_path, train, test), card()))
    assert split.kind == "time"
    halves = halves_of(split, lambda row: row % 24)
    assert all(set(half) == set(range(24)) for half in halves)
    assert all(row % 240 >= 210 for row in split.rows(*HALVES))


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=40), min_size=1, max_size=4), st.integers(0, 5))
def test_the_latest_rows_never_are_too_many(per_time, seed):
    times: list[float] = []
    stretches: list[list[int]] = []
    for stretch in per_time:
        stretches.append([])
        for count in stretch:
            first = (times[-1] if times else 0.0) + 1
            stretches[-1] += range(len(times), len(times) + count)
            times += [first] * count
    budget = Budget.for_rows(len(times))
    parts = draw_latest(stretches, times, budget, random.Random(seed))
    assert 0 < len(parts) <= budget.maximum
    assert len(set(parts.values())) == min(2, len(parts))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_has_a_labs_rows_and_folds(layout, tmp_path):
    data, task = write_layout(layout, tmp_path)
    info = build_view(data, task, "holdout", 0, tmp_path / "v" / "data", tmp_path / "v" / "labels", "lab")
    few = read_layout(data, task)
    labelled = sum(few.has_label(row) and few.form.has_prediction_rows(row) for row in range(info.of_rows))
    assert info.validation_rows <= Budget.for_rows(labelled).maximum + len(few.card.prediction_columns)
    assert any((tmp_path / "v" / "data" / name).is_file() for name in VALIDATION)
    try:
        build_folds(data, task, 0, 5, tmp_path / "folds", tmp_path / "fold-labels", "lab")
    except UnsupportedLayout:
        return
    header, *rows = read(tmp_path / "folds" / "folds.csv")
    folds = json.loads((tmp_path / "folds" / "folds.json").read_text())
    assert len(rows) == info.train_rows
    assert folds["folds"] == len({row[header.index("fold")] for row in rows} - {"-1"})
    assert read(tmp_path / "folds" / "sample_submission.csv") == read(data / "sample_submission.csv")


def folds_info(tmp_path: Path, data: Path, task: TaskCard) -> tuple[dict[str, object], list[str] | None]:
    build_folds(data, task, 0, 5, tmp_path / "folds", tmp_path / "labels", "lab")
    classes = tmp_path / "folds" / "classes.json"
    return (
        json.loads((tmp_path / "folds" / "folds.json").read_text()),
        json.loads(classes.read_text()) if classes.is_file() else None,
    )


def test_labels_are_classes_by_size_where_they_are_numbers(tmp_path):
    data = competition(tmp_path / "data", [[f"r{n}", 0, n % 11] for n in range(2_000)], [["t", 0]], default=("1",))
    info, classes = folds_info(tmp_path, data, card("accuracy"))
    assert classes == [str(label) for label in range(11)]
    assert info == {"kind": "stratified", "metric_per_fold": False, "folds": 5}


def test_probabilities_have_the_classes_of_the_sample(tmp_path):
    write(tmp_path / "data" / "train.csv", ["id", "x", "kind"], [[f"r{n}", n, "cab"[n % 3]] for n in range(300)])
    write(tmp_path / "data" / "test.csv", ["id", "x"], [["t", 0]])
    write(tmp_path / "data" / "sample_submission.csv", ["id", "b", "c", "a"], [["t", 0, 0, 0]])
    info, classes = folds_info(tmp_path, tmp_path / "data", card("log_loss", ("b", "c", "a")))
    assert classes == ["b", "c", "a"]
    assert info["folds"] == 10, "small tables have more folds"
    assert set(column(tmp_path / "folds" / "folds.csv", "fold")) == {str(n) for n in range(10)}


def test_quantities_have_no_classes_and_forward_folds_say_so(tmp_path):
    train, test = [[t, 0, 1.5] for t in hours(300)], [[t, 0] for t in hours(50, 300)]
    info, classes = folds_info(tmp_path, competition(tmp_path / "data", train, test), card("spearman"))
    assert classes is None
    assert info == {"kind": "forward", "metric_per_fold": True, "folds": 5, "column": "id"}


@pytest.mark.parametrize(
    ("metric", "per_fold"), [("roc_auc", True), ("spearman", True), ("pearson", False), ("x", False)]
)
def test_metrics_of_order_are_computed_per_fold(metric, per_fold):
    task = card("rmse")
    assert (
        metric_per_fold(task.model_copy(update={"metric": task.metric.model_copy(update={"name": metric})})) == per_fold
    )
