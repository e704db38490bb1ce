"""Tests of making, finding and removing environments."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox import ExitReason, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.check_environment import check_environment
from sandbox.docker import DockerSandbox
from sandbox.environments import ScriptEnvironment, chosen_environment, environment_named, environments_in
from sandbox.locks import try_lock
from sandbox.make_environment import Recipe, make_environment, remove_environment
from sandbox.process import ProcessSandbox
from state.errors import InfrastructureFailure, UsageError
from tests import needs
from tests.sandbox.conftest import runner

LIGHTGBM = """
import lightgbm, sys
model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1).fit([[x] for x in range(100)], [x > 50 for x in range(100)])
print(model.predict([[0], [99]]), sys.version_info[:2])
try:
    open(lightgbm.__file__, "a")
except OSError:
    print("read-only")
"""
MAKING = """
import sys
from pathlib import Path
from sandbox.make_environment import Recipe, make_environment
make_environment(Path(sys.argv[1]), "default", Recipe((), False, Path(sys.argv[2]), "uv"))
"""

REMOVING = """
import sys
from pathlib import Path
from sandbox.make_environment import remove_environment
from state.errors import UsageError
def write(event, _):
    if event == "os.rmdir" and "late" in sys.argv:
        (Path(sys.argv[1]) / "default" / "lib" / "late.py").touch()
sys.addaudithook(write)
try:
    remove_environment(Path(sys.argv[1]), "default")
except UsageError as error:
    print(error)
"""


def test_what_was_begun_is_no_environment_yet(tmp_path: Path) -> None:
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "pyvenv.cfg").touch()
    assert environments_in(tmp_path) == ([], ["default"])
    assert chosen_environment(tmp_path, None) is None
    with pytest.raises(UsageError, match="run `bot env create default`"):
        environment_named(tmp_path, "default")
    remove_environment(tmp_path, "default")
    assert environments_in(tmp_path) == ([], [])


@pytest.mark.integration
def test_what_is_written_into_while_it_is_removed_is_told_and_can_be_removed_again(tmp_path: Path) -> None:
    (tmp_path / "default" / "lib").mkdir(parents=True)
    (tmp_path / "default" / "pyvenv.cfg").touch()

    def removed(*arguments: str) -> str:
        command = [sys.executable, "-c", REMOVING, str(tmp_path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    told = removed("late")
    assert told.startswith(f"{tmp_path / 'default'} cannot be removed: Directory not empty. ")
    assert removed() == ""
    assert not (tmp_path / "default").exists()


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path, recipe: Recipe) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    for act in (lambda: remove_environment(tmp_path, "photos"), lambda: make_environment(tmp_path, "photos", recipe)):
        with pytest.raises(UsageError, match="is not an environment created by the bot"):
            act()
    assert (tmp_path / "photos" / "one.jpg").exists()


@pytest.mark.integration
def test_two_do_not_make_the_same_one_at_a_time(tmp_path: Path, recipe: Recipe) -> None:
    lock = try_lock(tmp_path / ".default.lock")
    with pytest.raises(UsageError, match="another `bot env` command is using the environment default"):
        make_environment(tmp_path, "default", recipe)
    lock.release(remove=True)


def test_without_room_nothing_is_begun(tmp_path: Path) -> None:
    recipe = Recipe(("tabular",) * 1_000_000, cuda=False, requirements=None, installer="uv")  # type: ignore[arg-type]  # too much on purpose
    with pytest.raises(UsageError, match="GB free"):
        make_environment(tmp_path, "default", recipe)
    assert environments_in(tmp_path) == ([], [])


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["process", "bubblewrap", "docker"])
async def test_scripts_run_with_its_packages_and_cannot_change_them(kind, environment, place) -> None:
    sandbox = back_end(kind, environment)
    outcome = await runner(sandbox, place)(LIGHTGBM, memory_bytes=2**30)
    assert outcome.reason is ExitReason.FINISHED, outcome
    assert "[False  True] (3, 11)" in outcome.output
    assert ("read-only" in outcome.output) == (kind != "process")
    described = sandbox.describe()
    assert (described.environment, (described.python or "")[:4]) == ("default", "3.11")
    assert "lightgbm" in (described.packages or {})


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["bubblewrap", "docker"])
def test_the_check_imports_each_package_and_fits_with_what_fits(kind: str, environment: ScriptEnvironment) -> None:
    trials, error = check_environment(back_end(kind, environment), environment)
    assert error is None
    assert {trial["trial"]: trial["error"] for trial in trials} == dict.fromkeys(
        ["import lightgbm", "import sklearn", "fit with lightgbm"]
    )


@pytest.mark.integration
def test_one_that_is_spoilt_fails_its_check(environment: ScriptEnvironment, tmp_path: Path) -> None:
    needs.bubblewrap()
    wanted = (*environment.record.wanted, "no-such-package")
    spoilt = ScriptEnvironment(environment.path, environment.record.model_copy(update={"wanted": wanted}))
    trials, _ = check_environment(BubblewrapSandbox(environment=spoilt), spoilt)
    assert [trial["trial"] for trial in trials if trial["error"]] == ["import no-such-package"]


@pytest.mark.integration
def test_a_killed_attempt_is_made_anew_by_the_same_command(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("six\n")
    recipe = Recipe((), cuda=False, requirements=requirements, installer="uv")
    command = [sys.executable, "-c", MAKING, str(tmp_path), str(requirements)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as first:
        deadline = time.monotonic() + 60
        while not (tmp_path / "default" / "constraints.txt").exists():  # the installer comes next
            assert time.monotonic() < deadline
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
    assert environments_in(tmp_path) == ([], ["default"])
    made = make_environment(tmp_path, "default", recipe)
    assert chosen_environment(tmp_path, None) == made
    with pytest.raises(UsageError, match="the environment default already exists"):
        make_environment(tmp_path, "default", recipe)
    remove_environment(tmp_path, "default")
    assert environments_in(tmp_path) == ([], [])


@pytest.mark.integration
def test_what_the_installer_cannot_do_is_reported_and_nothing_is_complete(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("numpy==0.0.1\n")
    recipe = Recipe((), cuda=False, requirements=tmp_path / "requirements.txt", installer="uv")
    with pytest.raises(InfrastructureFailure, match="uv failed with exit status 1; see its output above"):
        make_environment(tmp_path / "environments", "default", recipe)
    assert environments_in(tmp_path / "environments") == ([], ["default"])


def back_end(kind: str, environment: ScriptEnvironment) -> Sandbox:
    if kind == "process":
        return ProcessSandbox(environment=environment)
    if kind == "bubblewrap":
        needs.bubblewrap()
        return BubblewrapSandbox(environment=environment)
    needs.docker()
    sandbox = DockerSandbox("environments", environment=environment)
    assert sandbox.problem() is None
    return sandbox
