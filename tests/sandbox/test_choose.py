"""Tests of choosing a back end."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.choose import choose
from sandbox.docker import DockerSandbox
from sandbox.process import ProcessSandbox
from state.errors import UsageError
from tests import needs


@pytest.fixture
def no_bwrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with util-linux and without bwrap."""
    for name in ("setpriv", "sh"):
        if path := shutil.which(name):
            (tmp_path / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Docker engine, whatever runs on this machine."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")


def test_auto_takes_bubblewrap_where_there_is_no_engine(no_engine: None) -> None:
    needs.bubblewrap()
    assert isinstance(choose("auto", trusted=True), BubblewrapSandbox)
    assert isinstance(choose("auto", trusted=False), BubblewrapSandbox)


@pytest.mark.integration
def test_auto_takes_docker_first_and_describes_its_image() -> None:
    needs.docker()
    chosen = choose("auto", trusted=False)
    assert isinstance(chosen, DockerSandbox)
    described = chosen.describe()
    assert described.isolation == "docker"
    assert {"numpy", "pandas", "scikit-learn"} <= set(described.packages or ())
    assert "sha256:" in (described.image or "")


def test_auto_without_engine_and_bubblewrap_takes_a_process_for_trusted_code_alone(no_engine, no_bwrap) -> None:
    assert isinstance(choose("auto", trusted=True), ProcessSandbox)
    with pytest.raises(UsageError, match=r"bwrap is not installed: .* --sandbox process"):
        choose("auto", trusted=False)


def test_bubblewrap_without_bwrap_names_the_package(no_bwrap: None) -> None:
    with pytest.raises(UsageError, match="install the Debian package bubblewrap"):
        choose("bubblewrap", trusted=True)


def test_process_is_given_when_asked_for() -> None:
    assert choose("process", trusted=False).describe().isolation == "none"


def test_docker_without_an_engine_names_how_to_get_one(no_engine: None) -> None:
    with pytest.raises(UsageError, match=r"No Docker engine answers at unix://.*docker\.io"):
        choose("docker", trusted=True)


def test_an_engine_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(UsageError, match="only an engine of this machine"):
        choose("docker", trusted=True)


@pytest.mark.integration
def test_a_kernel_that_forbids_bubblewrap_is_named_with_the_way_to_allow_it() -> None:
    needs.bubblewrap()
    needs.root()
    program = (
        "from sandbox.choose import choose\n"
        "try: choose('bubblewrap', trusted=True)\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    # A user namespace of its own, in which no further one may be made, and no capability: as on a locked-down host.
    forbid = (
        'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$0" -c "$1"'
    )
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, sys.executable, program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        timeout=60,
        check=False,
    )
    if not done.stdout:
        needs.missing(f"no user namespace can be made here: {done.stderr}")
    assert done.stdout.startswith("UsageError bubblewrap is installed but does not work here")
    assert "sysctl" in done.stdout
    assert "--sandbox process" in done.stdout


def test_descriptions_say_what_is_contained_and_what_is_not() -> None:
    isolated = BubblewrapSandbox().describe()
    assert (isolated.name, isolated.isolation) == ("bubblewrap", "bubblewrap")
    assert any("network is open" in gap for gap in ProcessSandbox().describe().gaps)
