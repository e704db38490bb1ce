"""Scoring an experiment from arrays: every shape, what is refused, what is compared, and what is kept."""

import math
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers.blends import BlendRecipe
from bot.evaluation.answers.experiments import PresentEnsemble
from bot.evaluation.client.worker import Worker
from bot.evaluation.experiments.score import take_test
from bot.evaluation.metrics.registry import METRICS
from bot.evaluation.scoring.bank import read_numbers, read_predicted
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission
from tests.bot.evaluation.experiments.parts import Task, task
from tests.bot.evaluation.parts import card, write

ROWS = 600
RNG = np.random.default_rng(3)


def of(metric: str, columns: list[str] | None = None, **params: object) -> TaskCard:
    made = card(metric, columns or ["y"], **params)
    right = made.metric.model_copy(update={"direction": METRICS[metric].direction})
    return made.model_copy(update={"metric": right})


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Task:
    rows = [(n, round(float(RNG.normal(5, 1)), 4)) for n in range(ROWS)]
    return task(tmp_path_factory.mktemp("numbers"), of("rmse"), rows, [0])


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Task:
    rows = [(n, round(float(RNG.normal()), 4), round(float(RNG.normal(0, 30)), 4)) for n in range(ROWS)]
    return task(tmp_path_factory.mktemp("two"), of("rmse", ["a", "b"]), rows, [0, 0])


@pytest.fixture(scope="module")
def chances(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return task(tmp_path_factory.mktemp("chances"), of("roc_auc"), [(n, n % 3 // 2) for n in range(ROWS)], [0])


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return task(tmp_path_factory.mktemp("labels"), of("accuracy"), [(n, "bca"[n % 3]) for n in range(ROWS)], ["a"])


@pytest.fixture(scope="module")
def grades(tmp_path_factory: pytest.TempPathFactory) -> Task:
    rows = [(n, n % 4) for n in range(ROWS)]
    return task(tmp_path_factory.mktemp("grades"), of("quadratic_weighted_kappa"), rows, [0])


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Task:
    rows = [(n, ("cat dog", "dog", "cat fish")[n % 3]) for n in range(ROWS)]
    return task(tmp_path_factory.mktemp("lists"), of("multilabel_samples_f1"), rows, ["dog"])


def noisy(of: Task, spread: float, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return of.arrays(lambda truth: truth.astype(float) + rng.normal(0, spread, truth.shape))


@pytest.mark.parametrize("squeezed", [True, False])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "?"])
def test_numbers_of_one_column_may_have_one_side_or_two(numbers: Task, squeezed: bool, dtype: str) -> None:
    made = noisy(numbers, 0.5)
    sent = {role: (one[:, 0] if squeezed else one).astype(dtype) for role, one in made.items()}
    scored = numbers.score(**sent)
    fold = numbers.fold
    error = sent["oof"].ravel().astype(float) - numbers.truth("oof")[:, 0].astype(float)
    assert scored.score == pytest.approx(math.sqrt((error[fold >= 0] ** 2).mean()))
    assert scored.holdout is not None and scored.internal_test is not None and scored.folds is None
    assert scored.std_error == pytest.approx(scored.score / math.sqrt(2 * (fold >= 0).sum()), rel=0.3) or dtype == "?"


@pytest.mark.parametrize("form", ["rows", "column", "two classes"])
def test_the_probability_of_one_class_may_come_as_that_of_two(chances: Task, form: str) -> None:
    made = {role: one[:, 0] for role, one in noisy(chances, 0.3).items()}
    shapes = {
        "rows": lambda p: p,
        "column": lambda p: p[:, None],
        "two classes": lambda p: np.stack([1 - p, p], axis=1),
    }
    assert chances.score(**{role: shapes[form](one) for role, one in made.items()}).score > 0.9


def test_order_metrics_are_computed_by_fold(chances: Task) -> None:
    made = noisy(chances, 0.3)
    shifted = made["oof"] + 100 * chances.fold[:, None]
    scored = chances.score(oof=shifted)
    assert scored.score == pytest.approx(chances.score(oof=made["oof"]).score)
    assert scored.std_error is not None and 0 < scored.std_error < 0.03


def test_probabilities_of_classes_and_indices_give_the_same_labels(labels: Task) -> None:
    classes = ["a", "b", "c"]
    index = {
        role: np.array([classes.index(cell) for cell in labels.truth(role)[:, 0]]) for role in ("oof", "validation")
    }
    index["oof"][:60] = 0
    hot = {role: np.eye(3)[one] * 0.4 + 0.2 for role, one in index.items()}
    first, second = labels.score(**index), labels.score(**hot)
    assert 0.85 < first.score == second.score < 1 == first.holdout
    bank = labels.folder / "bank"
    assert set(read_predicted(bank / first.arrays.validation, bank, labels.card).ravel()) == set(classes)
    kept = read_numbers(bank / second.arrays.validation)
    assert kept == pytest.approx(hot["validation"] / hot["validation"].sum(axis=1, keepdims=True), abs=1e-6)
    assert read_numbers(bank / first.arrays.validation) is None, "indices say nothing of other classes"


def test_ordered_labels_are_numbers_that_are_cut_where_it_scores_best(grades: Task) -> None:
    # All numbers lie too low: halfway cuts would be wrong.
    low = grades.arrays(lambda truth: truth[:, 0].astype(float) - 0.4 + 0.02 * np.sin(np.arange(len(truth))) - 0.12)
    scored = grades.score(**low)
    assert scored.score > 0.97 and scored.holdout > 0.97
    test = take_test(grades.folds, grades.view, grades.send(low["test"]), grades.folder / "bank", scored.arrays.oof, 0)
    assert test == scored.arrays.test, "a run on all rows has the same cut points"
    assert (read_numbers(grades.folder / "bank" / scored.arrays.oof) == low["oof"][:, None].astype(np.float32)).all()


def test_lists_of_labels_come_from_a_threshold_that_is_fitted(lists: Task) -> None:
    classes = ["cat", "dog", "fish"]

    def made(truth: np.ndarray) -> np.ndarray:
        return np.array([[0.35 if name in cell.split() else 0.2 for name in classes] for cell in truth[:, 0]])

    scored = lists.score(**lists.arrays(made))
    assert scored.score == scored.holdout == 1.0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.zeros(7), r"shape \(7,\); expected: \(\d+,\) or \(\d+, 1\)"),
        (np.zeros((ROWS, 2)), "expected"),
        (np.array([object()]), "float16 to float64"),
        (np.zeros(3, dtype="c16"), "float16 to float64"),
        (np.zeros(3, dtype="U3"), "float16 to float64"),
    ],
)
def test_another_array_gets_a_sentence(numbers: Task, values: np.ndarray, words: str) -> None:
    with pytest.raises(InvalidSubmission, match=words):
        numbers.score(oof=values)


def test_a_header_that_claims_more_than_the_file_has_is_read_no_further(numbers: Task, tmp_path: Path) -> None:
    for shape in ((10**12,), (len(numbers.fold),), (10**30, 10**30), (-1,)):
        file = tmp_path / "huge.npy"
        with file.open("wb") as out:
            np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
            out.write(b"few")
        with pytest.raises(InvalidSubmission):
            numbers.score(oof=file)
    file.write_bytes(b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65_535)
    with pytest.raises(InvalidSubmission, match="not a file written by"):
        numbers.score(oof=file)


def test_infinity_is_refused_and_so_is_nan_but_for_what_is_never_scored(numbers: Task) -> None:
    made = noisy(numbers, 0.5)["oof"]
    for value in (np.inf, np.nan):
        wrong = made.copy()
        wrong[np.flatnonzero(numbers.fold == 2)[3]] = value
        with pytest.raises(InvalidSubmission, match="in 1 rows"):
            numbers.score(oof=wrong)
    with pytest.raises(InvalidSubmission, match="all folds"):
        numbers.score(oof=np.full_like(made, np.nan))
    with pytest.raises(InvalidSubmission):
        numbers.score(oof=made, validation=np.full(len(numbers.ids("validation")), np.nan))


def test_whole_folds_may_be_left_out_and_are_not_compared(numbers: Task) -> None:
    full, part = noisy(numbers, 0.5), noisy(numbers, 0.1, seed=1)["oof"]
    first = numbers.score(**full)
    part[np.isin(numbers.fold, [0, 3])] = np.nan
    scored = numbers.score(oof=part, against=first.arrays)
    assert scored.folds == (1, 2, 4) and scored.score == pytest.approx(0.1, rel=0.2)
    assert scored.gain is not None and scored.gain.value == pytest.approx(0.4, rel=0.2)
    again = numbers.score(**full, against=scored.arrays)
    assert again.gain is not None and again.gain.value == pytest.approx(-scored.gain.value)


def test_values_beyond_the_bounds_are_clipped_with_a_line(tmp_path: Path) -> None:
    rows = [(n, n % 2) for n in range(ROWS)]
    of_chances = task(tmp_path, of("log_loss"), rows, [0.5])
    scored = of_chances.score(oof=np.linspace(-1, 1.5, len(of_chances.fold)))
    assert any("clipped" in one and "below 0" in one and "above 1" in one for one in scored.warnings)


def test_gains_are_paired(numbers: Task) -> None:
    base = noisy(numbers, 0.5)
    first = numbers.score(**base)
    better = {role: one * 0.98 + 0.02 * numbers.truth(role).astype(float) for role, one in base.items()}
    scored = numbers.score(**better, against=first.arrays)
    assert scored.gain is not None and first.std_error is not None and scored.gain.std_error is not None
    assert scored.gain.value == pytest.approx(0.02 * first.score) and scored.gain.std_error < 0.05 * first.std_error


def test_what_errs_otherwise_gains_for_the_ensemble_and_a_copy_does_not(numbers: Task) -> None:
    first = numbers.score(**noisy(numbers, 0.5))
    present = PresentEnsemble(BlendRecipe("mean", {1: 1.0}), first.arrays.oof or "")
    other = numbers.score(**noisy(numbers, 0.5, seed=1), ensemble=present)
    assert other.ensemble_gain is not None and other.ensemble_gain.value == pytest.approx(0.15, abs=0.03)
    copy = numbers.score(**noisy(numbers, 0.5), ensemble=present)
    assert copy.ensemble_gain is not None and copy.ensemble_gain.value == pytest.approx(0)


def test_an_ensemble_of_numbers_behind_labels_stands_in_no_experiments_way(labels: Task, grades: Task) -> None:
    rng = np.random.default_rng(8)
    for given, recipe in (
        (labels, BlendRecipe("classes", {1: 1.0}, {"offset": [0.0, 0.0, 0.0]}, classes=["a", "b", "c"])),
        (grades, BlendRecipe("numbers", {1: 1.0}, {"levels": [0, 1], "thresholds": [0.5]})),
    ):
        width = 3 if given is labels else 1
        first = given.score(**given.arrays(lambda truth, width=width: rng.random((len(truth), width))))
        present = PresentEnsemble(recipe, first.arrays.oof or "")
        other = given.score(
            **given.arrays(lambda truth, width=width: rng.random((len(truth), width))), ensemble=present
        )
        assert other.score and other.ensemble_gain is None


def test_logits_are_no_probabilities_and_count_by_their_best_class(labels: Task) -> None:
    logits = labels.arrays(lambda truth: np.random.default_rng(0).normal(0, 1, (len(truth), 3)))
    scored = labels.score(**logits)
    assert scored.score and read_numbers(labels.folder / "bank" / str(scored.arrays.validation)) is None


def test_columns_have_scores_and_one_that_carries_the_noise_is_named(two: Task) -> None:
    spreads = np.array([0.1, 5.0])
    rng = np.random.default_rng(0)
    scored = two.score(**two.arrays(lambda truth: truth.astype(float) + rng.normal(0, 1, truth.shape) * spreads))
    assert scored.columns == {"a": pytest.approx(0.1, rel=0.2), "b": pytest.approx(5, rel=0.2)}


def test_few_rows_that_carry_the_noise_are_named(numbers: Task) -> None:
    made = noisy(numbers, 0.1)["oof"]
    made[np.flatnonzero(numbers.fold >= 0)[:2]] += 100
    assert any("2 of" in one or "1 of" in one for one in numbers.score(oof=made).warnings)


def test_test_predictions_on_another_scale_are_a_warning(numbers: Task) -> None:
    made = noisy(numbers, 0.5)
    test = np.random.default_rng(0).normal(5, 1, (50, 1))
    assert not numbers.score(**{**made, "test": test}).warnings
    assert any("test rows" in one for one in numbers.score(**{**made, "test": np.expm1(test)}).warnings)


def test_without_out_of_fold_predictions_the_hold_out_scores(numbers: Task) -> None:
    made = noisy(numbers, 0.5)
    scored = numbers.score(validation=made["validation"])
    assert scored.score == scored.holdout and scored.arrays.oof is None
    with pytest.raises(InvalidSubmission, match="neither was given"):
        numbers.score(test=made["test"])


def test_files_in_the_form_of_the_submission_score_alike(numbers: Task, tmp_path: Path) -> None:
    made = noisy(numbers, 0.5)["validation"]
    rows = zip(numbers.ids("validation"), made[:, 0].tolist(), strict=True)
    file = write(tmp_path / "validation.csv", ["id", "y"], rows)
    assert numbers.score(validation=file).score == pytest.approx(numbers.score(validation=made).score)


def test_predictions_are_kept_as_the_blend_reads_them(numbers: Task) -> None:
    made = noisy(numbers, 0.5)
    arrays = numbers.score(**made).arrays
    kept = read_predicted(numbers.folder / "bank" / (arrays.test or ""), Path(), numbers.card)
    assert (kept == made["test"]).all() and numbers.score(**made).arrays == arrays


@pytest.mark.integration
async def test_the_worker_scores_an_experiment(numbers: Task) -> None:
    files = {role: numbers.send(one) for role, one in noisy(numbers, 0.5).items()}
    worker = Worker(seconds=60)
    try:
        bank = numbers.folder / "bank"
        scored = await worker.score_experiment(numbers.folds, numbers.view, files, bank, None, None, None, False, 0)
    finally:
        await worker.aclose()
    assert scored.score == pytest.approx(0.5, rel=0.1) and scored.check == "not checked"
