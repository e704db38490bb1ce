"""Tests of what one script may use by default."""

import os
import shutil
from pathlib import Path

import psutil
from hypothesis import given
from hypothesis import strategies as st

from sandbox.settings import SandboxSettings
from sandbox.share import share_of, usable_cpus, usable_memory

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
