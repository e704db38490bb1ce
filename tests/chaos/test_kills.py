"""The quick version of the kill test: one run, killed at a few boundaries and once in the middle, ends as if undisturbed."""

import json
import signal
from pathlib import Path

import pytest

from tests.chaos.invariants import Memory, check, outcome, tree
from tests.chaos.world import SteadyAnswers, World, wait_until
from tests.scripted_endpoint import ScriptedEndpoint

OPTIONS = ("--steps", "3", "--no-community")
"""Kills at the end are tried in `tests.bot.submission.test_killed_at_the_end`, and by `make chaos`."""
DOOMS = (("before", "node.ended", "2"), ("after", "run.ended", "1"))


@pytest.mark.integration
@pytest.mark.trial
def test_a_run_killed_at_boundaries_ends_with_the_tree_of_one_that_was_not(tmp_path: Path) -> None:
    with ScriptedEndpoint(SteadyAnswers()) as endpoint:
        calm = World(tmp_path / "calm", endpoint, options=OPTIONS)
        assert calm.live(), calm.log()
        (undisturbed,) = calm.out.iterdir()
    memory = Memory()
    with ScriptedEndpoint(SteadyAnswers()) as endpoint:
        world = World(tmp_path / "killed", endpoint, options=OPTIONS)
        for doom in DOOMS:
            assert not world.live(doom=doom), f"it was not killed {doom}: {world.log()}"
            memory.look(world.out)
        assert world.live(), world.log()
        memory.look(world.out)
        check(world, slots=1)
        (run,) = world.out.iterdir()
    assert tree(run) == tree(undisturbed)
    assert outcome(run) == outcome(undisturbed)


@pytest.mark.integration
def test_sigterm_hands_in_within_20_seconds_and_resume_goes_on_with_the_same_tree(tmp_path: Path) -> None:
    with ScriptedEndpoint(SteadyAnswers(seconds=1.5)) as endpoint:
        world = World(tmp_path / "stopped", endpoint, options=(*OPTIONS, "--parallel", "2"))
        process = world.start()
        _until_scripts(endpoint, 2)
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        world.kills += 1  # as of a kill: what was being asked is asked again
        (run,) = world.out.iterdir()
        stopped = json.loads((run / "result.json").read_text())
        assert stopped["status"] == "stopped"
        assert stopped["valid_submission"]
        assert stopped["prediction_source"] == "holdout"
        assert world.live(), world.log()
        check(world, slots=2)
        assert json.loads((run / "result.json").read_text())["nodes"] == 3


def _until_scripts(endpoint: ScriptedEndpoint, count: int) -> None:
    def asked() -> bool:
        return sum("Write the first script" in request.last for request in endpoint.requests) >= count

    assert wait_until(asked, 180)
