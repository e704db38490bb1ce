import math

import pytest

from scrapers.snapshots.tables import read_number


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
