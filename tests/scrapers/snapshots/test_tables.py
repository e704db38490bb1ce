import math
from pathlib import Path

import pytest

from scrapers.snapshots.tables import ends_within_row, read_number


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), (" 12 ", 12), ("1e5", 1e5), ("-.5", -0.5), ("007", 7), ("inf", math.inf)]
)
def test_what_looks_like_a_number_is_one(text, value):
    assert read_number(text) == value


def test_nan_is_a_number():
    assert math.isnan(read_number("NaN"))


@pytest.mark.parametrize("text", ["0013_01", "1_000", "1,000", "0x10", "", " ", "one", "١٢", "2011-01-01", "1 2"])
def test_what_only_python_would_read_is_none(text):
    assert read_number(text) is None


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("id,text,author\n1,a,b\n2,c,d\n", False),
        ("id,text,author\n1,a,b\n2,c,d", False),  # many tables have no last line end
        ("id,text,author\n1,a,b\n2,c", True),
        ('id,author,text\n1,b,"a"\n2,d,"c and', True),
        ('id,text,author\n1,"a\nb\nc",d', False),
        ('id,text,author\n1,"a\nb', True),
        ("id\n1\n2", False),
        ("", False),
    ],
)
def test_a_table_that_ends_within_a_row_is_seen_by_its_end(tmp_path: Path, text: str, is_cut: bool) -> None:
    table = tmp_path / "train.csv"
    table.write_text(text)
    assert ends_within_row(table) is is_cut
