"""The baseline on data that is hard to learn from: two valid files with a score, better than a guess where one can be."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.agents.builtin import baseline_script
from bot.evaluation.answers import LabelledView
from bot.evaluation.scoring.score import score_execution
from bot.evaluation.views.build import build_view
from bot.execution.task import TaskText
from scrapers.snapshots.card import TaskCard
from tests.bot.agents.builtin.running import run_script
from tests.bot.evaluation.parts import card, write

pytestmark = pytest.mark.integration

WORDS = [f"{a}{b}" for a in ("sol", "pho", "the", "mag", "gra", "ele") for b in ("ar", "tone", "rmal", "net", "vity")]
Rows = list[list[Any]]


def lay_out(data: Path, header: list[str], rows: Rows, columns: list[str], default: Any = 0, tests: int = 40) -> None:
    """Write rows as training and test rows; the columns to predict stand last."""
    own = len(header) - len(columns)
    write(data / "train.csv", header, rows[:-tests])
    write(data / "test.csv", header[:own], [row[:own] for row in rows[-tests:]])
    write(
        data / "sample_submission.csv",
        [header[0], *columns],
        [[r[0], *[default] * len(columns)] for r in rows[-tests:]],
    )


def short_texts(data: Path, rng: random.Random) -> TaskCard:
    """Pairs of two words, as like as the words they share."""
    rows: Rows = []
    for n in range(400):
        one, other = rng.sample(WORDS, 2), rng.sample(WORDS, 2)
        other[0] = one[0] if rng.random() < 0.5 else other[0]
        rows.append([f"{n:x}", " ".join(one), " ".join(other), rng.choice("ABC"), len(set(one) & set(other)) / 2])
    lay_out(data, ["id", "anchor", "target", "context", "score"], rows, ["score"])
    return card("pearson", ["score"])


def rare_targets(data: Path, rng: random.Random) -> TaskCard:
    """Questions with twenty marks, of which most rows have none; one mark no row has."""
    names = [f"m{n}" for n in range(20)]
    rows: Rows = []
    for n in range(500):
        text = " ".join(rng.choices(WORDS, k=12))
        marks = [0.33 if WORDS[at] in text and rng.random() < 0.15 else 0 for at in range(19)]
        rows.append([n, text, " ".join(rng.choices(WORDS, k=5)), *marks, 0])
    lay_out(data, ["qa_id", "question", "title", *names], rows, names, "0.00308")
    return card("spearman", names[:19], "qa_id").model_copy(update={"prediction_columns": tuple(names[:19])})


def many_levels(data: Path, rng: random.Random) -> TaskCard:
    """Nothing but categories with hundreds of levels."""
    bad = {f"user{n}" for n in range(0, 150, 3)}
    rows: Rows = []
    for n in range(900):
        user = f"user{rng.randrange(150)}"
        rows.append([n, user, f"item-{rng.randrange(300)}", int((user in bad) == (rng.random() < 0.9))])
    lay_out(data, ["id", "user", "item", "clicked"], rows, ["clicked"], 0.5)
    return card("roc_auc", ["clicked"])


def tiny(data: Path, rng: random.Random) -> TaskCard:
    """Twelve rows, of a class some have but two."""
    rows: Rows = [[n, rng.random(), "aab"[n % 3] if n < 9 else "a"] for n in range(14)]
    lay_out(data, ["id", "x", "kind"], rows, ["kind"], "a", tests=2)
    return card("macro_f1", ["kind"])


def wide(data: Path, rng: random.Random) -> TaskCard:
    """Two thousand columns, a hundred rows, and a quantity that five of them make."""
    names = [f"x{n}" for n in range(2000)]
    rows: Rows = []
    for n in range(140):
        cells = [round(rng.gauss(0, 1), 3) for _ in names]
        rows.append([n, *cells, sum(cells[:5])])
    lay_out(data, ["id", *names, "y"], rows, ["y"])
    return card("r2", ["y"])


def sparse(data: Path, rng: random.Random) -> TaskCard:
    """Counts that are nearly all 0 or missing, columns of nothing, and a rare class."""
    names = [f"c{n}" for n in range(120)]
    rows: Rows = []
    for n in range(400):
        cells: list[Any] = [rng.choice([1, 5, ""]) if rng.random() < 0.03 else 0 for _ in names]
        rows.append([n, *cells[:-2], "", "", int(cells[0] != 0 or n % 40 == 0)])
    lay_out(data, ["id", *names, "y"], rows, ["y"], 0.5)
    return card("average_precision", ["y"])


def several_texts(data: Path, rng: random.Random) -> TaskCard:
    """Three texts with line breaks, quotes and gaps; the label is in the second."""
    rows: Rows = []
    for n in range(300):
        label = n % 3
        second = " ".join([*rng.choices(WORDS, k=5), ("red", "green", "blue")[label]])
        rows.append(
            [f"q,{n}", f'He said:\n"{rng.choice(WORDS)}", and more of it', second, "" if n % 2 else "what a lot", label]
        )
    lay_out(data, ["id", "a", "b", "c", "label"], rows, ["label"])
    return card("quadratic_weighted_kappa", ["label"])


def text_id(data: Path, rng: random.Random) -> TaskCard:
    """The comment is the id, and no other column."""
    rows: Rows = []
    for n in range(300):
        rows.append(
            [" ".join([*rng.choices(WORDS, k=4), "you fool" if n % 3 == 0 else "my friend", str(n)]), int(n % 3 == 0)]
        )
    write(data / "train.csv", ["Comment", "Insult"], rows[:260])
    write(data / "sample_submission.csv", ["Comment", "Insult"], [[row[0], 0] for row in rows[260:]])
    return card("pearson", ["Insult"], "Comment")


def nothing_but_ids(data: Path, rng: random.Random) -> TaskCard:
    """Nothing to learn from, and a metric that is undefined on constants."""
    write(data / "train.csv", ["id", "y"], [[f"r{n}", rng.random()] for n in range(100)])
    write(data / "sample_submission.csv", ["id", "y"], [[f"t{n}", 0] for n in range(20)])
    return card("spearman", ["y"])


ODD: Mapping[Callable[[Path, random.Random], TaskCard], float | None] = {
    short_texts: 0.4,
    rare_targets: None,
    many_levels: 0.75,
    tiny: None,
    wide: None,
    sparse: 0.12,
    several_texts: 0.2,
    text_id: 0.8,
    nothing_but_ids: None,
}
"""Each with the least score that what it holds must make; None: valid is all that can be asked."""


@pytest.mark.parametrize("name", ODD, ids=lambda one: one.__name__)
def test_the_baseline_is_valid_and_scored(tmp_path: Path, name: Callable[[Path, random.Random], TaskCard]) -> None:
    task = name(tmp_path / "all", random.Random(3))
    place, labels = tmp_path / "view", tmp_path / "labels"
    build_view(tmp_path / "all", task, "holdout", 0, place / "data", labels)
    least = ODD[name]
    printed = run_script(place, baseline_script(TaskText.from_card(task), "").code, 12 if least is None else 30)
    assert "Traceback" not in printed, printed
    files = place / "validation_predictions.csv", place / "submission.csv"
    told = score_execution(LabelledView(place / "data", labels, task), *files)
    assert told.fine and told.score is not None, f"{told.message}\n{printed}"
    assert least is None or told.score.value > least, printed
