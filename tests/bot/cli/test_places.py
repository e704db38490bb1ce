"""Places that cannot be used, and names that were mistyped: each is one sentence and the exit status 2."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli import main
from bot.cli.places import of_place
from bot.status.lock import LOCK
from sandbox.locks import try_lock
from scrapers.snapshots.demo import write_demo

ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}


class Bot:
    """The command line, run in this process in a folder; its exit status, and what it printed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: str | Path, cwd: Path) -> tuple[int, str, str]:
        self._monkeypatch.chdir(cwd)
        self._monkeypatch.setattr(sys, "argv", ["bot", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = self._capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bot:
    return Bot(monkeypatch, capsys)


def test_a_folder_below_a_file_is_one_sentence(bot: Bot, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "bot.toml").write_text('[daemon]\ndir = "notes.txt/state"\n[competitions.titanic]\n')
    status, _, said = bot("note", "titanic", "look", cwd=tmp_path)
    assert status == 2
    (line,) = said.splitlines()
    assert line.startswith("bot: ") and "notes.txt" in line and "part of the path is a file" in line


def test_an_error_that_names_no_place_is_not_taken_for_one() -> None:
    assert of_place(OSError(28, "No space left on device")) is None
    assert of_place(BrokenPipeError(32, "Broken pipe", "x")) is None
    full = of_place(OSError(28, "No space left on device", "runs/a"))
    assert full == "cannot use runs/a (No space left on device): free some space, or choose a path on another disk"


def test_a_second_daemon_is_refused_before_anything_else_is_read(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (tmp_path / "bot.toml").write_text('[daemon]\ndir = "state"\n[competitions.titanic]\n')
    lock = try_lock(state / LOCK)
    # It would take seconds to import what a daemon needs, so nothing of it may be loaded.
    script = "import sys; from bot.cli import main\ntry: main()\nfinally: print('sqlmodel' in sys.modules)"
    command = [sys.executable, "-c", script, "run"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    lock.release()
    assert done.returncode == 78
    assert done.stderr.startswith("bot: another daemon is running in ") and len(done.stderr.splitlines()) == 1
    assert done.stdout == "False\n"


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    write_demo(folder / "digits")
    return folder


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("", "is not a snapshot, but it contains 1 snapshot: {folder}/digits"),
        ("digits/data", "is inside the snapshot {folder}/digits: use that folder instead"),
        ("digit", "{folder}/digit: not found; did you mean digits?"),
    ],
)
def test_a_path_beside_a_snapshot_is_answered_with_the_right_one(bot, snapshots, place, sentence) -> None:
    status, out, said = bot("snapshot", "check", snapshots / place, cwd=snapshots)
    assert status != 0
    assert sentence.format(folder=snapshots) in out + said
    assert len((out + said).splitlines()) <= 2, "and nothing is said about missing files"


def test_a_mistyped_agent_and_model_are_answered_with_the_nearest(bot: Bot, snapshots: Path) -> None:
    status, _, said = bot("replay", snapshots / "digits", "--agent", "comnd", "--model", "builtin", cwd=snapshots)
    assert (status, said.splitlines()[-1]) == (2, "bot: --agent: 'comnd': unknown agent; did you mean comind?")
    status, _, said = bot("replay", snapshots / "digits", "--model", "builtn", cwd=snapshots)
    assert status == 2
    assert "bot: unknown model 'builtn' (did you mean builtin?)" in said


def test_a_competition_may_be_named_by_its_address_and_a_mistyped_one_is_answered(bot: Bot, tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(
        '[daemon]\ndir = "state"\n[competitions."https://www.kaggle.com/competitions/titanic"]\n'
    )
    _, out, _ = bot("note", "https://www.kaggle.com/competitions/titanic/overview", "look", "--json", cwd=tmp_path)
    assert json.loads(out)["competition"] == "titanic"
    status, _, said = bot("pause", "titanc", cwd=tmp_path)
    assert status == 2
    assert said.strip().endswith("did you mean titanic?")
