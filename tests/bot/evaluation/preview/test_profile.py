import pytest

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
