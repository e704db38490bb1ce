import random

import pytest

from bot.evaluation.preview.column_lines import oddity_lines, sum_lines
from tests.bot.evaluation.preview.test_column_lines import columns

ROWS = range(200)


def lines(tmp_path, **cells):
    return oddity_lines(columns(tmp_path, **cells))


def test_columns_without_oddities_have_no_line(tmp_path):
    rng = random.Random(0)
    texts = ["word " * rng.randrange(1, 40) + str(n) for n in ROWS]
    assert (
        lines(tmp_path, a=[rng.gauss(0, 1) for _ in ROWS], b=[n % 50 for n in ROWS], c=texts, d=[n % 2 for n in ROWS])
        == []
    )


def test_constant_and_equal_columns_are_named(tmp_path):
    found = lines(tmp_path, a=[7] * 200, b=ROWS, c=[f"{n}.0" for n in ROWS], d=["", *[1] * 199])
    assert found == ["Constant: a", "Equal columns: c = b"]


@pytest.mark.parametrize(("value", "others"), [(-999, range(200)), (0, range(60, 260)), (9999, range(200))])
def test_a_value_that_stands_apart_is_named(tmp_path, value, others):
    (line,) = lines(tmp_path, a=[value if n % 20 == 0 else other for n, other in zip(ROWS, others, strict=True)])
    assert f"a is {value} in 5.0%" in line


def test_a_single_outlier_stands_for_nothing(tmp_path):
    assert lines(tmp_path, a=[*range(199), 9999]) == []


def test_a_target_that_is_a_sum_is_reported(tmp_path):
    found = columns(tmp_path, casual=ROWS, registered=[n % 7 for n in ROWS], count=[n + n % 7 for n in ROWS])
    assert list(sum_lines(found)) == ["count = casual + registered in every row"]
    assert list(sum_lines(columns(tmp_path, a=ROWS, b=[n % 7 for n in ROWS], c=[n % 5 for n in ROWS]))) == []
