import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.views.split import few_rows, seeded, split_rows
from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import card, competition, write

PARTS = ("train", "holdout", "final")


def layout_of(tmp_path, train, test, task=None, **names):
    return read_layout(competition(tmp_path, train, test, **names), task or card())


def classes_of(tmp_path, sizes, seed=0):
    rows = [[f"{label}-{n}", 0, label] for label, size in enumerate(sizes) for n in range(size)]
    random.Random(seed).shuffle(rows)
    return layout_of(tmp_path, rows, [["t", 0]], card("accuracy"))


@settings(max_examples=40)
@given(st.lists(st.integers(3, 40), min_size=4, max_size=12), st.integers(0, 9))
def test_every_part_holds_every_class_of_three_rows_or_more(tmp_path_factory, sizes, seed):
    layout = classes_of(tmp_path_factory.mktemp("c"), sizes)
    split = split_rows(layout, seed, 1)
    assert split.kind == "stratified"
    for part in PARTS:
        assert {layout.labels[row][0] for row in split.rows(part)} == {str(label) for label in range(len(sizes))}
    assert sorted(split.rows(*PARTS)) == list(range(len(layout.ids)))


def test_parts_have_their_sizes(tmp_path):
    split = split_rows(classes_of(tmp_path, [500, 500]), 0, 1)
    assert Counter(split.parts) == {"final": 100, "holdout": 200, "train": 700}


def test_classes_too_small_to_part_stay_in_train(tmp_path):
    layout = classes_of(tmp_path, [20, 20, 2, 1])
    split = split_rows(layout, 0, 1)
    assert {layout.labels[row][0] for row in split.rows("holdout", "final")} == {"0", "1"}
    assert "2 classes with only one or two rows stay in train" in split.note


def test_labels_that_hardly_repeat_are_split_at_random(tmp_path):
    split = split_rows(classes_of(tmp_path, [1] * 60), 0, 1)
    assert split.kind == "random"


def test_the_seed_and_nothing_else_decides(tmp_path):
    layout = classes_of(tmp_path, [50, 50])
    assert split_rows(layout, 3, 1) == split_rows(layout, 3, 1)
    assert split_rows(layout, 3, 1) != split_rows(layout, 4, 1)
    assert split_rows(layout, 3, 1) != split_rows(layout, 3, 2)


def test_a_quantity_is_split_by_its_tenths(tmp_path):
    layout = layout_of(tmp_path, [[i, 0, i / 7] for i in range(200)], [["t", 0]])
    split = split_rows(layout, 0, 1)
    assert split.kind == "stratified"
    for part in PARTS:
        assert {row // 20 for row in split.rows(part)} == set(range(10))


def test_rows_without_a_label_stay_in_train(tmp_path):
    layout = layout_of(tmp_path, [[i, 0, "" if i % 2 else i] for i in range(100)], [["t", 0]])
    assert all(row % 2 == 0 for row in split_rows(layout, 0, 1).rows("holdout", "final"))


def test_rows_of_a_group_stay_together_where_test_groups_are_new(tmp_path):
    train = [[f"r{n}", f"patient {n % 40}", n % 3] for n in range(400)]
    test = [[f"t{n}", f"patient {40 + n % 20}"] for n in range(200)]
    layout = layout_of(tmp_path, train, test)
    split = split_rows(layout, 0, 1)
    assert split.kind == "grouped" and "by x" in split.note
    patients = [{row % 40 for row in split.rows(part)} for part in PARTS]
    assert not patients[0] & patients[1] and not patients[0] & patients[2] and not patients[1] & patients[2]
    assert all(patients)


def test_groups_in_both_are_no_groups(tmp_path):
    train = [[f"r{n}", f"shop {n % 40}", n % 3] for n in range(400)]
    test = [[f"t{n}", f"shop {n % 60}"] for n in range(200)]
    assert split_rows(layout_of(tmp_path, train, test), 0, 1).kind == "stratified"


def hours(count, start=0):
    begin = datetime(2011, 1, 1, tzinfo=UTC)
    return [(begin + timedelta(hours=start + n)).strftime("%Y-%m-%d %H:%M:%S") for n in range(count)]


def test_a_test_set_in_the_future_withholds_the_last_part(tmp_path):
    layout = layout_of(tmp_path, [[t, 0, 1.5] for t in hours(200)], [[t, 0] for t in hours(50, 200)])
    split = split_rows(layout, 0, 1)
    assert split.kind == "time"
    assert split.parts == ("train",) * 150 + ("holdout",) * 33 + ("final",) * 17, "as many as the test has"


def test_a_forecast_of_one_day_has_a_day_for_each_part(tmp_path):
    train = [[f"{shop}-{day}", day[:10], 1.5] for day in hours(60 * 24)[::24] for shop in range(100)]
    test = [[f"{shop}-{day}", day[:10]] for day in hours(24, 60 * 24)[::24] for shop in range(100)]
    split = split_rows(layout_of(tmp_path, train, test, header=("id", "day", "y"), submission=("id", "y")), 0, 1)
    assert [len(split.rows(part)) for part in PARTS] == [5800, 100, 100]


@pytest.mark.parametrize(("shops", "gap", "withheld"), [(3, 0, 14), (3, 4, 18), (1, 0, 30)])
def test_as_long_a_stretch_is_withheld_as_is_to_be_forecast(tmp_path, shops, gap, withheld):
    header, submission = ("id", "day", "y"), ("id", "y")
    train = [[f"{shop}-{day}", day[:10], 1.5] for day in hours(400 * 24)[::24] for shop in range(shops)]
    test = [[f"{shop}-{day}", day[:10]] for day in hours(14 * 24, (400 + gap) * 24)[::24] for shop in range(shops)]
    split = split_rows(layout_of(tmp_path, train, test, header=header, submission=submission), 0, 1)
    days = [sorted({row // shops for row in split.rows(part)}) for part in PARTS]
    assert days[0] + days[1] + days[2] == list(range(400))
    assert len(days[1]) + len(days[2]) == withheld and len(days[1]) == pytest.approx(2 * len(days[2]), abs=1)


def test_blocks_in_turn_withhold_the_tail_of_each(tmp_path):
    train = [[t, 0, 1.5] for block in range(5) for t in hours(50, 80 * block)]
    test = [[t, 0] for block in range(5) for t in hours(30, 80 * block + 50)]
    split = split_rows(layout_of(tmp_path, train, test), 0, 1)
    assert split.parts == (("train",) * 35 + ("holdout",) * 10 + ("final",) * 5) * 5


def test_rows_of_one_time_stay_in_one_part(tmp_path):
    header, submission = ("id", "day", "y"), ("id", "y")
    train = [[f"{shop}-{day}", day[:10], 1.5] for day in hours(60 * 24)[::24] for shop in range(7)]
    test = [[f"{shop}-{day}", day[:10]] for day in hours(10 * 24, 60 * 24)[::24] for shop in range(7)]
    split = split_rows(layout_of(tmp_path, train, test, header=header, submission=submission), 0, 1)
    assert split.kind == "time"
    days = [{row // 7 for row in split.rows(part)} for part in PARTS]
    assert max(days[0]) < min(days[1]) and max(days[1]) < min(days[2])


def test_times_of_a_competition_without_a_test_table_are_the_samples(tmp_path):
    write(tmp_path / "train.csv", ["id", "y"], [[t, 1.5] for t in hours(100)])
    write(tmp_path / "sample_submission.csv", ["id", "y"], [[t, 0] for t in hours(20, 100)])
    assert split_rows(read_layout(tmp_path, card()), 0, 1).kind == "time"


def test_too_few_rows_are_refused(tmp_path):
    with pytest.raises(UnsupportedLayout, match="9 rows with labels"):
        split_rows(layout_of(tmp_path, [[i, 0, i] for i in range(9)], [["t", 0]]), 0, 1)


def test_few_rows_hold_five_of_each_class_or_all_there_are(tmp_path):
    layout = classes_of(tmp_path, [300, 7, 5, 4])
    few = few_rows(layout, range(len(layout.ids)), 40, 5, seeded(0, 1, "few"))
    counts = Counter(layout.labels[row][0] for row in few)
    assert len(few) == 40 and few == sorted(few)
    assert counts["1"] >= 5 and counts["2"] == 5 and counts["3"] == 4


def rare_columns(tmp_path, rares, rows=120, group=None, metric="spearman"):
    names = [f"y{n}" for n in range(len(rares))]
    rng = random.Random(len(rares))
    chosen = [set(rng.sample(range(rows), rare)) for rare in rares]
    train = [[f"r{n}", group(n) if group else n % 7, *(int(n in own) for own in chosen)] for n in range(rows)]
    write(tmp_path / "train.csv", ["id", "x", *names], train)
    write(tmp_path / "test.csv", ["id", "x"], [[f"t{n}", f"new {n % 9}" if group else n % 7] for n in range(40)])
    write(tmp_path / "sample_submission.csv", ["id", *names], [[f"t{n}", *[0] * len(names)] for n in range(40)])
    return read_layout(tmp_path, card(metric, names))


@settings(max_examples=40)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(0, 9), st.booleans())
def test_every_column_with_three_rare_values_varies_in_every_part_and_in_few_rows(
    tmp_path_factory, rares, seed, quantity
):
    layout = rare_columns(tmp_path_factory.mktemp("r"), rares, metric="spearman" if quantity else "roc_auc")
    split = split_rows(layout, seed, 1)
    assert sorted(split.rows(*PARTS)) == list(range(120))
    few = few_rows(layout, split.rows("train"), 20, 5, seeded(seed, 1, "few"))
    for column, rare in enumerate(rares):
        for part in PARTS if rare >= 3 else ("train", "holdout") if rare == 2 else ():
            assert len({layout.labels[row][column] for row in split.rows(part)}) == 2, (part, rares)
        if rare >= 2:
            assert len({layout.labels[row][column] for row in few}) == 2


def test_whole_groups_are_moved_for_a_rare_column(tmp_path):
    for seed in range(10):
        layout = rare_columns(tmp_path / str(seed), [3, 4, 5], group=lambda n: f"group {n % 40}")
        split = split_rows(layout, seed, 1)
        assert split.kind == "grouped"
        groups = [{row % 40 for row in split.rows(part)} for part in PARTS]
        assert not groups[0] & groups[1] and not groups[0] & groups[2] and not groups[1] & groups[2]
        for part in PARTS:
            assert all(len({layout.labels[row][at] for row in split.rows(part)}) == 2 for at in range(3))
