"""A prepared MLE-bench competition of each layout becomes a graded run: import, check, replay with the built-in model."""

import csv
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation import written_layouts as layouts
from tests.bot.replay.conftest import Bot, results
from tests.bot.research.importers.mle_bench.prepared_folder import write_competition, write_table

_GRADER = """import numpy as np
import pandas as pd

from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    key = {key!r}
    submission, answers = (table.assign(nth=table.groupby(key).cumcount()) for table in (submission, answers))
    if set(map(tuple, submission[[*key, "nth"]].astype(str).values)) != set(
        map(tuple, answers[[*key, "nth"]].astype(str).values)
    ):
        raise InvalidSubmissionError("the ids are not those of the answers")
    both = answers.merge(submission, on=[*key, "nth"], suffixes=(" true", " predicted"))
    true, predicted = both[{column!r} + " true"], both[{column!r} + " predicted"]
    return float({formula})
"""
_FORMULAS = {
    "accuracy": "(true == predicted).mean()",
    "log_loss": "-np.log(np.clip(np.where(true == 1, predicted, 1 - predicted), 1e-15, 1)).mean()",
    "roc_auc": "__import__('sklearn.metrics').metrics.roc_auc_score(true, predicted)",
    "rmse": "np.sqrt(((true - predicted) ** 2).mean())",
    "mae": "np.abs(true - predicted).mean()",
    "rmsle": "np.sqrt(((np.log1p(true) - np.log1p(predicted)) ** 2).mean())",
    "grade.py": "(true.fillna('') == predicted.fillna('')).mean() - 0.25 * predicted.isna().mean()",  # no metric that has a name
}
_HIGHER = {"accuracy", "roc_auc", "grade.py"}
Layout = Callable[[Path], TaskCard]


def _truth(task: TaskCard, sample: Sequence[str], rng: random.Random) -> list[str]:
    """An answer for each row of the sample, of the kind that the metric takes."""
    if task.metric.name == "accuracy":
        return [rng.choice(layouts.SPECIES) for _ in sample]
    if task.metric.name in ("log_loss", "roc_auc"):
        return [str(n % 2) for n, _ in enumerate(sample)]
    if task.metric.name == "grade.py":
        return [rng.choice(("", "1 2", f"{n + 1} 2")) for n, _ in enumerate(sample)]
    return [f"{rng.uniform(0, 9):.3f}" for _ in sample]


def prepared(root: Path, layout: Layout) -> str:
    """Write a competition of that layout as MLE-bench prepares it, and return its id."""
    slug = layout.__name__.replace("_", "-")
    public = root / "data" / slug / "prepared" / "public"
    task = layout(public)
    with (public / "sample_submission.csv").open(newline="") as file:
        header, *sample = csv.reader(file)
    (column,) = task.prediction_columns
    key = [header.index(name) for name in task.row_columns]
    truth = _truth(task, [row[0] for row in sample], random.Random(3))
    write_competition(
        root,
        slug,
        header=(*task.row_columns, column),
        answers=[(*(row[at] for at in key), true) for row, true in zip(sample, truth, strict=True)],
        sample_header=header,
        sample=sample,
        grader=_GRADER.format(key=list(task.row_columns), column=column, formula=_FORMULAS[task.metric.name]),
        lower_is_better=task.metric.name not in _HIGHER,
    )
    return slug


def lines(data: Path) -> TaskCard:
    """Records, one a line."""
    return layouts.statoil_icebergs(data, lines=True)


@pytest.mark.integration
@pytest.mark.usefixtures("light")
def test_a_competition_whose_answers_have_other_names_is_graded_by_its_own_grader(bot: Bot, tmp_path: Path) -> None:
    rows = [(f"r{n}", round(n / 60, 4), "x" if n % 2 else "y") for n in range(60)]
    write_competition(
        tmp_path,
        "unintended",
        header=("id", "toxicity", "identity"),
        sample_header=("id", "prediction"),
        answers=rows,
        sample=[(row[0], 0.5) for row in rows],
        grader="def grade(submission, answers):\n"
        "    both = answers.merge(submission, on='id')\n"
        "    return float(both[both.identity == 'x'].eval('abs(toxicity - prediction)').mean())\n",
        lower_is_better=True,
    )
    public = tmp_path / "data/unintended/prepared/public"
    write_table(public / "train.csv", ("id", "a", "toxicity"), [(f"t{n}", n % 7, n % 7 / 7) for n in range(90)])
    write_table(public / "test.csv", ("id", "a"), [(row[0], n % 7) for n, row in enumerate(rows)])
    given = ("--package", tmp_path / "competitions", "--out", tmp_path / "snapshots")
    imported = bot("snapshot", "import", "mle-bench", tmp_path / "data", *given, "--json")
    assert imported.exit_code == 0, imported.output
    (one,) = json.loads(imported.stdout)["competitions"]
    assert (one["metric"], one["direction"]) == ("grade.py", "minimize")
    snapshot = tmp_path / "snapshots" / "unintended"
    assert bot("snapshot", "check", snapshot).exit_code == 0
    mine = tmp_path / "mine.csv"
    mine.write_text("id,prediction\n" + "".join(f"{id},{true + 0.25}\n" for id, true, _ in rows[::-1]))
    graded = bot("grade", snapshot, mine, "--json")
    assert json.loads(graded.stdout)["score"] == pytest.approx(0.25)
    options = ("--model", "builtin", "--steps", 2, "--time", "2m", "--sandbox", "process", "--json")
    done = bot("replay", snapshot, *options)
    (result,) = results(done)
    assert result["valid_submission"] and "cannot score this view" in result["self_reported"]
    assert bot("audit", result["run"]).exit_code == 0


IMPORTED: Mapping[Layout, str] = {
    layouts.plant_seedlings: "accuracy",  # labels in names of folders
    layouts.denoising_documents: "rmse",  # a file a row, a row a pixel
    lines: "log_loss",
    layouts.scalar_coupling: "mae",  # several tables with a shared key
    layouts.store_sales: "rmsle",  # several series over time
    layouts.salt_masks: "grade.py",  # run lengths
    layouts.tract_segmentation: "grade.py",  # a row for each class of an image
    layouts.insults: "roc_auc",  # ids that repeat
    layouts.acts_of_pizza: "roc_auc",  # an array of records
    layouts.cervical_fractures: "log_loss",  # a row for each column of the labels
    layouts.text_normalization: "accuracy",  # ids of two columns
}
"""Each layout, with the metric that is found for it."""
REPLAYED = (layouts.plant_seedlings, layouts.tract_segmentation)
"""Those that differ most: images in folders, and a grader of its own with several rows an image. What a run does with the
others is tested part by part, with every layout; whole runs of these are trials."""
OTHERS = (lines, layouts.scalar_coupling, layouts.text_normalization)


@pytest.mark.integration
@pytest.mark.parametrize("replayed", [REPLAYED, pytest.param(OTHERS, marks=pytest.mark.trial)], ids=["some", "others"])
@pytest.mark.usefixtures("light")
def test_competitions_of_every_layout_are_imported_and_checked_and_some_replayed_and_graded(bot, tmp_path, replayed):
    found = {prepared(tmp_path, layout): metric for layout, metric in IMPORTED.items()}
    given = ("--package", tmp_path / "competitions", "--out", tmp_path / "snapshots")
    imported = bot("snapshot", "import", "mle-bench", tmp_path / "data", *given, "--json")
    assert imported.exit_code == 0, imported.output
    assert {one["slug"]: one["metric"] for one in json.loads(imported.stdout)["competitions"]} == found
    for slug in found:
        assert bot("snapshot", "check", tmp_path / "snapshots" / slug).exit_code == 0
    snapshots = [tmp_path / "snapshots" / layout.__name__.replace("_", "-") for layout in replayed]
    options = ("--model", "builtin", "--steps", 1, "--time", "3m", "--sandbox", "process", "--json")
    done = bot("replay", *snapshots, *options)
    assert done.exit_code == 0, done.output
    for snapshot, result in zip(snapshots, results(done), strict=True):
        assert result["competition_id"] == snapshot.name
        assert result["valid_submission"], snapshot
        assert result["self_reported"] is None, "the labels could not be withheld"
        assert result["validation_score"] is not None, snapshot
        assert [one for one in result["guards"] if one["verdict"] == "not run"] == [], snapshot
        assert result["validation_interval"] is not None, (snapshot, result["validation_interval_note"])
        if result["grader"] == "competition" or snapshot == snapshots[0]:
            graded = bot("grade", snapshot, Path(result["run"]) / "submission.csv", "--json")
            assert json.loads(graded.stdout)["score"] == result["score"]
