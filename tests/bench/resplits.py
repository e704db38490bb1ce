"""Clean re-splits of the five snapshots: a new hidden test is drawn from the labelled rows as the real one was made.

Drawn at random are as many rows as the real test has (at most a quarter of all); bike-sharing's, cut off by time in turns (the
first 19 days of each month are training), is cut into turns of a month's length that begin at a random hour. Rows of larger
competitions are thinned out first, and files beside the tables (images, geometries) are left out: what plain models see of
images is read once from the snapshot.
"""

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import real

MOST_ROWS = 4_000
"""Labelled rows of a competition that are used (bike-sharing: all); of fewer, too few are withheld for a check."""
_MONTH, _TRAINING = 365.25 / 12, 19 * 12 / 365.25
_TIMED = "bike-sharing-demand"


@dataclass(frozen=True)
class Labelled:
    """All labelled rows of a snapshot."""

    slug: str
    card: TaskCard
    train: pd.DataFrame
    """As train.csv has them."""
    tested: tuple[str, ...]
    """Columns that test rows have; empty: there is no table of them."""
    share: float
    """Of the rows that are the hidden test."""
    default: Sequence[str]
    """A sample submission's values."""
    pixels: Mapping[str, NDArray[np.float64]]
    """What models see of images, by id."""


def labelled(slug: str, seed: int = 0) -> Labelled:
    """Read a snapshot, or skip."""
    folder, card = real(slug)
    data = folder / "data"
    train = pd.read_csv(data / "train.csv", dtype=str, keep_default_na=False)
    sample = pd.read_csv(data / "sample_submission.csv", dtype=str, keep_default_na=False)
    test = data / "test.csv"
    tested = tuple(pd.read_csv(test, nrows=1).columns) if test.is_file() else ()
    share = min(0.25, len(sample) / (len(sample) + len(train)))
    if slug == _TIMED:
        hidden = pd.read_csv(test, dtype=str).merge(pd.read_csv(folder / "private" / "answers.csv", dtype=str))
        # Who rented is not known of test rows; the parts are left out of all.
        train = pd.concat([train, hidden], ignore_index=True)[[*tested, "count"]].sort_values("datetime")
    else:
        train = train.sample(min(MOST_ROWS, len(train)), random_state=seed)
    pixels = _pixels(data / "train.zip", train["id"]) if not tested else {}
    return Labelled(
        slug, card, train.reset_index(drop=True), tested, share, sample.iloc[0][list(card.prediction_columns)], pixels
    )


def resplit(of: Labelled, folder: Path, seed: int) -> None:
    """Write a competition whose hidden test is another part of the labelled rows into `data/` of a folder."""
    rng = np.random.default_rng(seed)
    hidden = _by_time(of, rng) if of.slug == _TIMED else rng.random(len(of.train)) < of.share
    data = folder / "data"
    data.mkdir(parents=True)
    asked = of.train[hidden]
    if of.slug != _TIMED:
        asked = asked.sample(frac=1.0, random_state=seed)
    of.train[~hidden].to_csv(data / "train.csv", index=False)
    if of.tested:
        asked[list(of.tested)].to_csv(data / "test.csv", index=False)
    with (data / "sample_submission.csv").open("w", newline="") as file:
        rows = ([id, *of.default] for id in asked[of.card.id_column])
        csv.writer(file).writerows([[of.card.id_column, *of.card.prediction_columns], *rows])


def _by_time(of: Labelled, rng: np.random.Generator) -> NDArray[np.bool_]:
    days = np.array([datetime.fromisoformat(at).timestamp() / 86_400 for at in of.train["datetime"]])
    return ((days + rng.uniform(0, _MONTH)) % _MONTH) / _MONTH >= _TRAINING


def _pixels(archive: Path, ids: pd.Series) -> dict[str, NDArray[np.float64]]:
    found = {}
    with zipfile.ZipFile(archive) as opened:
        names = {Path(name).name: name for name in opened.namelist()}
        for id in ids:
            image = Image.open(io.BytesIO(opened.read(names[id]))).convert("RGB")
            small = np.asarray(image.resize((8, 8)), dtype=float).ravel() / 255
            steps = np.asarray(image.convert("L"), dtype=float)
            edges = [np.abs(np.diff(steps, axis=axis)).mean() / 255 for axis in (0, 1)]
            found[id] = np.array([*small, *edges, steps.std() / 255])
    return found
