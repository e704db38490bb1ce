"""How much worse a model gets with time, on made-up series."""

from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bot.evaluation.answers import LabelledView
from bot.evaluation.scoring.backtests import _ages, distance_factors
from bot.evaluation.views.build import build_view
from bot.evaluation.views.opened_view import OpenedView
from tests.bot.evaluation.parts import card, write

TRAIN, TEST = 320, 80


def factors(
    folder: Path, drift: float, seconds: float, *, many: int = TRAIN, slope: float = 0.0
) -> tuple[float, float] | None:
    """Return the factors of a series in which the level of the target wanders, and rises, by so much a day."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=many + TEST)
    y = x + rng.normal(size=len(x)) * 0.5 + np.cumsum(slope + rng.normal(size=len(x)) * drift)
    days = [date(2020, 1, 1) + timedelta(days=place) for place in range(len(x))]
    rows = [(f"r{place}", day, value, label) for place, (day, value, label) in enumerate(zip(days, x, y, strict=True))]
    write(folder / "data/train.csv", ["id", "date", "x", "y"], rows[:many])
    write(folder / "data/test.csv", ["id", "date", "x"], [row[:3] for row in rows[many:]])
    write(folder / "data/sample_submission.csv", ["id", "y"], [(row[0], 0.5) for row in rows[many:]])
    task = card("rmse")
    build_view(folder / "data", task, "holdout", 0, folder / "view", folder / "labels")
    view = OpenedView(folder / "view", folder / "labels", task)
    labelled = LabelledView(folder / "view", folder / "labels", task)
    return distance_factors(view, labelled, "date", seconds, refitted=False)


@pytest.mark.integration
def test_a_level_that_wanders_makes_the_later_rows_less_certain(tmp_path: Path) -> None:
    steady, wandering = factors(tmp_path / "steady", 0.0, 60), factors(tmp_path / "wandering", 0.3, 60)
    assert steady is not None and wandering is not None
    assert steady[0] < 1 < steady[1] < 2.5
    assert wandering[1] > 1.2 * steady[1]


def test_one_cut_off_says_something_and_too_few_rows_nothing(tmp_path: Path) -> None:
    brief = factors(tmp_path / "brief", 0.0, 0)
    assert brief is not None and brief[0] < 1 < brief[1]
    assert factors(tmp_path / "few", 0.0, 60, many=60) is None


@pytest.mark.integration
def test_a_trend_that_each_cut_off_shows_is_not_cut(tmp_path: Path) -> None:
    """Of trees, which do not go beyond what they saw, the distance grows as the time does."""
    trend = factors(tmp_path / "trend", 0.0, 60, slope=1.0)
    assert trend is not None and trend[1] > 2.5


def test_rows_between_test_rows_are_as_old_as_their_place_in_their_stretch() -> None:
    days = [float(day) for day in range(90)]
    train, test = ([day for day in days if (day % 30 >= 20) is is_test] for is_test in (False, True))
    view: Any = SimpleNamespace(
        test={"day": pd.Series([date.fromordinal(700_000 + int(day)).isoformat() for day in test])}
    )
    shift = (date.fromordinal(700_000) - date(1970, 1, 1)).days
    times = [(shift + day) * 86_400 for day in train]
    assert _ages(view, "day", times).tolist() == [3.0 * place for place in range(20)] * 3
