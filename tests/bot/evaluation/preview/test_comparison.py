import random

import pytest

from bot.evaluation.preview import preview
from tests.bot.evaluation.parts import card, competition


def compared(tmp_path, train, test, header=("id", "x", "y")):
    text = preview(competition(tmp_path, train, test, header), card())
    return text.split("## Training rows compared with rows to predict\n")[-1].split("\n\n")[0]


def test_nothing_is_reported_on_parts_that_are_alike(tmp_path):
    train, test = [[f"r{n}", n / 8, n] for n in range(200)], [[f"t{n}", n / 2 + 0.3] for n in range(50)]
    assert "against" not in preview(competition(tmp_path, train, test), card())


@pytest.mark.parametrize("name", ["city", "shop_id"])
def test_the_share_of_groups_that_training_has_too_is_reported(tmp_path, name):
    value = {"city": "c{}", "shop_id": "{}"}[name].format
    train = [[f"r{n}", value(n % 20), n] for n in range(100)]
    test = [[f"t{n}", value(n % 30)] for n in range(60)]
    lines = compared(tmp_path, train, test, ("id", name, "y"))
    assert f"{name}: train.csv has 20 of the 30 values in test.csv (67% of its rows)" in lines


def test_groups_of_which_training_has_none_are_reported(tmp_path):
    train = [[f"r{n}", f"a{n % 20}", n] for n in range(100)]
    lines = compared(tmp_path, train, [[f"t{n}", f"b{n % 20}"] for n in range(60)], ("id", "city", "y"))
    assert "city: train.csv has none of the 20 values in test.csv" in lines


def test_a_quantity_of_whole_numbers_is_no_group(tmp_path):
    train, test = [[f"r{n}", n % 40, n] for n in range(100)], [[f"t{n}", n % 50] for n in range(100)]
    assert "values in test.csv" not in compared(tmp_path, train, test)


def test_repeated_rows_are_counted_with_those_of_another_label(tmp_path):
    train = [[f"r{n}", n / 8, n] for n in range(90)] + [["s0", 0.0, 0], ["s1", 0.125, 7]]
    lines = compared(tmp_path, train, [["t0", 0.25], ["t1", 1000.5]])
    assert (
        "2 rows of train.csv (2.2%) have the same feature values as an earlier row, 1 of them with a different label."
        in lines
    )
    assert "Rows that match a row of train.csv in all features: 1 of test.csv (50%)." in lines


def test_rows_of_few_values_are_no_copies(tmp_path):
    lines = compared(tmp_path, [[f"r{n}", n % 3, n] for n in range(90)], [["t0", 1]])
    assert "The 90 rows of train.csv have 3 different combinations of features." in lines and "repeat" not in lines


def test_equal_ids_of_other_rows_are_warned_of(tmp_path):
    train, test = [[n, n / 8, n] for n in range(90)], [[n, n * 100.5] for n in range(80, 100)]
    lines = compared(tmp_path, train, test)
    assert "10 of the 20 ids of test.csv also occur in train.csv, for different rows: never join by id." in lines


def test_shares_of_missing_values_are_reported_where_they_differ(tmp_path):
    train = [[f"r{n}", "" if n < 10 else n / 8, n] for n in range(100)]
    lines = compared(tmp_path, train, [[f"t{n}", "" if n < 5 else n / 9] for n in range(10)])
    assert "x is missing in 10% of train.csv, 50% of test.csv" in lines


def test_times_and_medians_of_both_are_reported(tmp_path):
    train = [[f"r{n}", f"2011-01-{n + 1:02d}", n, n] for n in range(20)]
    lines = compared(
        tmp_path, train, [[f"t{n}", f"2012-02-{n + 1:02d}", n + 50] for n in range(9)], ("id", "when", "x", "y")
    )
    assert "when: 2011-01-01 to 2011-01-20 in train.csv, 2012-02-01 to 2012-02-09 in test.csv" in lines
    assert "x: median 9.5 in train.csv, 54 in test.csv" in lines


def test_of_many_such_columns_the_first_are_reported(tmp_path):
    names = [f"c{n}" for n in range(30)]
    train, test = [[f"r{n}", *[n] * 30, n] for n in range(20)], [[f"t{n}", *[n + 50] * 30] for n in range(9)]
    assert "… and 22 more columns like these" in compared(tmp_path, train, test, ("id", *names, "y"))


def test_labels_of_equal_rows_are_compared_with_those_of_any_two(tmp_path):
    train = [[f"r{n}", n // 2, n // 2 + n % 2] for n in range(200)]
    assert "100 of them with a different label (3% as far apart" in compared(tmp_path, train, [["t0", 0.5]])


def test_a_time_that_is_the_id_is_a_feature(tmp_path):
    train = [[f"2011-01-01 {n // 60:02d}:{n % 60:02d}", n % 3, n] for n in range(200)]
    assert "repeat" not in compared(tmp_path, train, [["2012-01-01 00:00", 1]])


@pytest.mark.parametrize("shared", [0, 5])
def test_groups_that_ids_begin_with_are_counted(tmp_path, shared):
    train = [[f"patient{n % 20}_{n}", n / 8, n] for n in range(100)]
    test = [[f"patient{20 - shared + n % 10}_{n}", n / 8] for n in range(50)]
    lines = compared(tmp_path, train, test)
    assert f"have 20 prefixes, such as patient0 in patient0_0; ids of test.csv have 10, of which {shared}" in lines


def test_numbered_ids_are_no_groups(tmp_path):
    train, test = [[f"id_{n}", n / 8, n] for n in range(100)], [[f"id_{n}", n / 9] for n in range(100, 150)]
    assert "groups" not in compared(tmp_path, train, test)


@pytest.mark.integration
def test_columns_by_which_test_rows_can_be_told_are_named(tmp_path):
    rng = random.Random(0)
    header = ("id", "a", "b", "city", "y")
    train = [[f"r{n}", rng.random(), rng.gauss(0, 1), "pqr"[rng.randrange(3)], n] for n in range(500)]
    test = [[f"t{n}", rng.random(), rng.gauss(2, 1), "pqr"[rng.randrange(3)]] for n in range(500)]
    line = next(line for line in compared(tmp_path, train, test, header).splitlines() if "AUC" in line)
    assert "mostly by b (" in line and "city" not in line and "a (" not in line.replace("by b (", "")


@pytest.mark.integration
def test_rows_that_cannot_be_told_apart_are_said_to_be_alike(tmp_path):
    rng = random.Random(0)
    rows = [[f"r{n}", rng.random(), n] for n in range(1_000)]
    assert "The features do not separate" in compared(tmp_path, rows[:500], [row[:2] for row in rows[500:]])
