"""The check against leaks: honest experiments agree, leaks are blamed, and few or made-up rows are not checked."""

from collections import Counter

import numpy as np
import pytest

from bot.evaluation.answers import Gain
from bot.evaluation.experiments.leak_check import compare_gains
from tests.bot.evaluation.experiments.parts import Task, task
from tests.bot.evaluation.parts import card

ROWS = 2_000


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Task:
    rng = np.random.default_rng(3)
    rows = [(n, round(float(rng.normal(5, 1)), 4)) for n in range(ROWS)]
    return task(tmp_path_factory.mktemp("leaks"), card("rmse"), rows, [0])


def noisy(of: Task, spread: float, seed: int, held: float | None = None) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    spreads = {"oof": spread, "validation": spread if held is None else held}
    return {
        role: of.truth(role).astype(float) + rng.normal(0, own, (len(of.ids(role)), 1)) for role, own in spreads.items()
    }


def phrases(of: Task, spread: float, held: float | None = None) -> Counter[str]:
    base = of.score(**noisy(of, 0.6, 100)).arrays
    return Counter(of.score(**noisy(of, spread, n, held), reference=base, seed=n).check for n in range(10))


def test_an_honest_experiment_agrees(numbers: Task) -> None:
    assert phrases(numbers, 0.5)["agrees"] >= 9


def test_a_leak_gains_less_than_its_folds_promise(numbers: Task) -> None:
    assert phrases(numbers, 0.2, held=0.5)["gains less than its folds suggest"] >= 9


def test_what_differs_in_few_rows_is_not_checked(numbers: Task) -> None:
    base = noisy(numbers, 0.5, 0)
    other = {role: values.copy() for role, values in base.items()}
    other["validation"][:5] += 1
    other["oof"] += 0.1
    arrays = numbers.score(**base).arrays
    assert numbers.score(**other, reference=arrays).check == "not checked"
    assert numbers.score(**base, reference=arrays).check == "not checked"


def test_gains_that_differ_from_fold_to_fold_are_given_more_room() -> None:
    whole, held = Gain(1.0, 0.02, "base"), Gain(0.7, 0.05, "base")
    even = [Gain(1.0, 0.05, "base")] * 5
    uneven = [Gain(1.0 + 0.3 * at, 0.05, "base") for at in (-2, -1, 0, 1, 2)]
    assert compare_gains(whole, even, held, 0.1, 0.0) == "gains less than its folds suggest"
    assert compare_gains(whole, uneven, held, 0.1, 0.0) == "agrees"
