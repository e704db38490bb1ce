"""Guards of an execution scored by the competition's own grade.py: they find what they find elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.evaluation.views.parts import write_final
from tests.bot.evaluation.guards import planted
from tests.bot.evaluation.guards.parts import Ground, Left, ground, knowing_repeated, near
from tests.bot.evaluation.parts import card, read, write

pytestmark = pytest.mark.integration  # each score is asked of a process

LOG_LOSS = """
import numpy as np
from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission, answers):
    if submission["id"].duplicated().any() or list(submission["id"]) != list(answers["id"]):
        raise InvalidSubmissionError("each id once, and in order")
    chance = submission["y"].clip(1e-15, 1 - 1e-15)
    return -np.where(answers["y"] == 1, np.log(chance), np.log(1 - chance)).mean()
"""

MERGING = """
def grade(submission, answers):
    both = answers.merge(submission, on="id")
    return (both["y_x"] - both["y_y"]).abs().mean()
"""
"""Takes answers that have more rows than are asked for."""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """Without a part `final`: its places would be those of other rows once the labels stand in another order."""
    clean = ground(tmp_path_factory.mktemp("clean"), "classes", planted.two_rows_repeated)
    write_final(clean.labels, ())
    return clean


def both(clean: Ground, folder: Path, source: str = LOG_LOSS) -> dict[str, Ground]:
    """The same competition, its metric named and its metric in a grade.py."""
    grounds = {}
    for name in ("registry", "grader"):
        (folder / name).mkdir()
        for part in ("view", "labels"):
            (folder / name / part).symlink_to(clean.folder / part)
        grounds[name] = replace(clean, folder=folder / name)
    grade_py = folder / "grade.py"
    grade_py.write_text(source)
    # A grader takes rows in the order of the answers, which is another than the sample's.
    labels = read(clean.labels / "labels.csv")
    (folder / "grader" / "labels").unlink()
    write(folder / "grader" / "labels" / "labels.csv", labels[0], labels[:0:-1])
    grounds["grader"] = replace(grounds["grader"], card=card("grade.py"), grader=grade_py)
    return grounds


def knows(labels: dict[str, float], _: object) -> list[float]:
    return list(labels.values())


LEFT: Mapping[str, Callable[[Ground], dict[str, Any]]] = {
    "honest": lambda here: {"predict": near(0.8), "output": "validation score: 0.55"},
    "too good": lambda here: {"predict": knows, "test": near(1.0)(here.truth, np.random.default_rng(0))},
    "better on duplicates": lambda here: {"predict": knowing_repeated(here)},
    "constant": lambda here: {"predict": near(0.8), "test": [0.3] * len(here.truth)},
    "copied": lambda here: {"predict": near(0.8), "test": [0.5] * len(here.truth)},
    "printed score": lambda here: {"predict": near(0.8), "output": "validation score: 0.0312"},
}


@pytest.mark.parametrize("what", LEFT)
def test_what_is_found_is_what_is_found_by_the_metric_itself(clean: Ground, tmp_path: Path, what: str) -> None:
    verdicts = {}
    for name, here in both(clean, tmp_path).items():
        before = Left(here, near(0.6), name="before", node=2)
        found = Left(here, others=[before], **LEFT[what](here)).found()
        verdicts[name] = {one.guard: one.verdict for one in found}
    assert verdicts["grader"] == verdicts["registry"]
    assert "not run" not in verdicts["grader"].values()
    doubted = {guard for guard, verdict in verdicts["grader"].items() if verdict != "passed"}
    assert (doubted == set()) if what == "honest" else (what in doubted)


def test_a_guard_that_needs_a_part_of_the_rows_is_not_run_where_only_whole_files_are_scored(
    clean: Ground, tmp_path: Path
) -> None:
    here = both(clean, tmp_path, MERGING)["grader"]
    own = Left(here, near(0.8)).write()
    labels = read(here.labels / "labels.csv")
    write(here.folder / "labels" / "labels.csv", labels[0], [*labels[1:], ["one more", 0]])
    found = {one.guard: one for one in own.found()}
    assert {name for name, one in found.items() if one.verdict == "not run"} == {"better on duplicates"}
    assert "scores whole files only" in found["better on duplicates"].sentence
