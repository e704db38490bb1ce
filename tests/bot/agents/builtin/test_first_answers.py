"""The first answers of the built-in script: valid for every metric and layout, in the first second, with Python alone."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.agents.builtin import baseline_script
from bot.agents.builtin.config import PARTS
from bot.evaluation.answers import LabelledView
from bot.evaluation.metrics.registry import METRICS
from bot.evaluation.scoring.score import score_execution
from bot.evaluation.views.build import build_view
from bot.execution.task import TaskText
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import card, write
from tests.bot.evaluation.truths import SHAPES, write_truth
from tests.bot.evaluation.written_layouts import LAYOUTS, view_of, write_layout

QUICK = ("spearman", "pearson", "accuracy", "kendall_tau")
EVERYTHING = [
    pytest.param(metric, shape, marks=() if metric in QUICK else pytest.mark.integration)
    for metric in METRICS
    for shape in SHAPES
    if shape != "constant"
]


def first_answers(
    folder: Path, view: Path, task: TaskCard, monkeypatch: pytest.MonkeyPatch, *, stores_models: bool = False
) -> dict[str, Any]:
    """Run the first part of the baseline in this process, beside a view's data, and score what it writes."""
    code = baseline_script(TaskText.from_card(task, stores_models=stores_models), "").code
    place = view.parent
    monkeypatch.chdir(place)
    first, found, _ = code.partition("try:  # the libraries")
    assert found
    names: dict[str, Any] = {}
    exec(compile(first, PARTS[0], "exec"), names)  # noqa: S102 - our own script
    names["alarm"].cancel()
    files = place / "validation_predictions.csv", place / "submission.csv"
    return score_execution(LabelledView(place / "data", folder, task), *files)


@pytest.mark.parametrize(("metric", "shape"), EVERYTHING)
def test_they_are_valid_and_have_a_score_for_every_metric_and_truth(tmp_path, metric, shape, monkeypatch) -> None:
    task = write_truth(tmp_path / "all", metric, SHAPES[shape], random.Random(shape))
    build_view(tmp_path / "all", task, "holdout", 0, tmp_path / "view" / "data", tmp_path / "labels")
    told = first_answers(tmp_path / "labels", tmp_path / "view" / "data", task, monkeypatch)
    assert told.fine and told.score is not None, told.message


@pytest.mark.parametrize(
    "view", ["holdout", *(pytest.param(name, marks=pytest.mark.integration) for name in ("sample", "full"))]
)
@pytest.mark.parametrize("name", LAYOUTS)
def test_they_are_valid_in_every_layout_and_view(tmp_path, name, view, monkeypatch) -> None:
    data, task = write_layout(name, tmp_path)
    # Scored by a metric that takes what the layout's grader takes.
    task = task if task.metric.name != "grade.py" else as_metric(task, "dice")
    _, out, labels = view_of(data, task, view)
    told = first_answers(labels.parent, out, task, monkeypatch)
    assert told.fine and told.score is not None, told.message


def as_metric(task: TaskCard, name: str) -> TaskCard:
    """Return a card with another metric."""
    return task.model_copy(update={"metric": task.metric.model_copy(update={"name": name, "params": {}})})


@pytest.mark.parametrize("metric", ["pearson", "spearman", "rmse", "roc_auc", "accuracy", "log_loss"])
@pytest.mark.parametrize("shown", ["", "nan", "-5", "NA"])
def test_a_sample_whose_values_are_not_valid_is_no_obstacle(tmp_path, metric, shown, monkeypatch) -> None:
    data = tmp_path / "all"
    ids = [f"NA{n}" if n else "NA" for n in range(90)]
    write(data / "train.csv", ["id", "y"], [[i, n % 2] for n, i in enumerate(ids[:70])])
    write(data / "sample_submission.csv", ["id", "y"], [[i, shown] for i in ids[70:]])
    task = card(metric)
    build_view(data, task, "holdout", 0, tmp_path / "view" / "data", tmp_path / "labels")
    told = first_answers(tmp_path / "labels", tmp_path / "view" / "data", task, monkeypatch)
    assert told.fine and told.score is not None, told.message


def test_they_need_no_library_and_are_there_at_once(tmp_path: Path) -> None:
    data, task = write_layout("store_sales", tmp_path)
    _, out, labels = view_of(data, task)
    place = out.parent
    (place / "solution.py").write_text(baseline_script(TaskText.from_card(task), "").code)
    bare = [sys.executable, "-S", "-E", "solution.py"]  # without what is installed
    done = subprocess.run(bare, cwd=place, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "the plain answers are handed in: No module named 'numpy'" in done.stdout
    files = place / "validation_predictions.csv", place / "submission.csv"
    told = score_execution(LabelledView(out, labels.parent, task), *files)
    assert told.fine and told.score is not None


@pytest.mark.parametrize("stores_models", [False, True])
@pytest.mark.parametrize("metric", ["rmse", "roc_auc", "accuracy"])
def test_of_a_small_table_they_are_a_models_within_a_tenth_of_half_a_minute(
    tmp_path, metric, stores_models, monkeypatch
) -> None:
    """155 rows and five columns: the libraries alone take longer on a busy machine."""
    rng = random.Random(1)
    features = [[round(rng.gauss(0, 1), 3) for _ in range(3)] + [rng.choice("ab"), n] for n in range(255)]
    labels = [int(row[0] + (row[3] == "a") + rng.gauss(0, 0.2) > 0.5) for row in features]
    header, data = ["id", "width", "height", "depth", "kind", "age"], tmp_path / "all"
    rows = [[f"r{n}", *row] for n, row in enumerate(features)]
    write(data / "train.csv", [*header, "y"], [[*row, y] for row, y in zip(rows[:155], labels, strict=False)])
    write(data / "test.csv", header, rows[155:])
    write(data / "sample_submission.csv", ["id", "y"], [[row[0], 0] for row in rows[155:]])
    build_view(data, card(metric), "holdout", 0, tmp_path / "view" / "data", tmp_path / "labels")
    monkeypatch.setenv("BOT_TIME_LIMIT", "30")
    told = first_answers(
        tmp_path / "labels", tmp_path / "view" / "data", card(metric), monkeypatch, stores_models=stores_models
    )
    constant = {"rmse": 0.49, "roc_auc": 0.5, "accuracy": 0.6}[metric]
    assert told.score is not None
    assert told.score.value < constant - 0.1 if metric == "rmse" else told.score.value > constant + 0.2
    rows = [line.split(",")[1] for line in (tmp_path / "view" / "submission.csv").read_text().splitlines()[1:]]
    assert len(set(rows)) > (1 if metric == "accuracy" else 20), "no constant"


def test_columns_that_tell_nothing_leave_the_constant(tmp_path, monkeypatch) -> None:
    rng, data = random.Random(2), tmp_path / "all"
    rows = [[f"r{n}", rng.random()] for n in range(200)]
    write(data / "train.csv", ["id", "x", "y"], [[*row, rng.random()] for row in rows[:150]])
    write(data / "test.csv", ["id", "x"], rows[150:])
    write(data / "sample_submission.csv", ["id", "y"], [[row[0], 0] for row in rows[150:]])
    build_view(data, card("rmse"), "holdout", 0, tmp_path / "view" / "data", tmp_path / "labels")
    first_answers(tmp_path / "labels", tmp_path / "view" / "data", card("rmse"), monkeypatch)
    assert (
        len({line.split(",")[1] for line in (tmp_path / "view" / "submission.csv").read_text().splitlines()[1:]}) == 1
    )
