"""The script that fits the portfolio, with scikit-learn's models."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bot.portfolio.fit_portfolio import FAMILIES, PortfolioTask, SkippedModel, main
from tests.bot.portfolio.parts import ROWS, features, fitted, write_job


def test_numbers_are_predicted_for_all_rows(tmp_path: Path) -> None:
    x = features()
    found = fitted(write_job(tmp_path, x[:ROWS, 0] * 3 + 5, x=x))
    assert [found[name].shape for name in ("oof", "validation", "test")] == [(ROWS,), (3,), (5,)]
    assert {found[name].dtype for name in ("oof", "validation", "test")} == {np.dtype(np.float32)}
    assert np.abs(found["oof"] - (x[:ROWS, 0] * 3 + 5)).mean() < 1
    assert found["meta"]["cpu_seconds"] > 0
    assert len(found["meta"]["chosen"]) == 3


def test_several_numbers_are_predicted_column_by_column(tmp_path: Path) -> None:
    x = features()
    found = fitted(write_job(tmp_path, x[:ROWS, :2] * [1, 1000], x=x))
    assert found["oof"].shape == (ROWS, 2)
    assert found["test"].shape == (5, 2)
    assert np.corrcoef(found["oof"][:, 1], x[:ROWS, 1])[0, 1] > 0.9


def test_trees_say_which_named_features_matter(tmp_path: Path) -> None:
    x = features()
    folder = write_job(tmp_path, x[:ROWS, 1], ("extra-trees", "linear"), x=x, columns=("age", "size", "place"))
    shares = fitted(folder, "extra-trees")["meta"]["importances"]
    assert next(iter(shares)) == "size" and sum(shares.values()) == pytest.approx(1, abs=0.01)
    assert json.loads((folder / "out" / "linear" / "meta.json").read_text())["importances"] == {}


@pytest.mark.parametrize("name", ["linear", "neighbours"])
def test_a_fold_is_predicted_without_its_own_rows(tmp_path: Path, name: str) -> None:
    x, target = features(), np.zeros(ROWS)
    target[::2] = 1
    planted = target.copy()
    planted[0::3] = 50 - 100 * planted[0::3]
    first = fitted(write_job(tmp_path / "a", target, (name,), x=x), name)
    second = fitted(write_job(tmp_path / "b", planted, (name,), x=x), name)
    assert np.allclose(first["oof"][0::3], second["oof"][0::3], atol=1e-4)
    assert not np.allclose(first["oof"][1::3], second["oof"][1::3], atol=0.1)


def test_rows_of_no_fold_are_learned_from_but_not_predicted(tmp_path: Path) -> None:
    folds = np.arange(ROWS) % 3
    folds[:30] = -1
    x = features()
    target = np.where(np.arange(ROWS) < 30, x[:ROWS, 0], 0)
    found = fitted(write_job(tmp_path, target, x=x, folds=folds))
    assert np.isnan(found["oof"][:30]).all()
    assert np.corrcoef(found["oof"][30:], x[30:ROWS, 0])[0, 1] > 0.9
    assert np.isfinite(found["test"]).all()


def test_forward_folds_learn_from_earlier_rows_alone(tmp_path: Path) -> None:
    x, order = features(), np.arange(ROWS)[::-1]
    folds = order // 15 - 1
    target, later = x[:ROWS, 0].copy(), x[:ROWS, 0].copy()
    later[folds == 2] += 100
    said: dict[str, Any] = {"x": x, "folds": folds, "order": order, "fold_kind": "forward"}
    first = fitted(write_job(tmp_path / "a", target, **said))
    second = fitted(write_job(tmp_path / "b", later, **said))
    assert np.isnan(first["oof"][folds == -1]).all()
    assert np.allclose(first["oof"][folds == 0], second["oof"][folds == 0], atol=1e-2)
    assert np.allclose(first["oof"][folds == 1], second["oof"][folds == 1], atol=1e-2)


def test_stopping_uses_the_latest_of_the_earlier_rows(tmp_path: Path) -> None:
    order = np.arange(ROWS)
    task = PortfolioTask(write_job(tmp_path, order * 1.0, folds=order // 15 - 1, order=order, fold_kind="forward"))
    rows = np.arange(45)
    stop = task.for_stopping(rows, rows * 1.0, np.random.default_rng(0))
    assert 0 < stop.sum() < 10
    assert rows[stop].min() > rows[~stop].max()


@pytest.mark.parametrize("has_groups", [True, False])
def test_stopping_keeps_groups_whole(tmp_path: Path, has_groups: bool) -> None:
    groups = np.arange(ROWS) // 4
    said = {"groups": groups} if has_groups else {}
    task = PortfolioTask(write_job(tmp_path, np.arange(ROWS) * 1.0, folds=groups % 3, fold_kind="grouped", **said))
    rows = np.flatnonzero(groups % 3)
    stop = task.for_stopping(rows, rows * 1.0, np.random.default_rng(0))
    assert stop.any()
    assert not set(groups[rows[stop]]) & set(groups[rows[~stop]])


def test_a_class_of_one_row_is_not_kept_for_stopping(tmp_path: Path) -> None:
    target = np.append(np.arange(ROWS - 1) % 2, 2)
    task = PortfolioTask(write_job(tmp_path, target, kind="multiclass", classes=3))
    for seed in range(10):
        stop = task.for_stopping(np.arange(ROWS), target, np.random.default_rng(seed))
        assert not stop[-1]


def test_probabilities_of_classes_sum_to_one(tmp_path: Path) -> None:
    x = features()
    target = np.argmax(x[:ROWS], axis=1)
    target[0] = 3
    found = fitted(write_job(tmp_path, target, x=x, kind="multiclass", metric="log_loss", classes=4))
    assert found["oof"].shape == (ROWS, 4)
    assert found["validation"].shape == (3, 4)
    assert np.allclose(found["oof"].sum(axis=1), 1, atol=1e-5)
    assert (found["oof"] > 0).all()
    assert (found["oof"].argmax(axis=1) == target).mean() > 0.7


def test_two_classes_have_the_probability_of_the_second(tmp_path: Path) -> None:
    x = features()
    target = (x[:ROWS, 0] > 0).astype(int)
    found = fitted(write_job(tmp_path, target, x=x, kind="binary", metric="roc_auc"))
    assert found["oof"].shape == (ROWS,)
    assert found["oof"][target == 1].mean() > 0.7 > 0.3 > found["oof"][target == 0].mean()


def test_several_labels_of_a_row_are_predicted_one_by_one(tmp_path: Path) -> None:
    x = features()
    target = np.column_stack([x[:ROWS, 0] > 0, x[:ROWS, 1] > 0, np.zeros(ROWS)]).astype(int)
    found = fitted(write_job(tmp_path, target, x=x, kind="multilabel"))
    assert found["oof"].shape == (ROWS, 3)
    assert found["oof"][:, 2].max() < 0.1


def test_logarithms_are_learned_and_undone(tmp_path: Path) -> None:
    x = features()
    target = np.expm1(6 + 2 * x[:ROWS, 0])
    found = fitted(write_job(tmp_path, target, x=x, metric="rmsle", logarithmic=True))
    assert (found["oof"] >= 0).all()
    assert np.sqrt(((np.log1p(found["oof"]) - np.log1p(target)) ** 2).mean()) < 0.6


def test_negative_targets_are_no_logarithms(tmp_path: Path) -> None:
    x = features()
    found = fitted(write_job(tmp_path, x[:ROWS, 0], x=x, metric="rmsle", logarithmic=True))
    assert found["oof"].min() < -0.5


def test_sparse_features_stay_sparse_for_linear_models(tmp_path: Path) -> None:
    x = sparse.random(ROWS + 8, 500, 0.1, format="csr", random_state=1, dtype=np.float32)
    target = np.asarray(x[:ROWS, :3].sum(axis=1)).ravel()
    folder = write_job(tmp_path, target, ("linear", "neighbours"), x=x)
    assert np.isfinite(fitted(folder)["oof"]).all()
    assert np.isfinite(fitted(folder, "neighbours")["oof"]).all()
    assert sparse.issparse(PortfolioTask(folder).features("scaled", np.arange(40), target[:40], 0)[0])


def test_categories_are_not_taken_for_quantities(tmp_path: Path) -> None:
    x = features()
    x[:, 0] = np.arange(len(x)) % 4
    target = np.array([0.0, 9.0, 0.0, 9.0])[x[:ROWS, 0].astype(int)]
    found = fitted(write_job(tmp_path, target, x=x, categories=(0,)))
    assert np.abs(found["oof"] - target).mean() < 1


def test_boosting_gets_categories_as_its_last_columns(tmp_path: Path) -> None:
    x = features()
    x[:, 0] = np.arange(len(x)) % 4 + 100
    task = PortfolioTask(write_job(tmp_path, x[:ROWS, 1], x=x, categories=(0,)))
    native, categories = task.features("native", np.arange(40), x[:40, 1], 0)
    assert categories == [2]
    assert set(native[:, 2]) == {0, 1, 2, 3}


def test_means_of_the_target_do_not_know_a_rows_own(tmp_path: Path) -> None:
    x, target = features(), np.random.default_rng(2).normal(size=ROWS)
    x[:, 0] = np.arange(len(x)) // 2
    task = PortfolioTask(write_job(tmp_path, target, x=x, encode=(0,)))
    fit = np.arange(40)
    encoded = task.features("native", fit, target[fit], 0)[0][:, -1]
    changed = target.copy()
    changed[40:] += 1000
    again = task.features("native", fit, changed[fit], 0)[0][:, -1]
    assert np.array_equal(encoded, again)
    assert np.corrcoef(encoded[:40], target[:40])[0, 1] < 0.3


def test_missing_values_are_bridged(tmp_path: Path) -> None:
    x = features()
    x[::3, 0], x[1, 1] = np.nan, np.inf
    found = fitted(write_job(tmp_path, features()[:ROWS, 2], x=x))
    assert np.isfinite(found["oof"]).all()


def test_what_is_complete_is_not_fitted_again(tmp_path: Path) -> None:
    folder = write_job(tmp_path, features()[:ROWS, 0], ("linear", "neighbours"))
    main(folder)
    (folder / "out" / "neighbours").rename(folder / "out" / ".neighbours")
    before = (folder / "out" / "linear" / "meta.json").stat().st_mtime_ns
    main(folder)
    assert (folder / "out" / "linear" / "meta.json").stat().st_mtime_ns == before
    assert (folder / "out" / "neighbours" / "oof.npy").exists()
    assert not (folder / "out" / ".neighbours").exists()


def test_seconds_of_earlier_starts_count(tmp_path: Path) -> None:
    folder = write_job(tmp_path, features()[:ROWS, 0], ("linear", "neighbours"), cpu_seconds=50)
    (folder / "out" / "linear").mkdir(parents=True)
    (folder / "out" / "linear" / "meta.json").write_text(json.dumps({"cpu_seconds": 50}))
    main(folder)
    assert not (folder / "out" / "neighbours").exists()


def test_a_model_that_fails_does_not_end_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise MemoryError("no room")

    def skip(*_: Any) -> Any:
        raise SkippedModel("Too many rows.")

    monkeypatch.setitem(FAMILIES, "linear", (fail, "scaled"))
    monkeypatch.setitem(FAMILIES, "kernel", (skip, "dense"))
    folder = write_job(tmp_path, features()[:ROWS, 0], ("linear", "kernel", "neighbours"))
    assert "oof" in fitted(folder, "neighbours")
    assert "no room" in fitted(folder, "linear")["meta"]["failed"]
    assert fitted(folder, "kernel")["meta"]["skipped"] == "Too many rows."


def test_the_same_seed_gives_the_same_predictions_and_another_does_not(tmp_path: Path) -> None:
    names, x = ("kernel", "kernel-seed-1"), features()
    first = write_job(tmp_path / "a", x[:ROWS, 0] ** 2, names, x=x)
    second = write_job(tmp_path / "b", x[:ROWS, 0] ** 2, names, x=x)
    assert np.array_equal(fitted(first, "kernel")["oof"], fitted(second, "kernel")["oof"])
    assert not np.array_equal(fitted(first, "kernel")["oof"], fitted(first, "kernel-seed-1")["oof"])
