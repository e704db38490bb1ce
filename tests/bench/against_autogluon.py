"""`bot solve` with the built-in model against AutoGluon's tabular default: six data sets, equal time, one core.

AutoGluon is no dependency of the project; install it apart, and name its Python:

    python3 -m venv ag && ag/bin/pip install "autogluon.tabular[lightgbm,xgboost,catboost]"
    python -m tests.bench.against_autogluon work --autogluon ag/bin/python [--seconds 60] [--core 0] [--only wine]

Each data set is shuffled by a seed and parted once, a third to predict; both get the same files, and both files of predictions
are scored here, by scikit-learn. `bot solve` must end within the time, its start, refit and report included; AutoGluon is given
the time for its fit, and starts and predicts besides. Both are bound to one core by taskset. The table has the
seconds of each, and in brackets for how many of them it had the processor: on a busy machine that decides.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets, metrics

_SEED = 5
_AUTOGLUON = """
import sys, pandas as pd
from autogluon.tabular import TabularPredictor
folder, metric, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
train, test = (pd.read_csv(f"{folder}/data/{name}.csv") for name in ("train", "test"))
predictor = TabularPredictor("target", eval_metric=metric, path=f"{folder}/autogluon", verbosity=0)
predictor.fit(train, time_limit=seconds, num_cpus=1)
made = predictor.predict_proba(test) if predictor.can_predict_proba else predictor.predict(test).to_frame()
made.to_csv(f"{folder}/autogluon.csv", index=False)
"""


@dataclass(frozen=True)
class DataSet:
    """A data set, and the metric that `bot solve` takes for its target."""

    make: Callable[[], pd.DataFrame]
    """Returns the table, with the column `target`."""
    metric: str
    """`roc_auc`, `log_loss` or `rmse`."""


def _bundled(load: Callable[..., Any]) -> Callable[[], pd.DataFrame]:
    return lambda: load(as_frame=True).frame


def _regression() -> pd.DataFrame:
    """Return 3,000 rows of which one in fifty has a wild target."""
    rng = np.random.default_rng(_SEED)
    x, y = datasets.make_friedman1(3000, n_features=12, noise=1.0, random_state=_SEED)
    y = np.where(rng.random(len(y)) < 0.02, y + rng.standard_t(2, len(y)) * 10, y)
    return pd.DataFrame(x, columns=[f"x{n}" for n in range(x.shape[1])]).assign(target=y)


def _imbalanced() -> pd.DataFrame:
    """Return 4,000 rows, one in twenty of the second class."""
    x, y = datasets.make_classification(
        4000, 20, n_informative=8, weights=[0.95], flip_y=0.01, class_sep=0.8, random_state=_SEED
    )
    return pd.DataFrame(x, columns=[f"x{n}" for n in range(x.shape[1])]).assign(target=y)


DATA_SETS: Mapping[str, DataSet] = {
    "breast_cancer": DataSet(_bundled(datasets.load_breast_cancer), "roc_auc"),
    "wine": DataSet(_bundled(datasets.load_wine), "log_loss"),
    "digits": DataSet(_bundled(datasets.load_digits), "log_loss"),
    "diabetes": DataSet(_bundled(datasets.load_diabetes), "rmse"),
    "friedman_outliers": DataSet(_regression, "rmse"),
    "imbalanced": DataSet(_imbalanced, "roc_auc"),
}


def _score(metric: str, truth: "pd.Series[Any]", made: pd.DataFrame) -> float:
    """Score predictions; those of classes have a column for each, in the order of the classes."""
    if metric == "rmse":
        return float(metrics.root_mean_squared_error(truth, made.iloc[:, -1]))
    if metric == "roc_auc":
        return float(metrics.roc_auc_score(truth, made.iloc[:, -1]))
    chances = made[[str(one) for one in sorted(truth.unique())]].to_numpy(float)
    return float(metrics.log_loss(truth, chances / chances.sum(axis=1, keepdims=True)))


def _timed(command: list[str], core: int) -> str:
    """Run a command on one core; return its seconds, and how many of them it had the processor."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["taskset", "-c", str(core), *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.monotonic() - begun:.0f} s ({worked:.0f} s)"


def compare(name: str, work: Path, autogluon: Path, seconds: int, core: int) -> str:
    """Run both on one data set, one after the other, and return its row of the table."""
    one, folder = DATA_SETS[name], work / name
    (folder / "data").mkdir(parents=True)
    table = one.make().sample(frac=1, random_state=_SEED).reset_index(drop=True)
    parts = {"train": table[len(table) // 3 :], "test": table[: len(table) // 3]}
    truth = parts["test"]["target"]
    parts["train"].to_csv(folder / "data/train.csv", index=False)
    parts["test"].drop(columns="target").to_csv(folder / "data/test.csv", index=False)
    bot = [str(Path(sys.executable).with_name("bot")), "solve", str(folder / "data"), "--time", f"{seconds}s"]
    took = _timed([*bot, "--cpus", "1", "--out", str(folder / "runs"), "--json"], core)
    (run,) = (folder / "runs").glob("*/result.json")
    result = json.loads(run.read_text(encoding="utf-8"))
    ours = _score(one.metric, truth, pd.read_csv(run.with_name("submission.csv")).iloc[:, 1:])
    metric = {"rmse": "root_mean_squared_error"}.get(one.metric, one.metric)
    took_theirs = _timed([str(autogluon), "-c", _AUTOGLUON, str(folder), metric, str(seconds)], core)
    theirs = _score(one.metric, truth, pd.read_csv(folder / "autogluon.csv"))
    low, high = result["validation_interval"] or (math.nan, math.nan)
    better = ours > theirs if one.metric == "roc_auc" else ours < theirs
    cells = (
        name, f"{len(parts['train']):,}", one.metric, f"{ours:.4f}", f"{low:.4f} to {high:.4f}", f"{theirs:.4f}",
        "bot" if better else "AutoGluon", took, took_theirs,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table as it comes out, a row after each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="a new folder")
    parser.add_argument("--autogluon", type=Path, required=True, help="the Python that has autogluon.tabular")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--only", choices=DATA_SETS, action="append")
    asked = parser.parse_args()
    print(
        "| data set | training rows | metric | bot solve | it expected | AutoGluon | better | bot took | AutoGluon took |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in asked.only or DATA_SETS:
        print(compare(name, asked.work, asked.autogluon, asked.seconds, asked.core), flush=True)


if __name__ == "__main__":
    main()
