"""A whole run whose scripts run in containers."""

import json
from pathlib import Path

import pytest

from sandbox.image import IMAGE
from tests import needs
from tests.bot.replay.conftest import Bot, results


@pytest.mark.integration
def test_a_replay_of_the_demo_in_containers_is_valid_and_audited(bot: Bot, tmp_path: Path) -> None:
    needs.docker()
    assert bot("snapshot", "demo", tmp_path / "demo").exit_code == 0
    options = ("--model", "builtin", "--steps", 2, "--time", "90s", "--sandbox", "docker", "--json")
    done = bot("replay", tmp_path / "demo", *options)
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    assert result["valid_submission"]
    assert result["isolation"] == "docker"
    folder = Path(result["run"])
    settings = json.loads((folder / "config.json").read_text())["settings"]
    assert IMAGE in settings["image"]
    assert "scikit-learn" in (folder / "prompts.jsonl").read_text()
    assert bot("audit", folder).exit_code == 0
