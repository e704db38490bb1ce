"""Scored rows: standard errors are those that theory knows, and those of paired differences are far smaller."""

import math
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers import LabelledView, NodeScore
from bot.evaluation.scoring.score import score_predictions
from scrapers.snapshots.card import TaskCard
from state.errors import InfrastructureFailure, InvalidSubmission
from tests.bot.evaluation.parts import card, write

ROWS = 2_000


@pytest.fixture
def here(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    hard, own = rng.normal(0, 2, ROWS), rng.normal(0, 0.2, (2, ROWS))
    named = [f"r{n}" for n in range(ROWS)]
    write(tmp_path / "view" / "sample_validation.csv", ["id", "y"], ([id, 0] for id in named))
    write(tmp_path / "labels" / "labels.csv", ["id", "y"], ([id, 0] for id in named))
    for name, errors in (("a", hard + own[0]), ("b", hard * 1.05 + own[1])):
        write(tmp_path / f"{name}.csv", ["id", "y"], zip(reversed(named), reversed(errors.tolist()), strict=True))
    return tmp_path


def found(here: Path, other: str | None = "b", task: TaskCard | None = None) -> NodeScore:
    files = (here / "a.csv", here / f"{other}.csv" if other else None)
    return score_predictions(LabelledView(here / "view", here / "labels", task or card("mae")), *files, 0)


def test_it_is_the_standard_error_of_the_mean_where_the_score_is_a_mean(here: Path) -> None:
    values = [abs(float(line.split(",")[1])) for line in (here / "a.csv").read_text().splitlines()[1:]]
    result = found(here, None)
    assert result.std_error == pytest.approx(np.std(values) / math.sqrt(ROWS), rel=0.001)
    assert (result.value, result.gain) == (pytest.approx(np.mean(values)), None)


def test_a_paired_difference_is_far_less_uncertain_and_oriented(here: Path) -> None:
    result = found(here)
    assert result.gain.value > 0, "the first errs less, and less is better"
    assert result.gain.std_error < result.std_error / 3
    assert found(here) == result, "seeded"
    view = LabelledView(here / "view", here / "labels", card("mae"))
    assert score_predictions(view, here / "b.csv", here / "a.csv", 0).gain.value == pytest.approx(-result.gain.value)


def test_another_that_cannot_be_read_is_none(here: Path) -> None:
    assert found(here, "missing").gain is None
    with pytest.raises(InvalidSubmission):
        score_predictions(LabelledView(here / "view", here / "labels", card("mae")), here / "missing.csv", None, 0)
    (here / "labels" / "labels.csv").unlink()
    with pytest.raises(InfrastructureFailure, match="labels"):
        found(here)
