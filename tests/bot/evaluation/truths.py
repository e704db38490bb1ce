"""Made-up competitions of every metric: few rows, rare values, many columns, groups, and truths that are constant."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS, METRICS
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import card, write

_TEXTS: Mapping[str, Callable[[bool, int], str]] = {
    "dice": lambda rare, n: f"{n + 1} 3" if rare else "1 2",
    "global_dice": lambda rare, n: f"{n + 1} 3" if rare else "1 2",
    "mask_map_iou": lambda rare, n: f"{n + 1} 3" if rare else "1 2",
    "kendall_tau": lambda rare, n: "b a c" if rare else "a b c",
}
_PAIRS = ("laplace_log_likelihood", "mean_angular_error")
"""Metrics of just two columns."""


@dataclass(frozen=True)
class Shape:
    """How many rows and columns a truth has, and in how many rows each column differs from what it mostly is."""

    rows: int
    columns: int
    rare: int
    grouped: bool = False


SHAPES: Mapping[str, Shape] = {
    "small": Shape(12, 1, 6),
    "imbalanced": Shape(300, 1, 4),
    "many columns": Shape(500, 12, 3),
    "grouped": Shape(240, 2, 12, grouped=True),
    "constant": Shape(60, 2, 0),
}


def value(metric: str, rare: bool, n: int) -> Any:
    """Return a cell that the metric takes as the truth."""
    facts = METRICS[metric]
    if facts.input_kind == "text":
        return _TEXTS.get(metric, lambda rare, n: "cat" if rare else "dog")(rare, n)
    if facts.input_kind == "label" or facts.of_classes:
        return int(rare)
    return 0.75 - n % 7 / 50 if rare else 0.25


def write_truth(folder: Path, metric: str, shape: Shape, rng: random.Random) -> TaskCard:
    """Write a competition's data, and return its card."""
    several = 2 if metric in _PAIRS else shape.columns
    names = [f"y{n}" for n in range(several)]
    rare = [set(rng.sample(range(shape.rows), shape.rare)) for _ in names]
    train = [
        [f"r{n}", f"group {n % 30}" if shape.grouped else rng.random(), *(value(metric, n in own, n) for own in rare)]
        for n in range(shape.rows)
    ]
    test = [[f"t{n}", f"group {30 + n % 9}" if shape.grouped else 0.5] for n in range(30)]
    usual = [value(metric, False, 0)] * several
    write(folder / "train.csv", ["id", "x", *names], train)
    write(folder / "test.csv", ["id", "x"], test)
    write(folder / "sample_submission.csv", ["id", *names], [[row[0], *usual] for row in test])
    task = card(metric, names)
    right = task.metric.model_copy(update={"direction": METRIC_DIRECTIONS[metric]})
    return task.model_copy(update={"metric": right})
