"""A run killed at every boundary of its end: blend, race, last choice, refits and handing in come out as if it was not."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.doomed import label
from tests.chaos.invariants import events
from tests.source_tree import ROOT

PASSED = {
    *("blend.fitted", "step.ended execute:holdout", "node.created"),
    *("step.ended race", "step.ended execute:fold", "step.ended race fold", "step.ended guards"),
    *("step.ended last choice", "step.ended second-look", "step.ended execute:full", "step.ended refit"),
    *("submission.sending", "submission.confirmed"),
}
"""Boundaries that the run must have, or the test would show little."""


@pytest.mark.integration
def test_a_run_killed_at_every_boundary_of_its_end_ends_as_one_that_was_not(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    _run(calm, "scored")
    # What is expected of a script on a fold is what its scored run took: both have the same.
    shutil.copytree(calm, killed)
    scored = len(events(calm / "run"))
    undisturbed = _run(calm).stdout
    blend = json.loads(undisturbed)["blend"]
    assert json.loads(undisturbed)["chosen_node"] == blend["node"] and len(blend["weights"]) > 1
    # Of folds and of steps that are repeated, one will do.
    named: dict[str, str] = {}
    for name in (label(one["type"], one) for one in events(calm / "run")[scored:]):
        named.setdefault(re.sub(r" \d.*", "", name), name)
    assert named.keys() >= PASSED
    # What is stored after a boundary is what is stored before the next one.
    for moment, boundary in [*(("before", name) for name in named.values()), ("after", "run.ended")]:
        ended = _run(killed, moment, boundary, "1", returns=-signal.SIGKILL)
        assert not ended.stdout
    assert _run(killed).stdout == undisturbed


def _run(folder: Path, *arguments: str, returns: int = 0) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.bot.submission.raced", str(folder), *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=300, check=False, text=True)
    assert ended.returncode == returns, f"{arguments}: {ended.stderr[-2000:]}"
    return ended
