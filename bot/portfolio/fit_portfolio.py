"""Fits a portfolio of models on features, with a run's folds; a script that runs by itself in a sandbox.

Its folder holds `job.json` (`plan.PortfolioJob`), `features/{train,validation,test}.npz` (dense `x`, or a sparse matrix),
`target.npy`, `folds.npy` (-1: never scored, but learned from), `order.npy` for forward folds, `groups.npy` if known for grouped
ones. A complete model appears at once as `out/MODEL/`: `oof.npy`, `validation.npy`, `test.npy` and `meta.json`, which says why
one could not be fitted. Started again, the script goes on with what is missing. Rows for stopping are a part of those learned
from; validation and test rows get the mean of the folds' models.
"""

import json
import shutil
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import decomposition, ensemble, neighbors, neural_network
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge

Array = Any  # numpy's, or a sparse matrix where features are sparse
Fitted = tuple[Array, Any]  # predictions of the rows to predict (rows, classes or 1), and what stopping chose
ROUNDS, PATIENCE = 4000, 60
ONE_HOT = 30  # categories with more levels become means of the target, for models that know numbers alone
DENSE_COLUMNS = 128  # to so many are sparse features reduced, for models that need dense ones
NEAR_ROWS = 30_000  # nearest neighbours are looked for among no more


class SkippedModel(Exception):
    """A model is left out, for the reason in the text."""


@dataclass(frozen=True)
class _Fit:
    """One target column of one fold: what a model learns from, the rows for stopping, and the rows to predict."""

    x: Array
    y: Array
    x_stop: Array
    y_stop: Array
    x_new: Array
    categories: list[int]
    classes: int  # 0: a number
    seed: int
    cpus: int
    deadline: float  # in this process's processor seconds
    importances: list[Array]  # of the columns of x, by the models that know any

    def is_late(self, *_: Any) -> bool:
        return time.process_time() > self.deadline

    def model(self, library: Any, name: str, **settings: Any) -> Any:
        return getattr(library, name + ("Classifier" if self.classes else "Regressor"))(**settings)

    def predict(self, model: Any, x: Array) -> Array:
        return model.predict_proba(x) if self.classes else model.predict(x)[:, None]

    def loss(self, model: Any) -> float:
        """Return a model's loss on the rows for stopping: the mean of squares, or of negative log likelihoods."""
        predictions = self.predict(model, self.x_stop)
        if not self.classes:
            return float(((self.y_stop - predictions[:, 0]) ** 2).mean())
        return float(-np.log(np.maximum(predictions[np.arange(len(predictions)), self.y_stop], 1e-7)).mean())

    def best_state(self, advance: Callable[[int], Any], max_steps: int, patience: int) -> tuple[Array, int]:
        """Return predictions by a model's state with the smallest loss, and its number; `advance` returns the next state."""
        best, best_step, step, best_loss = None, 0, 0, np.inf
        while not best_step or (step < max_steps and step - best_step < patience and not self.is_late()):
            if (loss := self.loss(model := advance(step := step + 1))) < best_loss or not best_step:
                best, best_step, best_loss = deepcopy(model), step, loss
        return self.predict(best, self.x_new), best_step

    def on_all(self, model: Any) -> Array:
        """Return predictions by a model fitted anew, on the rows for stopping too."""
        x, y = _stacked(self.x, self.x_stop), np.concatenate([self.y, self.y_stop])
        return self.predict(model.fit(x, y), self.x_new)


def _lightgbm(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    import lightgbm as library

    def stop_late(state: Any) -> None:
        if fit.is_late():
            raise library.callback.EarlyStopException(state.iteration, state.evaluation_result_list)

    settings |= {"n_estimators": ROUNDS, "n_jobs": fit.cpus, "random_state": fit.seed, "importance_type": "gain"}
    model, calls = fit.model(library, "LGBM", **settings), [library.early_stopping(PATIENCE, verbose=False), stop_late]
    model.fit(fit.x, fit.y, eval_set=[(fit.x_stop, fit.y_stop)], categorical_feature=fit.categories, callbacks=calls)
    fit.importances.append(model.feature_importances_)
    return fit.predict(model, fit.x_new), model.best_iteration_


def _xgboost(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    import xgboost as library

    stop_late = type("Late", (library.callback.TrainingCallback,), {"after_iteration": fit.is_late})()
    types = ["c" if column in fit.categories else "q" for column in range(fit.x.shape[1])]
    settings |= {"n_estimators": ROUNDS, "n_jobs": fit.cpus, "random_state": fit.seed, "callbacks": [stop_late]}
    model = fit.model(library, "XGB", early_stopping_rounds=PATIENCE, feature_types=types, **settings)
    model.fit(fit.x, fit.y, eval_set=[(fit.x_stop, fit.y_stop)], verbose=False)
    fit.importances.append(model.feature_importances_)
    return fit.predict(model, fit.x_new), model.best_iteration + 1


def _catboost(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    import catboost as library

    def pool(x: Array, y: Array = None) -> Any:
        if not fit.categories:
            return library.Pool(x, y)
        numbers, levels = np.split(x, [fit.categories[0]], axis=1)
        names = levels.astype(int).astype(bytes).astype(object)
        return library.Pool(library.FeaturesData(np.float32(numbers).copy() if fit.categories[0] else None, names), y)

    stop_late = type("Late", (), {"after_iteration": lambda *_: not fit.is_late()})()
    settings |= {"iterations": ROUNDS, "thread_count": fit.cpus, "random_seed": fit.seed}
    model, stop = fit.model(library, "CatBoost", **settings), pool(fit.x_stop, fit.y_stop)
    model.fit(pool(fit.x, fit.y), eval_set=stop, early_stopping_rounds=PATIENCE, callbacks=[stop_late])
    fit.importances.append(model.feature_importances_)
    return fit.predict(model, pool(fit.x_new)), model.tree_count_


def _histogram(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    if find_spec("lightgbm"):
        raise SkippedModel("Skipped because LightGBM is installed and is faster.")
    model = fit.model(ensemble, "HistGradientBoosting", warm_start=True, random_state=fit.seed, **settings)
    return fit.best_state(lambda step: model.set_params(max_iter=25 * step).fit(fit.x, fit.y), 60, 2)


def _forest(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    name, trees, total, count = settings.pop("kind"), settings.pop("trees"), 0.0, 0
    settings["min_samples_leaf"] = max(2 if fit.classes else 1, len(fit.y) * max(1, fit.classes // 4) // 50_000)
    while count < trees and not (count and fit.is_late()):  # few at a time, so that they need little memory
        forest = fit.model(ensemble, name, n_estimators=25, n_jobs=fit.cpus, random_state=fit.seed + count, **settings)
        total, count = total + fit.on_all(forest), count + 25
        fit.importances.append(forest.feature_importances_)
    return total / (count // 25), count


def _linear(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    if settings:
        parts, width = min(settings["parts"], max(10, len(fit.y) // 3)), settings["width"] / fit.x.shape[1]
        kernel = Nystroem(gamma=width, n_components=parts, random_state=fit.seed).fit(fit.x)
        fit = replace(fit, **{name: kernel.transform(getattr(fit, name)) for name in ("x", "x_stop", "x_new")})
    best_loss, best, strength = np.inf, None, 1e4
    while strength > 1e-4 and not (best and fit.is_late()):
        model = LogisticRegression(C=1 / strength, max_iter=300) if fit.classes else Ridge(strength)
        if (loss := fit.loss(model.fit(fit.x, fit.y))) > best_loss:
            break
        best_loss, best, strength = loss, model, strength / 10
    return fit.on_all(best), 10 * strength


def _network(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    size, labels = min(256, max(16, len(fit.y) // 50)), {"classes": np.arange(fit.classes)} if fit.classes else {}
    model = fit.model(neural_network, "MLP", batch_size=size, random_state=fit.seed, **settings)
    return fit.best_state(lambda _: model.partial_fit(fit.x, fit.y, **labels), 200, 12)


def _neighbours(fit: _Fit, settings: dict[str, Any]) -> Fitted:
    if len(fit.y) > NEAR_ROWS:
        raise SkippedModel(f"A fold trains on {len(fit.y)} rows; nearest-neighbour models allow at most {NEAR_ROWS}.")
    counts = [count for count in (1, 3, 7, 15, 30, 60) if count <= len(fit.y)]
    models = [fit.model(neighbors, "KNeighbors", n_neighbors=count, **settings).fit(fit.x, fit.y) for count in counts]
    predictions = fit.on_all(best := min(models, key=fit.loss))
    return (0.98 * predictions + 0.02 / fit.classes if fit.classes else predictions), best.n_neighbors


FAMILIES: Mapping[str, tuple[Callable[[_Fit, dict[str, Any]], Fitted], str]] = {
    **{family.__name__[1:]: (family, "native") for family in (_lightgbm, _xgboost, _catboost)},
    **{family.__name__[1:]: (family, "plain") for family in (_histogram, _forest)},
    **{family.__name__[1:]: (family, "dense") for family in (_network, _neighbours)},
    **{"linear": (_linear, "scaled"), "kernel": (_linear, "dense")},
}
"""What fits a family, and its features: `native` with category columns; else numbers alone, `plain` dense ones, `dense` and
scaled, or `scaled` but sparse where the coder's are."""


def _stacked(*parts: Array) -> Array:
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _read_names(path: Path) -> list[str]:
    try:
        with np.load(path) as file:
            return [str(name) for name in file["names"].ravel()]
    except (KeyError, ValueError):  # there are none, or they are no text
        return []


def _read_features(path: Path) -> Array:
    with np.load(path) as file:
        if "x" not in file:
            return sparse.csr_matrix(sparse.load_npz(path), dtype=np.float32)
        x = file["x"].reshape(len(file["x"]), -1)
    x = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
    return np.where(np.isfinite(x), x, np.nan)


def _scaled(x: Array, fit_rows: Array) -> Array:
    """Return features less their median by their spread, bent to within 3 (RealMLP, arXiv 2407.04491); NaN is the median."""
    if sparse.issparse(x):
        return x @ sparse.diags(1 / np.maximum(1, abs(fit_rows).max(axis=0).toarray().ravel())).tocsr()
    lowest, low, middle, high, highest = np.nan_to_num(np.nanquantile(fit_rows, [0, 0.25, 0.5, 0.75, 1], axis=0))
    spread = np.where(high > low, high - low, (highest - lowest) / 2)
    z = np.nan_to_num((x - middle) / np.where(spread > 0, spread, 1))
    return (z / np.sqrt(1 + (z / 3) ** 2)).astype(np.float32)


def _level_means(codes: Array, fit: Array, y: Array, seed: int) -> Array:
    """Return smoothed means of the target by level; those of a row to fit are other rows', lest it knows its own target."""
    y, part = y.reshape(len(fit), -1), np.random.default_rng(seed).permutation(len(fit)) % 5
    encoded = np.zeros((len(codes), y.shape[1]), np.float32)
    for fold in range(-1, 5):
        train, rows = part != fold, slice(None) if fold < 0 else fit[part == fold]
        sums, counts = (
            np.zeros((codes.max() + 1, y.shape[1])),
            np.bincount(codes[fit[train]], minlength=codes.max() + 1),
        )
        np.add.at(sums, codes[fit[train]], y[train])
        encoded[rows] = ((sums + 10 * y[train].mean(axis=0)) / (counts[:, None] + 10))[codes[rows]]
    return encoded


class PortfolioTask:
    """What the folder holds: features of training, validation and test rows, one below the other, targets and folds."""

    def __init__(self, folder: Path) -> None:
        self.job: dict[str, Any] = json.loads((folder / "job.json").read_text())
        self.names, self.importances = _read_names(folder / "features" / "train.npz"), list[Array]()
        parts = [_read_features(folder / "features" / f"{name}.npz") for name in ("train", "validation", "test")]
        self.ends, x = np.cumsum([part.shape[0] for part in parts]), _stacked(*parts)
        coded = sorted({*self.job["categories"], *self.job["encode"]})
        levels = x[:, coded].toarray() if sparse.issparse(x) else x[:, coded]
        self.codes = {name: np.unique(levels[:, column], return_inverse=True)[1] for column, name in enumerate(coded)}
        self.x = x[:, np.setdiff1d(np.arange(x.shape[1]), coded)] if coded else x
        read = {path.stem: np.load(path) for path in folder.glob("*.npy")}
        self.target, self.folds = read["target"], read["folds"]
        self.order = read["order"] if self.job["fold_kind"] == "forward" else None
        self.groups = read.get("groups", self.folds) if self.job["fold_kind"] == "grouped" else None
        self.classes = {"multiclass": self.job["classes"], "binary": 2, "multilabel": 2}.get(self.job["kind"], 0)
        if not self.classes:  # another unit, which suits all models' settings
            self.logarithmic = self.job["logarithmic"] and self.target.min() >= 0
            self.target = np.log1p(self.target) if self.logarithmic else self.target
            self.center, self.spread = self.target.mean(axis=0), self.target.std(axis=0) + 1e-12
            self.target = (self.target - self.center) / self.spread

    @cached_property
    def dense(self) -> Array:
        """Return the features, dense and few."""
        if not sparse.issparse(self.x) or self.x.shape[1] <= DENSE_COLUMNS:
            return self.x.toarray() if sparse.issparse(self.x) else self.x
        return decomposition.TruncatedSVD(DENSE_COLUMNS, random_state=self.job["seed"]).fit_transform(self.x)

    def for_stopping(self, rows: Array, y: Array, rng: np.random.Generator) -> Array:
        """Return which of the rows to learn from are for stopping: the latest, whole groups, or an eighth of each class."""
        is_chosen = rows < 0
        if self.order is not None:
            is_chosen = self.order[rows] > np.quantile(self.order[rows], 0.88)
        elif self.groups is not None:
            groups, draws = np.unique(self.groups[rows], return_inverse=True)[1], rng.random(len(rows))
            is_chosen = draws[groups] < max(1 / 8, draws[groups].min() + 1e-9)
        if not is_chosen.any() or is_chosen.all():
            sorted_rows = np.lexsort((rng.random(len(rows)), y))
            is_chosen = np.isin(np.arange(len(rows)), sorted_rows[rng.integers(min(8, len(rows))) :: 8])
        return is_chosen & np.isin(y, y[~is_chosen]) if self.classes else is_chosen

    def features(self, style: str, fit: Array, y: Array, seed: int) -> tuple[Array, list[int]]:
        """Return all rows' features, as far as they are learned from the rows to fit, and which are categories: the last."""
        x = self.dense if style in ("plain", "dense") else self.x
        native, blocks, levels = style == "native" and not sparse.issparse(x), [x], []
        targets = np.eye(y.max() + 1)[y] if self.classes and y.max() > 1 else y
        for column, codes in self.codes.items():
            if column in self.job["encode"] or sparse.issparse(x) or (codes.max() >= ONE_HOT and not native):
                blocks.append(_level_means(codes, fit, targets, seed))
            elif native:
                levels.append(codes[:, None])
            else:
                blocks.append(np.eye(codes.max() + 1)[codes])
        if self.codes:
            x = sparse.hstack(blocks, "csr") if sparse.issparse(x) else np.hstack([*blocks, *levels])
        if style == "plain":
            x = np.nan_to_num(x, nan=float(np.nanmin(x)) - 1)
        x = _scaled(x, x[fit]) if style in ("scaled", "dense") else x
        return x, list(range(x.shape[1] - len(levels), x.shape[1]))

    def predict(self, model: Mapping[str, Any], fold: int, ids: Array, y: Array, deadline: float) -> Fitted:
        """Return predictions of the rows that are asked, and what stopping chose."""
        seed = self.job["seed"] + 1000 * model["seed"] + 10 * fold
        learned = self.folds != fold if self.order is None else self.order < self.order[self.folds == fold].min()
        rows = np.flatnonzero(learned)
        present, y = np.unique(y[rows], return_inverse=True) if self.classes else (np.zeros(0), y[rows])
        predictions, size = np.ones((len(ids), 1)), None
        if len(present) != 1:
            stop = self.for_stopping(rows, y, np.random.default_rng(seed))
            fit, (family, style) = rows[~stop], FAMILIES[model["family"]]
            x, categories = self.features(style, fit, y[~stop], seed)
            parts = x[fit], y[~stop], x[rows[stop]], y[stop], x[ids], categories, len(present)
            fit_job = _Fit(*parts, seed, self.job["cpus"], deadline, self.importances)
            predictions, size = family(fit_job, dict(model["settings"]))
        if not self.classes:
            return np.clip(predictions, y.min() - np.ptp(y) / 4, y.max() + np.ptp(y) / 4), size
        chances = np.full((len(ids), self.classes), 1 / (len(rows) + self.classes))
        chances[:, present.astype(int)] = predictions
        return (chances / chances.sum(axis=1, keepdims=True))[:, self.job["kind"] != "multiclass" :], size

    def fit(self, model: Mapping[str, Any], seconds: float) -> tuple[Array, list[Any]]:
        """Return predictions of all rows, and what stopping chose; they take about so many processor seconds at most."""
        start, columns = time.process_time(), np.atleast_2d(self.target.T)
        folds = np.unique(self.folds[self.folds >= 0])
        width = self.classes if self.job["kind"] == "multiclass" else len(columns)
        all_rows, notes, total = np.zeros((self.ends[-1], width)), list[Any](), len(folds) * len(columns)
        all_rows[: self.ends[0]][self.folds < 0] = np.nan
        for fold in folds:
            ids, parts = np.flatnonzero(np.append(self.folds == fold, np.ones(self.ends[-1] - self.ends[0]))), []
            for y in columns:
                cpu, count = time.process_time() - start, len(notes)
                if cpu * total > 2 * seconds * max(1, count):
                    raise SkippedModel(f"{count} of {total} fits took {cpu:.0f} of {seconds:.0f} seconds.")
                share = max(seconds / total, (seconds - cpu) / (total - count))
                predictions, note = self.predict(model, fold, ids, y, start + cpu + share)
                parts.append(predictions)
                notes.append(note)
            all_rows[ids] += np.hstack(parts)
        all_rows[self.ends[0] :] /= len(folds)
        if not self.classes:
            all_rows = all_rows * self.spread + self.center
            all_rows = np.maximum(np.expm1(all_rows), 0) if self.logarithmic else all_rows
        return (all_rows[:, 0] if self.target.ndim == width == 1 else all_rows).astype(np.float32), notes

    def mean_importances(self) -> dict[str, float]:
        """Return the largest importances over all fits as shares, by the feature's name; none where features have no names."""
        shares = [part / part.sum() for part in self.importances if len(part) == len(self.names) and part.sum()]
        mean = np.mean(shares, axis=0) if shares else np.zeros(0)
        return {self.names[place]: round(float(mean[place]), 4) for place in np.argsort(-mean)[:20] if mean[place] > 0}


def main(folder: Path) -> None:
    """Fit the job's models, in their order, until its processor seconds are spent."""
    warnings.simplefilter("ignore")
    task, out = PortfolioTask(folder), folder / "out"
    budget, metas = task.job["cpu_seconds"], [json.loads(path.read_text()) for path in out.glob("[!.]*/meta.json")]
    seconds_left = budget - sum(meta["cpu_seconds"] for meta in metas)
    for model in task.job["models"]:
        start, target, partial = time.process_time(), out / model["name"], out / f".{model['name']}"
        if target.exists() or seconds_left < budget / 50:
            continue
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        meta = dict(model)
        task.importances.clear()
        try:
            predictions, meta["chosen"] = task.fit(model, max(seconds_left / 2, budget / 8))
            for name, rows in zip(("oof", "validation", "test"), np.split(predictions, task.ends[:-1]), strict=True):
                np.save(partial / f"{name}.npy", rows)
        except (SkippedModel, ImportError) as error:
            meta["skipped"] = str(error)
        except Exception:  # a model's fault must not end the others
            meta["failed"] = traceback.format_exc()
        meta["importances"] = task.mean_importances()
        meta["cpu_seconds"] = time.process_time() - start
        seconds_left -= meta["cpu_seconds"]
        (partial / "meta.json").write_text(json.dumps(meta, default=str))
        partial.rename(target)


if __name__ == "__main__":
    main(Path())
