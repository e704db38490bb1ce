"""The baseline on views of every layout: two valid files, and a score that it says itself where nothing is withheld."""

import math
from pathlib import Path

import pytest

from bot.agents.builtin import baseline_script
from bot.evaluation.answers.findings import printed_score
from bot.evaluation.preview import preview
from bot.evaluation.scoring.prediction_file import read_submission
from bot.execution.task import TaskText
from tests.bot.agents.builtin.running import run_script
from tests.bot.evaluation.written_layouts import LAYOUTS, view_of, write_layout

pytestmark = pytest.mark.integration

LEARNS = {"plant_seedlings": 0.9, "statoil_icebergs": 0.3, "dogs_vs_cats": 0.3, "text_normalization": 0.9}
"""Where the baseline must see what there is to see: the least accuracy, or the most loss."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_baseline_writes_two_valid_files(tmp_path: Path, name: str) -> None:
    data, task = write_layout(name, tmp_path)
    _, view, _ = view_of(data, task)
    assert len(preview(view, task)) > 200
    printed = run_script(view.parent, baseline_script(TaskText.from_card(task), "").code, 120)
    read_submission(view.parent / "submission.csv", view / "sample_submission.csv", task)
    read_submission(view.parent / "validation_predictions.csv", view / "sample_validation.csv", task)
    if name in LEARNS:
        score = task.oriented(printed_score(printed) or math.nan)
        assert score > task.oriented(LEARNS[name])
