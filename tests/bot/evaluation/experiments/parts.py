"""Small tasks with folds and a hold-out, and arrays of experiments on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.experiments import Arrays, PresentEnsemble, Reference, ScoredExperiment
from bot.evaluation.experiments.score import score_experiment
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.build import build_folds, build_view
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import write

Values = NDArray[Any]
Row = tuple[Any, ...]


@dataclass
class Task:
    """A built task; arrays are made by a function of each row's x and its labels."""

    folder: Path
    card: TaskCard
    labels: Mapping[str, tuple[str, ...]]
    """By id, of the training rows."""
    folds: LabelledView
    view: LabelledView
    sent: int = field(default=0)

    @property
    def fold(self) -> NDArray[np.int64]:
        return np.array(read_table(self.folds.data / "folds.csv").column("fold"), dtype=int)

    def ids(self, role: str) -> list[str]:
        if role == "oof":
            return read_table(self.folds.data / "folds.csv").column("id")
        name = {"validation": "sample_validation.csv", "test": "sample_submission.csv"}[role]
        return read_table(self.view.data / name).column("id")

    def truth(self, role: str) -> Values:
        """The labels of rows, of test rows any."""
        some = next(iter(self.labels.values()))
        return np.array([self.labels.get(id, some) for id in self.ids(role)], dtype=object)

    def send(self, values: Values) -> Path:
        self.sent += 1
        file = self.folder / f"sent-{self.sent}.npy"
        np.save(file, values)
        return file

    def score(
        self,
        oof: Values | Path | None = None,
        validation: Values | Path | None = None,
        test: Values | Path | None = None,
        against: Arrays | None = None,
        reference: Arrays | None = None,
        ensemble: PresentEnsemble | None = None,
        seed: int = 0,
    ) -> ScoredExperiment:
        given: dict[Any, Any] = {"oof": oof, "validation": validation, "test": test}
        files = {
            role: one if isinstance(one, Path) else self.send(one) for role, one in given.items() if one is not None
        }
        other = None if against is None else Reference("other", against)
        base = None if reference is None else Reference("base", reference)
        return score_experiment(
            self.folds, self.view, files, self.folder / "bank", other, base, ensemble, reference is not None, seed
        )

    def arrays(self, made: Callable[[Values], Values]) -> dict[str, Values]:
        """Arrays of all three by a function of the labels."""
        return {role: made(self.truth(role)) for role in ("oof", "validation", "test")}


def task(folder: Path, card: TaskCard, rows: Sequence[Row], default: Sequence[Any], x: str = "x") -> Task:
    """Build a task of rows (x, labels...)."""
    names = [f"r{n}" for n in range(len(rows))]
    data = folder / "data"
    columns = card.prediction_columns
    write(data / "train.csv", ["id", x, *columns], ([id, *row] for id, row in zip(names, rows, strict=True)))
    tests = [f"t{n}" for n in range(50)]
    write(data / "test.csv", ["id", x], ([id, n] for n, id in enumerate(tests)))
    write(data / "sample_submission.csv", ["id", *columns], ([id, *default] for id in tests))
    view = LabelledView(folder / "view", folder / "view-labels", card)
    folds = LabelledView(folder / "folds", folder / "fold-labels", card)
    build_view(data, card, "holdout", 0, view.data, view.labels)
    build_folds(data, card, 0, 5, folds.data, folds.labels)
    labels = {id: tuple(map(str, row[1:])) for id, row in zip(names, rows, strict=True)}
    return Task(folder, card, labels, folds, view)
