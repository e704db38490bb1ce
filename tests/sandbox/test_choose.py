"""Which back end is taken, and what one script may use by default."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.choose import choose
from sandbox.docker import DockerSandbox
from sandbox.process import ProcessSandbox
from sandbox.settings import SandboxSettings
from sandbox.share import share_of, usable_cpus, usable_memory
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
    with pytest.raises(UsageError, match=r"bwrap is not installed: .*`process` provides no isolation"):
        choose("auto", trusted=False)


def test_bubblewrap_without_bwrap_names_the_package(no_bwrap: None) -> None:
    with pytest.raises(UsageError, match="install the Debian package bubblewrap"):
        choose("bubblewrap", trusted=True)


def test_process_is_given_when_asked_for() -> None:
    assert choose("process", trusted=False).describe().isolation == "none"


def test_docker_without_an_engine_names_how_to_get_one(no_engine: None) -> None:
    with pytest.raises(UsageError, match=r"Cannot connect to a Docker engine at unix://.*docker\.io"):
        choose("docker", trusted=True)


def test_an_engine_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(UsageError, match="only a local engine"):
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
    assert "another --sandbox (`process`" in done.stdout


def test_descriptions_say_what_is_contained_and_what_is_not() -> None:
    isolated = BubblewrapSandbox().describe()
    assert (isolated.name, isolated.isolation) == ("bubblewrap", "bubblewrap")
    assert any("network access is not restricted" in gap for gap in ProcessSandbox().describe().gaps)


GIB = 1024**3


@given(parallel=st.integers(1, 64))
def test_scripts_that_run_at_a_time_share_the_machine_less_a_reserve(parallel: int) -> None:
    share = share_of(SandboxSettings(), Path(), parallel=parallel)
    total, free = psutil.virtual_memory().total, shutil.disk_usage(Path()).free
    assert total / 2 - parallel <= parallel * share.memory_bytes <= max(total / 2, total - 2 * GIB)
    assert parallel * share.written_bytes <= free
    assert share.cpus == max(1, len(os.sched_getaffinity(0)) // parallel)


def test_what_the_owner_sets_takes_precedence_and_cores_are_never_more_than_there_are(tmp_path: Path) -> None:
    settings = SandboxSettings(memory_gb=8, disk_gb=20)
    share = share_of(settings, tmp_path / "not" / "there", parallel=4, cpus=10_000)
    assert (share.memory_bytes, share.written_bytes) == (8 * GIB, 20 * 10**9)
    assert share.cpus == len(os.sched_getaffinity(0))


def _write(root: Path, controller: str, **contents: str) -> None:
    """Write files of control groups where a container shows its own, at the top."""
    versions = {line.split(":", 2)[1] for line in Path("/proc/self/cgroup").read_text().splitlines()}
    old = next((one for one in versions if controller in one.split(",")), "")
    (root / old).mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (root / old / name.replace("__", ".")).write_text(content)


def test_a_control_group_that_allows_less_counts(tmp_path: Path) -> None:
    _write(tmp_path, "memory", memory__max=f"{3 * GIB}\n", memory__limit_in_bytes=f"{3 * GIB}\n")
    _write(tmp_path, "cpu", cpu__max="100000 100000\n", cpu__cfs_quota_us="100000\n", cpu__cfs_period_us="100000\n")
    assert usable_memory(tmp_path) == 3 * GIB
    assert usable_cpus(tmp_path) == 1


def test_a_control_group_without_a_limit_counts_for_nothing(tmp_path: Path) -> None:
    _write(tmp_path, "memory", memory__max="max\n", memory__limit_in_bytes="9223372036854771712\n")
    _write(tmp_path, "cpu", cpu__max="max 100000\n", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n")
    assert usable_memory(tmp_path) == psutil.virtual_memory().total
    assert usable_cpus(tmp_path) == len(os.sched_getaffinity(0))
