"""A small noisy competition, clean or with one leak planted, its hold-out view, and what executions leave on it."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bot.evaluation.answers import LabelledView, OtherNode
from bot.evaluation.answers.findings import GuardFinding
from bot.evaluation.guards.running import guard_execution, guard_view
from bot.evaluation.guards.targets import GuardedView
from bot.evaluation.scoring.score import score_execution
from bot.evaluation.views.build import build_view
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import card, write

Row = dict[str, Any]
Change = Callable[[list[Row], np.random.Generator], list[Row]]
ROWS, TEST_ROWS = 900, 300


@dataclass(frozen=True)
class Ground:
    """A competition's hold-out view, and a folder for what executions leave."""

    folder: Path
    card: TaskCard
    truth: dict[str, float]
    """Labels of the test rows."""
    grader: Path | None = None
    """The competition's own grade.py, where it has one."""

    @property
    def data(self) -> Path:
        return self.folder / "view"

    @property
    def labels(self) -> Path:
        return self.folder / "labels"

    @property
    def labelled(self) -> LabelledView:
        return LabelledView(self.data, self.labels, self.card, self.grader)

    @property
    def view(self) -> GuardedView:
        return GuardedView(self.data, self.labels, self.card)

    def found(self, guard: str) -> GuardFinding:
        """Return the finding of a guard of the view."""
        return next(one for one in guard_view(self.labelled) if one.guard == guard)

    def doubted(self) -> list[str]:
        return [one.guard for one in guard_view(self.labelled) if not one.passed]

    def asked(self) -> dict[str, float]:
        """Return the labels of the validation rows."""
        with (self.labels / "labels.csv").open(newline="") as file:
            return {row["id"]: float(row["y"]) for row in csv.DictReader(file)}


@dataclass
class Left:
    """What one execution leaves; written if a test asks for it."""

    ground: Ground
    predict: Callable[[dict[str, float], np.random.Generator], list[float]]
    name: str = "own"
    test: list[float] | None = None
    """Predictions of the test rows; None: as of the validation rows."""
    output: str = ""
    others: Sequence["Left"] = ()
    board: Sequence[float] = ()
    node: int = 1
    files: list[Path] = field(default_factory=list)

    def write(self) -> "Left":
        rng = np.random.default_rng(self.node)
        for name, labels in (("validation_predictions", self.ground.asked()), ("submission", self.ground.truth)):
            values = self.predict(labels, rng)
            if name == "submission" and self.test is not None:
                values = self.test
            path = self.ground.folder / self.name / f"{name}.csv"
            self.files.append(write(path, ["id", "y"], zip(labels, map(float, values), strict=True)))
        return self

    @property
    def score(self) -> float:
        found = score_execution(self.ground.labelled, *self.files)
        assert found.valid, found
        return found.score.value

    def found(self) -> list[GuardFinding]:
        """Return what all guards of executions say."""
        for one in (self, *self.others):
            if not one.files:
                one.write()
        others = [
            OtherNode(node=o.node, score=o.score, predictions=o.files[0], submission=o.files[1]) for o in self.others
        ]
        return guard_execution(self.ground.labelled, *self.files, self.score, self.output, others, self.board)

    def finding(self, guard: str) -> GuardFinding:
        return next(one for one in self.found() if one.guard == guard)


def rows(kind: str, many: int, rng: np.random.Generator, first: int = 0) -> list[Row]:
    """Return rows whose label hangs on two of three columns and on chance, their ids in no order."""
    x = rng.normal(size=(many, 3)).round(4)
    signal = 1.5 * x[:, 0] - x[:, 1] + rng.normal(size=many)
    label = (signal > 0).astype(int) if kind == "classes" else np.exp(signal / 2).round(4)
    names = rng.permutation(many) + first
    return [
        {"id": f"r{name}", "a": a, "b": b, "c": c, "y": y.item()}
        for name, (a, b, c), y in zip(names, x, label, strict=True)
    ]


def ground(folder: Path, kind: str = "classes", change: Change | None = None, *, many: int = ROWS) -> Ground:
    """Write a competition, `change` having had all its rows (the last `TEST_ROWS` are the test's), and build its view."""
    rng = np.random.default_rng(1)
    table = rows(kind, many + TEST_ROWS, rng)
    table = change(table, rng) if change is not None else table
    train, test = table[:-TEST_ROWS], table[-TEST_ROWS:]
    names = [name for name in table[0] if name != "y"]
    write(folder / "data" / "train.csv", [*names, "y"], ([row[name] for name in (*names, "y")] for row in train))
    write(folder / "data" / "test.csv", names, ([row[name] for name in names] for row in test))
    write(folder / "data" / "sample_submission.csv", ["id", "y"], ([row["id"], 0.5] for row in test))
    task = card("log_loss" if kind == "classes" else "rmse")
    build_view(folder / "data", task, "holdout", 0, folder / "view", folder / "labels")
    return Ground(folder, task, {row["id"]: float(row["y"]) for row in test})


def knowing_repeated(here: Ground) -> Callable[[dict[str, float], np.random.Generator], list[float]]:
    """Predict the labels of rows that repeat training rows, and guess the others."""
    seen = set(map(tuple, here.view.train.to_numpy()))
    again = {id for id, row in zip(here.view.ids, here.view.validation.to_numpy(), strict=True) if tuple(row) in seen}
    return lambda labels, rng: [
        0.01 + 0.98 * label if id in again else 0.5 + 0.01 * rng.random() for id, label in labels.items()
    ]


def near(sure: float) -> Callable[[dict[str, float], np.random.Generator], list[float]]:
    """Predict chances that lean to the label by so much, as a model does that errs on some rows."""

    def predict(labels: dict[str, float], rng: np.random.Generator) -> list[float]:
        scores = (np.array(list(labels.values())) - 0.5) * 2 * sure + rng.normal(size=len(labels))
        return list(1 / (1 + np.exp(-2 * sure * scores)))

    return predict
