import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evaluation.preview.column_lines import column_lines, percent, target_lines
from bot.evaluation.preview.profile import profile
from bot.evaluation.tables.csv_table import read_table
from tests.bot.evaluation.parts import write


def column(tmp_path, *cells):
    return profile(read_table(write(tmp_path / "t.csv", ["x", "y"], [[cell, 1] for cell in cells])))[0][0]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (("0013_01", "0928_02"), "text"),
        (("1_000", "2"), "text"),
        (("007", "010", "123"), "text"),
        (("0", "1", "-12"), "integer"),
        ((" 12 ", "7"), "integer"),
        (("1e5", "2"), "number"),
        (("1.0", "2"), "number"),
        (("0.5", ".25"), "number"),
        (("1", "inf", "-inf"), "number"),
        (("1", "NaN", "", "NA"), "integer"),
        (("", "nan"), "empty"),
        (("2011-01-20 00:00:00", "2011-01-21 00:00:00"), "time"),
        (("20110120", "20110121"), "integer"),
        (("1,000", "2"), "text"),
        (("True", "False"), "text"),
    ],
)
def test_a_column_is_of_the_kind_that_its_cells_look_like(tmp_path, cells, kind):
    assert column(tmp_path, *cells).kind == kind


def test_digits_with_zeros_in_front_are_a_code(tmp_path):
    assert column(tmp_path, "007", "123").coded and not column(tmp_path, "007", "x").coded


def test_what_is_missing_is_counted_by_how_it_is_written(tmp_path):
    found = column(tmp_path, "1", "", "NA", "NA", "inf")
    assert (found.missing, found.rows, found.markers["NA"]) == (3, 5, 2)
    assert found.numbers == (1.0,)


def test_the_first_and_the_last_time_go_by_the_calendar(tmp_path):
    assert column(tmp_path, "12/31/2010", "01/02/2011", "03/01/2010").span == ("03/01/2010", "01/02/2011")


def columns(tmp_path, **cells):
    rows = zip(*cells.values(), strict=True)
    return profile(read_table(write(tmp_path / "t.csv", list(cells), rows)))[0]


def lines(tmp_path, **cells):
    return column_lines(columns(tmp_path, **cells))


def test_missing_values_are_shown_as_a_share_and_as_they_are_written(tmp_path):
    assert lines(tmp_path, x=["a", "NA", "", "NA"], y=range(4))[0] == "x: text, 'a' × 1; 3 missing (75%, written 'NA')"


def test_whole_numbers_are_written_in_full(tmp_path):
    assert lines(tmp_path, x=range(1234567, 1234587), y=range(20))[0].startswith(
        "x: integer, 1234567 to 1234586, median"
    )


def test_a_category_shows_what_is_most_common(tmp_path):
    cells = [f"c{n % 20}" for n in range(80)] + ["c3"] * 20
    assert "20 distinct, most often 'c3' (24%), e.g. 'c0', 'c1'" in lines(tmp_path, x=cells, y=range(100))[0]


def test_a_code_is_no_number(tmp_path):
    cells = [f"{n:03d}" for n in range(20)]
    assert lines(tmp_path, x=cells, y=cells)[0].startswith(
        "x: digits with leading zeros, as text of 3 characters, 20 distinct"
    )


def test_numbered_runs_stay_apart_in_wide_tables(tmp_path):
    names = [f"{stem}{n}" for stem in ("margin", "shape") for n in range(5)] + [
        f"{a}{b}" for a in "uvw" for b in "abcdefghij"
    ]
    found = lines(tmp_path, **{name: [0.5, 1.5] for name in names})
    assert [line.split(":")[0] for line in found] == [
        "margin0 … margin4 (5 columns)",
        "shape0 … shape4 (5 columns)",
        "ua … wj (30 columns)",
    ]


def test_many_rare_targets_share_a_line_that_names_the_rarest_and_the_constant(tmp_path):
    cells = {f"t{n}": [int(row < n) for row in range(100)] for n in range(6)}
    lines = target_lines(columns(tmp_path, **cells))
    assert lines[0].startswith("6 columns of 0s and 1s; share of 1s, rarest first: t0 0.00%, t1 1.00%, t2 2.00%")
    assert lines[1] == "Constant in these rows: t0"


def test_a_target_of_texts_is_no_list_of_classes(tmp_path):
    lines = target_lines(columns(tmp_path, x=[f"1 {n} 3 4" for n in range(30)], y=range(30)))
    assert lines[0].startswith("x: text of 7 to 8 characters, 30 distinct, e.g. '1 0 3 4'")


def test_a_common_value_of_a_quantity_is_named(tmp_path):
    lines = target_lines(columns(tmp_path, x=[0] * 50 + list(range(50)), y=range(100)))
    assert lines[0].endswith("mean 12.25, 51% are 0")


def test_ties_of_a_quantity_are_counted(tmp_path):
    lines = target_lines(columns(tmp_path, x=[n % 30 for n in range(100)], y=range(100)))
    assert lines[0].endswith("mean 13.5, 30 distinct") and "distinct" not in lines[1]


def test_of_many_targets_of_few_values_each_has_its_ties(tmp_path):
    cells = {f"t{n}": [row % (n + 2) / (n + 1) for row in range(100)] for n in range(12)}
    lines = target_lines(columns(tmp_path, **cells))
    assert lines[0].startswith("12 numeric columns, 0 to 1, 2 to 13 distinct values each")
    assert "t0 2, 0.0 50%; t1 3, 0.0 34%" in lines[1] and len(lines) == 4


def test_rare_classes_are_counted(tmp_path):
    cells = ["common"] * 200 + [f"class {n // 4}" for n in range(100)]
    (line,) = target_lines(columns(tmp_path, x=cells))
    assert "26 classes with 4 to 200 rows each" in line and "25 have fewer than 10 rows" in line


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_share_is_all_or_nothing_only_where_it_is(part, whole):
    share = percent(min(part, whole), whole)
    assert (share == "0%") == (part == 0) and (share == "100%") == (part >= whole)


@pytest.mark.parametrize(
    ("part", "written"), [(1, "< 0.1%"), (56, "0.6%"), (1234, "12%"), (9876, "98.8%"), (9999, "> 99.9%")]
)
def test_a_share_has_as_many_digits_as_it_needs(part, written):
    assert percent(part, 10_000) == written
