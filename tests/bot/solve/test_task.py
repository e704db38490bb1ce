from collections import Counter

import pytest

from bot.solve.task import classes_named, kind_of


@pytest.mark.parametrize(
    ("values", "asked", "kind"),
    [
        (["0", "1"] * 20, None, "two classes"),
        (["0", "1"] * 20, "rmse", "quantity"),
        (["0", "1"] * 20, "log_loss", "two classes"),
        ([str(n % 10) for n in range(200)], None, "classes"),
        ([str(n % 10) for n in range(200)], "mae", "quantity"),
        ([str(n % 10) for n in range(20)], None, "quantity"),
        ([str(n / 7) for n in range(200)], None, "quantity"),
        ([f"c{n % 4}" for n in range(40)], None, "classes"),
    ],
)
def test_the_kind_is_that_of_the_values_unless_the_metric_says_otherwise(values, asked, kind):
    assert kind_of(Counter(values), "train.csv", "y", metric_name=asked) == kind


def test_columns_are_named_as_classes_are_perhaps_with_one_prefix():
    assert classes_named(["C", "D"], ["Status_C", "Status_CL", "Status_D"])
    assert classes_named(["0", "1"], ["0", "1", "2"])
    assert not classes_named(["E", "C"], ["Status_C", "Status_D"])
