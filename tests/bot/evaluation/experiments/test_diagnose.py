"""How predictions err: columns that matter are found, those that do not are not, and probabilities are compared with shares."""

from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers.diagnostics import Diagnostics
from bot.evaluation.experiments.diagnose import diagnose
from bot.evaluation.scoring.bank import keep_array
from tests.bot.evaluation.experiments.parts import Task, Values, task
from tests.bot.evaluation.parts import card

ROWS = 600


def built(folder: Path, kind: str) -> Task:
    """Numbers around 0, or classes of 0 and 1 with a chance of .3; `x` is one of three levels."""
    rng = np.random.default_rng(3)
    labels = rng.normal(0, 1, ROWS).round(6) if kind == "rmse" else (rng.random(ROWS) < 0.3).astype(int)
    return task(folder, card(kind), [("abc"[n % 3], y) for n, y in enumerate(labels)], [0.5])


def diagnosed(of: Task, oof: Values, validation: Values, *, stored: bool = True) -> Diagnostics:
    bank = of.folder / "bank"
    files = [bank / keep_array(values, bank) for values in (validation, oof)]
    found = diagnose(of.folds, of.view, files[0], files[1] if stored else None)
    assert found is not None
    return found


def levels(of: Task, role: str) -> Values:
    """The value of x in each row, by its id."""
    return np.array(["abc"[int(id[1:]) % 3] for id in of.ids(role)])


@pytest.mark.parametrize("stored", [True, False], ids=["out of fold", "hold-out"])
def test_the_column_whose_rows_err_more_is_shown_with_the_metric_of_each_level(tmp_path: Path, stored: bool) -> None:
    of = built(tmp_path, "rmse")
    errors = {role: np.where(levels(of, role) == "b", 3.0, 0.1)[:, None] for role in ("oof", "validation")}
    found = diagnosed(
        of, *(of.truth(role).astype(float) - errors[role] for role in ("oof", "validation")), stored=stored
    )
    (grouping,) = found.groupings
    assert (grouping.column, grouping.groups[0][0]) == ("x", "b")
    assert [score for _, _, score in grouping.groups] == pytest.approx([3.0, 0.1, 0.1])
    assert (found.out_of_fold, sum(count for _, count, _ in grouping.groups)) == (stored, found.rows)
    assert {round(residual, 6) for _, residual in found.residuals} == {3.0, 0.1}
    assert found.calibration == ()


def test_a_column_whose_rows_err_alike_is_not_shown(tmp_path: Path) -> None:
    of = built(tmp_path, "rmse")
    rng = np.random.default_rng(5)
    arrays = [
        truth + rng.normal(0, 1, truth.shape) for truth in (of.truth(r).astype(float) for r in ("oof", "validation"))
    ]
    found = diagnosed(of, *arrays)
    assert (found.groupings, found.columns_compared) == ((), 1)


def test_probabilities_stand_beside_the_share_of_rows_that_are_positive(tmp_path: Path) -> None:
    of = built(tmp_path, "log_loss")
    arrays = [np.full(of.truth(role).shape, 0.62) for role in ("oof", "validation")]
    found = diagnosed(of, *arrays)
    ((chance, share, count),) = found.calibration
    assert (chance, count, found.residuals) == (pytest.approx(0.62), found.rows, ())
    assert share == pytest.approx(np.mean(of.truth("oof").astype(float)))
    (by_class,) = found.groupings
    assert [(name, round(score, 3)) for name, _, score in by_class.groups] == [("0", 0.968), ("1", 0.478)]
