"""Six made-up competitions as snapshots, each of another kind than the five real ones.

`python -m tests.bench.made_competitions FOLDER` writes them. Two hundred teams stand on each board, evenly spread from those who
know nothing to one who knows the formula by which the data was made, whose error is the noise alone.
"""

import csv
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.metrics.registry import metric_named

__all__ = ["MADE", "Made", "write_made"]

_TEAMS = 200
_CLASSES = tuple(f"kind{number:02d}" for number in range(12))


@dataclass(frozen=True)
class _Drawn:
    """The rows of a competition, training and test."""

    columns: dict[str, Sequence[Any]]
    target: Sequence[Any]
    known: Sequence[Any]
    """Best predictions that anybody could make."""
    unknown: Sequence[Any]
    """Predictions of who knows nothing."""


@dataclass(frozen=True)
class Made:
    """One kind of competition."""

    slug: str
    metric: str
    category: str
    target: str
    rows: int
    test_rows: int
    task: str
    draw: Callable[[np.random.Generator, int], _Drawn]


def _numbers(rng: np.random.Generator, rows: int, names: str) -> dict[str, NDArray[np.float64]]:
    """Return correlated columns of numbers."""
    base = rng.normal(size=(rows, len(names)))
    shared = rng.normal(size=(rows, 1))
    return {name: np.round(base[:, at] + 0.5 * shared[:, 0], 4) for at, name in enumerate(names)}


def _chance(logit: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-logit))


def _binary(rng: np.random.Generator, rows: int) -> _Drawn:
    x = _numbers(rng, rows, "abcdefghij")
    town = rng.choice(["north", "south", "east", "west"], rows)
    logit = x["a"] - 0.7 * x["b"] + 0.8 * x["c"] * x["d"] + np.sin(2 * x["e"]) + np.where(town == "north", 0.8, -0.2)
    chance = _chance(logit)
    return _Drawn({**x, "town": town}, (rng.random(rows) < chance).astype(int), chance, np.full(rows, chance.mean()))


def _many_classes(rng: np.random.Generator, rows: int) -> _Drawn:
    x = _numbers(rng, rows, "abcdefghijkl")
    table = np.stack(list(x.values()), axis=1)
    bends = np.hstack([table, table[:, :4] * table[:, 4:8], np.abs(table[:, 8:])])
    # The same weights for every size of table.
    weights = np.random.default_rng(3).normal(size=(bends.shape[1], len(_CLASSES)))
    scores = bends @ weights
    drawn = (scores + 1.5 * rng.gumbel(size=scores.shape)).argmax(axis=1)
    names = np.array(_CLASSES)
    return _Drawn(x, names[drawn], names[scores.argmax(axis=1)], np.full(rows, _CLASSES[0]))


def _outliers(rng: np.random.Generator, rows: int) -> _Drawn:
    x = _numbers(rng, rows, "abcdefgh")
    value = 20 + 4 * x["a"] + 3 * np.maximum(x["b"], 0) * x["c"] - 2 * x["d"] ** 2 + 2 * np.sin(3 * x["e"])
    noise = 2 * rng.standard_t(1.7, rows)
    return _Drawn(x, np.round(value + noise, 3), value, np.full(rows, np.median(value)))


def _ranking(rng: np.random.Generator, rows: int) -> _Drawn:
    x = _numbers(rng, rows, "abcdefghijkl")
    logit = (
        -3.2 + 1.2 * x["a"] + x["b"] * x["c"] - 0.6 * x["d"] + 0.9 * (x["e"] > 1) * x["f"] + 0.5 * np.cos(2 * x["g"])
    )
    chance = _chance(logit)
    return _Drawn(x, (rng.random(rows) < chance).astype(int), chance, rng.random(rows))


def _counts(rng: np.random.Generator, rows: int) -> _Drawn:
    x = _numbers(rng, rows, "abcdef")
    hour, holiday = rng.integers(0, 24, rows), (rng.random(rows) < 0.1).astype(int)
    rate = np.exp(2.5 + 1.2 * np.sin((hour - 7) / 24 * 2 * np.pi) + 0.4 * x["a"] - 0.3 * x["b"] ** 2 - 0.8 * holiday)
    mean = rate * rng.gamma(6.0, 1 / 6.0, rows)
    columns = {**x, "hour": hour, "holiday": holiday}
    # Of a rate that strays so, the mean of the logarithm lies a little below that of the rate.
    return _Drawn(columns, rng.poisson(mean), rate * np.exp(-1 / 12), np.full(rows, np.expm1(np.log1p(rate).mean())))


def _few_rows(rng: np.random.Generator, rows: int) -> _Drawn:
    x = _numbers(rng, rows, "abcdefghijkl")
    value = 5 + 2 * x["a"] - 1.5 * x["b"] + x["c"] * x["d"] + np.abs(x["e"])
    return _Drawn(x, np.round(value + rng.normal(size=rows), 3), value, np.full(rows, value.mean()))


MADE = (
    Made("made-binary", "log_loss", "tabular-classification", "label", 4000, 2000, "Give the chance of label 1.", _binary),
    Made("made-classes", "accuracy", "tabular-classification", "kind", 4000, 2000, "Name the kind.", _many_classes),
    Made("made-outliers", "mae", "tabular-regression", "value", 4000, 2000, "Predict the value.", _outliers),
    Made("made-ranking", "average_precision", "tabular-classification", "hit", 5000, 2500, "Rank the hits first.", _ranking),
    Made("made-counts", "rmsle", "tabular-regression", "count", 4000, 2000, "Predict the count.", _counts),
    Made("made-few", "rmse", "tabular-regression", "value", 300, 1500, "Predict the value.", _few_rows),
)  # fmt: skip


def write_made(made: Made, folder: Path, seed: int = 11) -> Path:
    """Write one competition's snapshot into a new folder of its name, and return that."""
    place = folder / made.slug
    for part in ("data", "private"):
        (place / part).mkdir(parents=True)
    rng = np.random.default_rng([seed, *made.slug.encode()])
    drawn, rows = made.draw(rng, made.rows + made.test_rows), made.rows
    ids = [f"r{number:05d}" for number in rng.permutation(made.rows + made.test_rows)]
    names, columns = list(drawn.columns), list(drawn.columns.values())
    table = [[id, *cells] for id, *cells in zip(ids, *columns, strict=True)]
    target = list(drawn.target)
    _write(
        place / "data/train.csv",
        ["id", *names, made.target],
        [[*r, y] for r, y in zip(table, target, strict=False)][:rows],
    )
    _write(place / "data/test.csv", ["id", *names], table[rows:])
    _write(place / "data/sample_submission.csv", ["id", made.target], [[r[0], target[0]] for r in table[rows:]])
    answers = list(zip(ids[rows:], target[rows:], strict=True))
    _write(place / "private/answers.csv", ["id", made.target], answers)
    metric = metric_named(made.metric)
    truth, known, unknown = (np.asarray(part)[rows:].reshape(-1, 1) for part in (target, drawn.known, drawn.unknown))
    if metric.takes != "number":
        truth, known, unknown = (part.astype(object) for part in (truth, known, unknown))
    ends = metric.score(truth, known, {}), metric.score(truth, unknown, {})
    _write(place / "leaderboard.csv", ["score"], [[f"{score:.6f}"] for score in np.linspace(*ends, _TEAMS)])
    (place / "description.md").write_text(f"# {made.slug}\n\n{made.task} Evaluation: {made.metric}.\n")
    (place / "snapshot.json").write_text(json.dumps(_manifest(made, metric.direction), indent=1) + "\n")
    return place


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def _manifest(made: Made, direction: str) -> dict[str, Any]:
    return {
        "format": 1,
        "slug": made.slug,
        "title": made.slug,
        "url": "https://example.org/" + made.slug,
        "category": made.category,
        "metric": {"name": made.metric, "direction": direction, "params": {}},
        "id_column": "id",
        "prediction_columns": [made.target],
        "submission_file": "submission.csv",
        "enabled_at": "2020-01-01T00:00:00Z",
        "deadline": "2020-03-01T00:00:00Z",
        "max_daily_submissions": 5,
        "kind": "csv",
        "collected_at": "2021-01-01T00:00:00Z",
        "split": "random",
        "sources": ["made up"],
        "sha256": {},
    }


if __name__ == "__main__":
    for one in MADE:
        print(write_made(one, Path(sys.argv[1])))
