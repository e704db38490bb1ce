"""A refit is trusted by how far its predictions moved: sound ones of noisy models are, spoiled ones are not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from bot.evaluation.answers import Agreement, LabelledView
from bot.evaluation.scoring.agreement import agree
from bot.evaluation.views.parts import write_final
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card, write

Values = NDArray[Any]
FINAL = 30
"""Withheld rows that are scored apart; their labels must not matter."""


def compare(
    folder: Path,
    metric: str,
    labels: Any,
    predicted: Any,
    scored: Any,
    refitted: Any,
    alike: Any = (),
    columns: tuple[str, ...] = ("y",),
) -> Agreement:
    """Compare a refit's predictions with the scored run's; each (rows, columns), or (rows)."""
    view, hidden = folder / "view", folder / "labels"
    asked, tested = ([f"{side}{n}" for n in range(len(rows))] for side, rows in (("v", labels), ("t", scored)))

    def table(path: Path, ids: list[str], values: Any) -> Path:
        cells = np.asarray(values).reshape(len(ids), -1)
        return write(path, ["id", *columns], ([id, *row] for id, row in zip(ids, cells, strict=True)))

    table(view / "sample_validation.csv", asked, np.asarray(labels))
    table(view / "sample_submission.csv", tested, np.asarray(scored))
    table(hidden / "labels.csv", asked, labels)
    write_final(hidden, range(0, FINAL if len(asked) > 2 * FINAL else 0))
    files = [table(folder / f"alike{n}.csv", tested, values) for n, values in enumerate(alike)]
    return agree(
        LabelledView(view, hidden, card(metric, columns)),
        table(folder / "refit.csv", tested, refitted),
        table(folder / "scored.csv", tested, scored),
        table(folder / "validation_predictions.csv", asked, predicted),
        files,
    )


def fitted(
    make: Callable[[int], Any], data: tuple[Values, Values], share: float, seed: int, *, chances: bool = False
) -> tuple[Values, Values, Values, Values]:
    """Return labels and predictions of the withheld rows, and the scored run's and the refit's of the test rows."""
    features, targets = data
    train, known = slice(0, int(share * 600)), slice(0, 600)
    withheld, test = slice(int(share * 600), 600), slice(600, None)

    def predictions(model: Any, rows: slice) -> Values:
        return model.predict_proba(features[rows])[:, 1] if chances else model.predict(features[rows])  # type: ignore[no-any-return]

    first, again = (make(seed + n).fit(features[rows], targets[rows]) for n, rows in enumerate((train, known)))
    return targets[withheld], predictions(first, withheld), predictions(first, test), predictions(again, test)


def quantities(seed: int, noise: float) -> tuple[Values, Values]:
    features, targets = make_regression(1200, 8, noise=noise, random_state=seed)
    return features, 50 + targets / targets.std()


REGRESSORS = {
    "ridge": lambda seed: Ridge(),
    "forest": lambda seed: RandomForestRegressor(30, random_state=seed),
    "boosting": lambda seed: GradientBoostingRegressor(n_estimators=60, random_state=seed),
    "five neighbours": lambda seed: KNeighborsRegressor(5),
}
CLASSIFIERS = {
    "logistic": lambda seed: LogisticRegression(),
    "forest": lambda seed: RandomForestClassifier(40, min_samples_leaf=3, random_state=seed),
    "sure and often wrong": lambda seed: GaussianNB(),
}


@pytest.mark.integration
@pytest.mark.parametrize("model", REGRESSORS)
@pytest.mark.parametrize("noise", [5.0, 100.0])
def test_sound_refits_of_quantities_are_trusted(tmp_path: Path, model: str, noise: float) -> None:
    for seed in range(2):
        found = fitted(REGRESSORS[model], quantities(seed, noise), 0.7, seed)
        for metric in ("rmse", "mae", "r2", "spearman"):
            result = compare(tmp_path / f"{seed}{metric}", metric, *found)
            assert result.agrees, (metric, result.message)


@pytest.mark.integration
@pytest.mark.parametrize("model", CLASSIFIERS)
@pytest.mark.parametrize("flipped", [0.01, 0.3])
def test_sound_refits_of_classes_are_trusted(tmp_path: Path, model: str, flipped: float) -> None:
    for seed in range(2):
        data = make_classification(1200, 12, n_informative=6, flip_y=flipped, random_state=seed)
        found = fitted(CLASSIFIERS[model], data, 0.7, seed, chances=True)
        for metric in ("log_loss", "roc_auc"):
            result = compare(tmp_path / f"{seed}{metric}", metric, *found)
            assert result.agrees, (metric, result.message)
        labels = [np.where(values > 0.5, "yes", "no") for values in found]
        result = compare(tmp_path / f"{seed}labels", "accuracy", *labels)
        assert result.agrees, result.message


@pytest.mark.integration
def test_spoiled_refits_are_not_trusted(tmp_path: Path) -> None:
    labels, predicted, scored, refitted = fitted(REGRESSORS["boosting"], quantities(0, 5.0), 0.7, 0)
    rng, fine = np.random.default_rng(0), (labels, predicted, scored)
    for metric in ("rmse", "rmsle", "mae", "r2", "msle"):
        for name, spoiled in (
            ("shuffled", rng.permutation(refitted)),
            ("no back-transformation", np.log1p(refitted)),
            ("one value", np.full(len(refitted), refitted.mean())),
        ):
            result = compare(tmp_path / metric / name, metric, *fine, spoiled)
            assert not result.agrees and "at most" in result.message, (metric, name)


def test_two_numbers_that_differ_are_written_with_the_digits_that_tell_them_apart(tmp_path: Path) -> None:
    labels, predicted = np.arange(100.0), np.arange(100.0) + 1
    result = compare(tmp_path, "mse", labels, predicted, labels, labels + np.sqrt(0.50001))
    assert "run's is 0.50001, but at most 0.5 is expected" in result.message


def test_a_scored_run_that_gave_every_row_one_answer_is_no_measure(tmp_path: Path) -> None:
    labels, predicted, scored, refitted = fitted(REGRESSORS["boosting"], quantities(0, 5.0), 0.7, 0)
    flat = np.full(len(predicted), labels.mean()), np.full(len(scored), labels.mean())
    assert compare(tmp_path / "model", "rmse", labels, *flat, refitted).agrees
    assert not compare(tmp_path / "two", "rmse", labels, *flat, np.full(len(scored), 9 * labels.mean())).agrees


def test_a_refit_that_lost_its_best_models_is_not_trusted_though_it_ranks_alike(tmp_path: Path) -> None:
    """As bike-sharing was submitted: the scored run's file had .412, the refit's .871, and its rank correlation was above .8."""
    rng = np.random.default_rng(0)
    truth = rng.normal(4.6, 1.4, 900)
    scored = truth + rng.normal(0, 0.41, 900)
    rest = 2.8 + 0.4 * scored + rng.normal(0, 0.2, 900)
    assert np.corrcoef(scored, rest)[0, 1] > 0.9 and np.sqrt(np.mean((rest - truth) ** 2)) > 0.75
    sides = [np.expm1(np.maximum(side, 0)) for side in (truth[:400], scored[:400], scored[400:], rest[400:])]
    result = compare(tmp_path, "rmsle", *sides)
    assert not result.agrees and "squared rmsle" in result.message


@pytest.mark.integration
def test_spoiled_chances_are_not_trusted(tmp_path: Path) -> None:
    data = make_classification(1200, 12, n_informative=6, random_state=1)
    labels, predicted, scored, refitted = fitted(CLASSIFIERS["forest"], data, 0.7, 0, chances=True)
    shuffled = np.random.default_rng(0).permutation(refitted)
    for metric in ("log_loss", "roc_auc", "average_precision"):
        for name, spoiled in (("shuffled", shuffled), ("flipped", 1 - refitted)):
            assert not compare(tmp_path / metric / name, metric, labels, predicted, scored, spoiled).agrees
    # Only a metric of values sees the scale.
    assert compare(tmp_path / "scaled", "roc_auc", labels, predicted, scored, refitted / 1000).agrees
    assert not compare(tmp_path / "small", "log_loss", labels, predicted, scored, refitted / 1000).agrees


def test_rows_of_several_classes_are_compared_as_distributions(tmp_path: Path) -> None:
    rng, names = np.random.default_rng(0), ("a", "b", "c")
    chances = rng.dirichlet([0.5] * 3, 700)
    labels = np.array([rng.multinomial(1, row) for row in chances[:300]])
    near = chances[300:] * rng.uniform(0.8, 1.25, (400, 3))
    sides = labels, chances[:300], chances[300:]
    assert compare(tmp_path / "near", "log_loss", *sides, near, columns=names).agrees, "rows need not sum to 1"
    assert not compare(tmp_path / "swapped", "log_loss", *sides, chances[300:, [1, 2, 0]], columns=names).agrees


def test_a_move_as_large_as_others_moved_is_trusted_up_to_the_own_error(tmp_path: Path) -> None:
    data = make_classification(1200, 12, n_informative=6, flip_y=0.3, random_state=0)
    names = np.array(["no", "yes"])

    def tree(seed: int) -> Any:
        return DecisionTreeClassifier(random_state=seed, splitter="random")

    labels, predicted, scored, refitted = (names[side] for side in fitted(tree, data, 0.7, 0))
    sides = labels, predicted, scored, refitted
    alone = compare(tmp_path / "alone", "accuracy", *sides)
    others = [names[tree(seed).fit(data[0][:420], data[1][:420]).predict(data[0][600:])] for seed in range(2, 6)]
    assert not alone.agrees, "each tree of such data is another one"
    assert compare(tmp_path / "others", "accuracy", *sides, others).agrees
    wrong = np.where(np.asarray(refitted) == "yes", "no", "yes")
    assert not compare(tmp_path / "wrong", "accuracy", labels, predicted, scored, wrong, others).agrees


def test_labels_without_an_error_on_few_rows_may_move_a_little(tmp_path: Path) -> None:
    labels = np.array(["cat", "dog"])[np.arange(200) % 2]
    one, many = labels.copy(), labels.copy()
    one[0], many[:40] = "dog", "bird"
    assert compare(tmp_path / "one", "accuracy", labels, labels, labels, one).agrees
    assert not compare(tmp_path / "many", "accuracy", labels, labels, labels, many).agrees


def test_the_labels_of_final_do_not_matter(tmp_path: Path) -> None:
    labels, predicted, scored, refitted = fitted(REGRESSORS["ridge"], quantities(0, 5.0), 0.7, 0)
    other = labels.copy()
    other[:FINAL] += 1e6
    shuffled = np.random.default_rng(0).permutation(refitted)
    assert not compare(tmp_path, "rmse", other, predicted, scored, shuffled).agrees


def test_predictions_for_a_metric_that_is_not_known_are_compared_by_rank_and_by_value(tmp_path: Path) -> None:
    labels, predicted, scored, refitted = fitted(REGRESSORS["forest"], quantities(0, 5.0), 0.7, 0)
    fine = labels, predicted, scored
    assert compare(tmp_path / "sound", "of_its_own", *fine, refitted).agrees
    assert not compare(tmp_path / "scale", "of_its_own", *fine, refitted * 2).agrees
    assert not compare(tmp_path / "order", "of_its_own", *fine, np.random.default_rng(0).permutation(refitted)).agrees


def test_texts_and_masks_are_compared_by_their_metric(tmp_path: Path) -> None:
    truth = [f"a{n % 7}" for n in range(200)]
    guessed = [f"b a{n % 7} c" for n in range(200)]
    moved = ["x y z" if n % 10 == 0 else f"b a{n % 7} c" for n in range(200)]
    assert compare(tmp_path / "lists", "map_at_k", truth, guessed, guessed, moved).agrees
    assert not compare(tmp_path / "other", "map_at_k", truth, guessed, guessed, ["x y z"] * 200).agrees
    masks = ["" if n % 2 else f"{n + 1} 100" for n in range(200)]
    near, far = (["" if n % 2 else f"{n + 1 + by} 100" for n in range(200)] for by in (10, 90))
    assert compare(tmp_path / "masks", "dice", masks, near, near, [*near[:-2], *masks[-2:]]).agrees
    assert not compare(tmp_path / "far", "dice", masks, near, near, far).agrees
    said, other = ["he went to the old house"] * 200, ["he went to that old house"] * 200
    assert compare(tmp_path / "said", "levenshtein", said, other, other, [*other[:-20], *said[:20]]).agrees
    assert not compare(tmp_path / "unsaid", "levenshtein", said, other, other, ["nobody knows"] * 200).agrees


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"id,y\nt0,0,1\n", b'id,y\n"t0,1', b"id,y\nt0,1\n", b""])
def test_what_is_no_prediction_file_of_these_rows_is_an_invalid_submission(tmp_path: Path, content: bytes) -> None:
    zeros = np.zeros(200)
    assert compare(tmp_path, "rmse", zeros, zeros, zeros, zeros).agrees
    (tmp_path / "refit.csv").write_bytes(content)
    view = LabelledView(tmp_path / "view", tmp_path / "labels", card())
    with pytest.raises(InvalidSubmission):
        agree(view, tmp_path / "refit.csv", tmp_path / "scored.csv", tmp_path / "validation_predictions.csv")
