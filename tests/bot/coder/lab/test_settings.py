"""How long a lab may take."""

import pytest

from bot.coder.lab.settings import LabSettings

DAY = 86_400.0


@pytest.mark.parametrize(
    ("total", "left", "seconds"),
    [
        (5 * 3600.0, 18_000.0, 0.12 * 5 * 3600.0),
        (60 * DAY, 40 * DAY, 0.12 * DAY),
        (2.1 * 3600.0, 7000.0, 1500.0),
        (2.1 * 3600.0, 2000.0, 2000.0),
        (7200.0, 7100.0, 7100.0),
        (2400.0, 2300.0, 2300.0),
        (60 * DAY, 3000.0, 3000.0),
    ],
)
def test_a_lab_takes_its_share_of_the_run_or_of_a_day_or_all_where_little_is_left(
    total: float, left: float, seconds: float
) -> None:
    assert LabSettings().seconds(total, left) == seconds
