"""A run killed at boundaries of its end: blend, final selection, refits and handing in come out as if it was not."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.doomed import label
from tests.chaos.invariants import events
from tests.source_tree import ROOT

PASSED = {
    *("blend.fitted", "step.ended execute:holdout", "node.created"),
    *("step.ended final selection", "step.ended execute:full", "step.ended refit"),
    *("submission.sending", "submission.confirmed"),
}
"""Boundaries that the run must have, or the test would show little."""


STORED_LAST = ("final selection", "refit", "confirmed")
"""What is killed even where every third boundary is: the run's decisions, as they are stored, and the act."""


@pytest.mark.integration
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.trial)])
def test_a_run_killed_at_boundaries_of_its_end_ends_as_one_that_was_not(tmp_path: Path, every: int) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    _lived(calm, "scored")
    shutil.copytree(calm, killed)
    scored = len(events(calm / "run"))
    undisturbed = _lived(calm, "ended")
    blend = json.loads(undisturbed)["blend"]
    assert json.loads(undisturbed)["chosen_node"] == blend["node"] and len(blend["weights"]) > 1
    # Of steps that are repeated, one will do.
    named: dict[str, str] = {}
    for name in (label(one["type"], one) for one in events(calm / "run")[scored:]):
        named.setdefault(re.sub(r" \d.*", "", name), name)
    assert named.keys() >= PASSED
    # What is stored after a boundary is what is stored before the next one, and each life begins by reading all that was stored
    # before: a step that has ended and one that has begun after it need no kill between them.
    ends = [name for name in named.values() if not name.startswith("step.started")]
    boundaries = [name for at, name in enumerate(ends) if at % every == 0 or name.endswith(STORED_LAST)]
    assert len(boundaries) >= 8
    ended = _lived(killed, *(f"before {name}" for name in boundaries), "after run.ended", "ended")
    assert ended == undisturbed


def _lived(folder: Path, *lives: str) -> str:
    """Return what the lives printed: the last one, as all others are killed or end before."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.bot.submission.ended_run", str(folder), *lives]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=600, check=False, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout
