"""The bot without its wings: an installation that lacks their folders and entry points works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installation import entry_points, write_metadata
from tests.source_tree import PACKAGES, ROOT
from tests.test_ratchet import WINGS
from tests.tiny_snapshot import write_tiny


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages, without the wings."""
    folder = tmp_path_factory.mktemp("core")
    for package in PACKAGES:
        (folder / package).mkdir()
        for path in (ROOT / package).iterdir():
            if f"{package}/{path.name}" not in WINGS and path.name != "__pycache__":
                (folder / package / path.name).symlink_to(path)
    own = {name: target for name, target in entry_points()["console_scripts"].items() if target.startswith("bot.cli")}
    write_metadata(folder, {"console_scripts": own})
    return folder


def bot(core: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the core's command; nothing of the checkout beside it can be imported."""
    keys = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
    environment = {name: value for name, value in os.environ.items() if name not in keys}
    environment |= {"PYTHONPATH": str(core), "PYTHONDONTWRITEBYTECODE": "1"}
    # A finder of the checkout's folders would bring the wings back.
    code = f"import sys; sys.path.remove({str(ROOT)!r}); from bot.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=core, env=environment, capture_output=True, text=True, timeout=400, check=False)


def test_the_help_lists_the_cores_commands_alone(core: Path) -> None:
    done = bot(core, "--help")
    assert done.returncode == 0, done.stderr
    assert "\n  replay " in done.stdout
    assert not {"bench", "rehearse", "audit"} & set(done.stdout.split())
    assert "bench" in bot(core, "bench").stderr


def test_agents_are_the_cores_and_groups_have_its_commands_alone(core: Path) -> None:
    done = bot(core, "replay", "--help")
    assert "comind" in done.stdout
    assert "automind" not in done.stdout
    assert "import" not in {
        line.split()[0] for line in bot(core, "snapshot", "--help").stdout.splitlines() if line.strip()
    }


def test_a_fleet_and_a_rehearsal_are_refused_with_what_to_do(core: Path, tmp_path: Path) -> None:
    tiny = write_tiny(tmp_path / "tiny-table")
    options = ("--model", "builtin", "--sandbox", "process", "--fleet", "auto", "--out", tmp_path / "runs")
    done = bot(core, "replay", tiny, *options)
    assert done.returncode == 2
    assert "'fleet' (bot.placement) is not installed" in done.stderr


@pytest.mark.integration  # a run takes seconds
def test_a_replay_runs(core: Path, tmp_path: Path) -> None:
    tiny = write_tiny(tmp_path / "tiny-table")
    options = ("--model", "builtin", "--steps", 1, "--sandbox", "process", "--json", "--out", tmp_path / "runs")
    done = bot(core, "replay", tiny, *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["valid_submission"]
