"""The baseline on views of every layout: two valid files, and a score that it says itself where nothing is withheld."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.agents.builtin import baseline_script
from bot.evaluation.answers.self_reported import printed_score
from bot.evaluation.preview import preview
from bot.evaluation.scoring.prediction_file import read_submission
from bot.execution.task import TaskText
from tests.bot.evaluation.written_layouts import LAYOUTS, view_of, write_layout

pytestmark = pytest.mark.integration

LEARNS = {"plant_seedlings": 0.9, "statoil_icebergs": 0.3, "dogs_vs_cats": 0.3, "text_normalization": 0.9}
"""Where the baseline must see what there is to see: the least accuracy, or the most loss."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_baseline_writes_two_valid_files(tmp_path: Path, name: str) -> None:
    data, task = write_layout(name, tmp_path)
    _, view, _ = view_of(data, task)
    assert len(preview(view, task)) > 200
    (view.parent / "solution.py").write_text(baseline_script(TaskText.from_card(task), "").code)
    environment = {**os.environ, "BOT_TIME_LIMIT": "120", "BOT_CPUS": "2"}
    done = subprocess.run(
        [sys.executable, "solution.py"], cwd=view.parent, env=environment, capture_output=True, text=True, timeout=140
    )
    assert done.returncode == 0, done.stderr
    read_submission(view.parent / "submission.csv", view / "sample_submission.csv", task)
    read_submission(view.parent / "validation_predictions.csv", view / "sample_validation.csv", task)
    if name in LEARNS:
        score = task.oriented(printed_score(done.stdout) or math.nan)
        assert score > task.oriented(LEARNS[name])
