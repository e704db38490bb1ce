"""Made-up scripts' predictions, in a bank, of a task with a known truth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import Member
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.scoring.bank import keep_array
from bot.evaluation.views.parts import write_final
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import card, write

Values = NDArray[Any]


def task(metric: str, columns: int = 1, **params: Any) -> TaskCard:
    made = card(metric, [f"y{n}" for n in range(columns)], **params)
    right = made.metric.model_copy(update={"direction": METRIC_DIRECTIONS.get(metric, "minimize")})
    return made.model_copy(update={"metric": right})


def lay_out(
    folder: Path, of: TaskCard, truth: Values, final: Sequence[int] = (), groups: int = 0, grader: str = ""
) -> LabelledView:
    """Write a hold-out view with these labels, as many test rows, and rows of `final` by their numbers."""
    ids, tests = ([f"{kind}{n}" for n in range(len(truth))] for kind in "vt")
    empty = [0] * truth.shape[1]
    for name, rows in (("validation", ids), ("submission", tests)):
        write(folder / "view" / f"sample_{name}.csv", ["id", *of.prediction_columns], ([id, *empty] for id in rows))
    if groups:
        write(
            folder / "view" / "train.csv",
            ["id", "of", *of.prediction_columns],
            ([f"r{n}", n // 8, 1, *empty[1:]] for n in range(400)),
        )
        write(folder / "view" / "validation.csv", ["id", "of"], ([id, 1000 + n % groups] for n, id in enumerate(ids)))
        write(folder / "view" / "test.csv", ["id", "of"], ([id, 5000 + n // 8] for n, id in enumerate(tests)))
    write(
        folder / "labels" / "labels.csv",
        ["id", *of.prediction_columns],
        ([id, *row] for id, row in zip(ids, truth, strict=True)),
    )
    if final:
        write_final(folder / "labels", final)
    if grader:
        (folder / "grade.py").write_text(grader)
    return LabelledView(folder / "view", folder / "labels", of, folder / "grade.py" if grader else None)


def member(folder: Path, node: int, withheld: Values, tested: Values | None = None, seconds: float = 1.0) -> Member:
    """Keep a script's predictions; those of the test rows are the same unless given."""
    files = [
        folder / "bank" / keep_array(values, folder / "bank")
        for values in (withheld, withheld if tested is None else tested)
    ]
    return Member(node, files[0], files[1], seconds)


def members(folder: Path, predicted: Sequence[Values]) -> list[Member]:
    """Keep the predictions of several scripts, the nodes 1, 2 and so on."""
    return [member(folder, node, values) for node, values in enumerate(predicted, 1)]


def noisy(truth: Values, spreads: Sequence[float], seed: int = 0) -> list[Values]:
    """Return predictions of quantities that err by so much, each by itself."""
    rng = np.random.default_rng(seed)
    return [truth + rng.normal(0, spread, truth.shape) for spread in spreads]


def quantities(rows: int, seed: int = 0) -> Values:
    return np.random.default_rng([seed, 9]).normal(5, 1, (rows, 1))
