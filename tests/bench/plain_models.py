"""Three plain models a competition, on simple features: a linear one, trees, and nearest neighbours."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bot.evaluation.layouts.reader import read_layout
from tests.bench.resplits import Labelled

MODELS = ("linear", "trees", "neighbours")


class Features:
    """What models see of each labelled row, made once a competition; nothing is learnt of labels."""

    def __init__(self, of: Labelled) -> None:
        frame = of.train
        ids = frame[of.card.id_column].tolist()
        self.place = {id: at for at, id in enumerate(ids)}
        self.sparse = "text" in frame
        if self.sparse:
            counts = HashingVectorizer(
                analyzer="char_wb", ngram_range=(1, 4), n_features=1 << 15, alternate_sign=False, norm=None
            )
            self.values: Any = TfidfTransformer(sublinear_tf=True).fit_transform(counts.transform(frame["text"]))
        elif of.pixels:
            self.values = np.array([of.pixels[id] for id in ids])
        elif "datetime" in frame:
            self.values = _hours(frame)
        else:
            columns = [name for name in of.tested if name != of.card.id_column]
            self.values = frame[columns].astype(float).to_numpy()
        if not self.sparse:
            self.values = StandardScaler().fit_transform(self.values)

    def of(self, ids: Sequence[str]) -> Any:
        """Return the rows of some ids."""
        return self.values[[self.place[id] for id in ids]]


def _hours(frame: pd.DataFrame) -> NDArray[np.float64]:
    times = pd.to_datetime(frame["datetime"])
    parts = np.stack([times.dt.hour, times.dt.weekday, times.dt.month], axis=1)
    hot = OneHotEncoder(sparse_output=False).fit_transform(parts)
    both = (times.dt.hour * 2 + (times.dt.weekday > 4)).to_numpy()[:, None]
    numbers = frame[["temp", "humidity", "windspeed", "weather"]].astype(float).to_numpy()
    year = (times.dt.year - 2011 + times.dt.dayofyear / 365).to_numpy()[:, None]
    return np.hstack([hot, OneHotEncoder(sparse_output=False).fit_transform(both), numbers, year])


def predict(name: str, of: Labelled, seen: Any, labels: NDArray[Any], asked: Any) -> NDArray[np.float64]:
    """Train a model and predict: one column a prediction column of the task."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if of.card.metric.name in ("log_loss", "roc_auc"):
            return _chances(name, of, seen, labels, asked)
        return np.stack([_quantity(name, seen, column, asked) for column in labels.T], axis=1)


def _chances(name: str, of: Labelled, seen: Any, labels: NDArray[Any], asked: Any) -> NDArray[np.float64]:
    many, sparse = labels.shape[1], not isinstance(seen, np.ndarray)
    classes = labels.argmax(axis=1) if many > 1 else labels[:, 0].astype(int)
    models: Mapping[str, Callable[[], Any]] = {
        "linear": lambda: LogisticRegression(C=10.0, max_iter=60),
        # Boosting for each of 99 classes would take minutes a fit.
        "trees": lambda: (
            MultinomialNB(alpha=0.05)
            if sparse
            else ExtraTreesClassifier(60, random_state=0)
            if many > 10
            else HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0)
        ),
        "neighbours": lambda: KNeighborsClassifier(15 if many <= 10 else 3, weights="distance"),
    }
    model = models[name]().fit(seen, classes)
    found = np.zeros((asked.shape[0], max(2, many)))
    found[:, model.classes_] = model.predict_proba(asked)
    # As anybody does against a loss without bounds: no class is impossible.
    found = 0.97 * found + 0.03 / found.shape[1]
    return found if many > 1 else found[:, 1:]


def _quantity(name: str, seen: Any, label: NDArray[Any], asked: Any) -> NDArray[np.float64]:
    models: Mapping[str, Callable[[], Any]] = {
        "linear": lambda: Ridge(1.0),
        "trees": lambda: HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=16, random_state=0),
        "neighbours": lambda: KNeighborsRegressor(10, weights="distance"),
    }
    trained = models[name]().fit(seen, np.log1p(label.astype(float)))
    return np.expm1(trained.predict(asked)).clip(0)


def labels_of(folder: Path, card: Any) -> tuple[list[str], NDArray[Any]]:
    """Return ids and labels, in the form the metric wants, of a folder's training rows."""
    layout = read_layout(folder, card)
    return list(layout.ids), np.array([layout.truth(row) for row in range(len(layout.ids))], dtype=float)
