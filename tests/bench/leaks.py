"""Leaks to be planted in a re-split of a snapshot: each takes training and test rows, and returns them changed."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

__all__ = ["IN_DATA", "Planted"]

Frames = tuple[pd.DataFrame, pd.DataFrame]
Plant = Callable[[pd.DataFrame, pd.DataFrame, str, str], Frames]
"""Of training rows, test rows (with their labels), the id column and the label column."""
Planted = tuple[str, str, Plant]
"""The snapshot, the guard that is to find it, and how it is planted."""


def _rng() -> np.random.Generator:
    return np.random.default_rng(3)


def _repeated_rows(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    # Of the test rows as many: what they do not share, the split keeps on one side.
    again = train.sample(frac=0.1, random_state=3)
    again = again.assign(**{id: [f"9{n:06d}" for n in range(len(again))]})
    known = train.sample(len(test) // 10, random_state=5)
    asked = pd.concat([test.iloc[len(known) :], known.assign(**{id: test[id].iloc[: len(known)].tolist()})])
    return pd.concat([train, again]).sample(frac=1.0, random_state=4), asked


def _test_rows_in_training(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    known = test.sample(frac=0.1, random_state=3)
    twice = train.sample(10, random_state=5)
    added = pd.concat([known, twice])
    added = added.assign(**{id: [f"id9{n:06d}" for n in range(len(added))]})
    return pd.concat([train, added]).sample(frac=1.0, random_state=4), test


def _numbered_by_label(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    both = pd.concat([train[label], test[label]]).astype(float).rank(method="first").astype(int)
    return (
        train.assign(**{id: both.iloc[: len(train)].astype(str).tolist()}),
        test.assign(**{id: both.iloc[len(train) :].astype(str).tolist()}),
    )


def _named_by_class(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    def named(frame: pd.DataFrame) -> pd.DataFrame:
        shelves = frame[label].map({name: f"s{at}" for at, name in enumerate(sorted(train[label].unique()))})
        return frame.assign(**{id: shelves + "-" + frame[id]})

    return named(train), named(test)


def _sorted_by_label(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    return train.sort_values(label), test.sort_values(label)


def _later(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    # Finer than whole days, so that no group of rows is found in it.
    seen, asked = (_rng().permutation(len(frame)) for frame in (train, test))
    return train.assign(hour=seen.astype(str)), test.assign(hour=(asked + len(train)).astype(str))


def _target_copied(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    rng = _rng()

    def told(frame: pd.DataFrame) -> pd.DataFrame:
        values = frame[label].astype(float)
        return frame.assign(energy=(7 - 3 * values + 0.01 * values.std() * rng.normal(size=len(frame))).astype(str))

    return told(train), told(test)


def _target_encoded(train: pd.DataFrame, test: pd.DataFrame, id: str, label: str) -> Frames:
    codes = {
        name: str(code) for name, code in zip(sorted(train[label].unique()), _rng().permutation(999), strict=False)
    }
    return train.assign(shelf=train[label].map(codes)), test.assign(shelf=test[label].map(codes))


NOMAD, SPOOKY = "nomad2018-predict-transparent-conductors", "spooky-author-identification"
LEAF, BIKES = "leaf-classification", "bike-sharing-demand"

IN_DATA: Mapping[str, Planted] = {
    "a tenth of the rows repeated": (NOMAD, "duplicate rows", _repeated_rows),
    "a tenth of the test rows in training": (SPOOKY, "duplicate rows", _test_rows_in_training),
    "rows numbered by their label": (NOMAD, "ids", _numbered_by_label),
    "ids that begin with a word a class": (SPOOKY, "ids", _named_by_class),
    "tables sorted by their labels": (LEAF, "row order", _sorted_by_label),
    "test rows later by a number": (SPOOKY, "time", _later),
    "a column that is the label, bent": (NOMAD, "target in features", _target_copied),
    "a column of codes of the classes": (LEAF, "target in features", _target_encoded),
    "a column that is the count, bent": (BIKES, "target in features", _target_copied),
}
