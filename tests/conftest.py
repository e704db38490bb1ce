"""What all tests share: the folder of snapshots, and a summary of why tests were skipped."""

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import needs
from tests.installation import follow_pyproject
from tests.warm_workers import warm_workers

# Tests share the cores: threads that wait for one another by spinning take many times the processor time.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

# Continuous integration tries the same examples each time, so that it tells of the change that it is run for; whoever works on
# the code has others with every run, and fewer. No example fails because the machine is busy.
settings.register_profile("unhurried", max_examples=25, deadline=None)
settings.register_profile("repeatable", derandomize=True, max_examples=50, deadline=None)
settings.load_profile("repeatable" if os.environ.get("BOT_REQUIRE_ALL") else "unhurried")


LONGEST = (
    "tests/hostile/community/",
    "tests/bot/submission/test_killed_at_the_end.py",
    "tests/bot/replay/test_environment_replay.py",
    "tests/bot/research/bench/test_bench_runs.py",
    "tests/bot/coder/lab/test_forty_turns.py",
    "tests/bot/simulator/test_coder_check.py",
    "tests/bot/replay/",
    "tests/chaos/",
    "tests/scrapers/kaggle/polling/",
    "tests/bot/cli/",
    "tests/bot/daemon/",
    "tests/bot/submission/",
)
"""What takes minutes, and folders whose tests are whole runs or wait for a clock."""


def pytest_configure(config: pytest.Config) -> None:
    """Install what pyproject.toml declares since the environment was made, before there are workers."""
    if not hasattr(config, "workerinput"):
        follow_pyproject()


def pytest_sessionstart() -> None:
    """Look for no garbage while tests are collected: it would be looked for among all modules, again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among what is there until the end."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, so that in the end no worker is kept waiting by one of them."""

    def place(item: pytest.Item) -> int:
        return next((place for place, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))

    items.sort(key=place)


@pytest.fixture(autouse=True, scope="session")
def own_leases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leases of this test process alone: tests beside it, and a bot of this machine, do not keep it waiting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOT_LEASES", str(tmp_path_factory.mktemp("leases")))
        yield


@pytest.fixture(autouse=True, scope="session")
def own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Folders without the environments, weights and keys of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(autouse=True, scope="session")
def roomy_disk() -> Iterator[None]:
    """Disks that have 10 GB more than there are, in this process: a run needs 2 GB, which tests of other things do not."""
    real, more = shutil.disk_usage, 10 * 10**9

    def usage(path: str | Path) -> Any:
        found = real(path)
        return found._replace(total=found.total + more, free=found.free + more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "disk_usage", usage)
        yield


@pytest.fixture(autouse=True, scope="session")
def workers_that_begin_at_once() -> Iterator[None]:
    """Half of a short test's processor time would be the imports of its workers."""
    with warm_workers():
        yield


@pytest.fixture
def snapshots() -> Path:
    """The folder of snapshots that BOT_SNAPSHOTS names."""
    return needs.snapshots()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each reason for skipping once, with how many tests it kept from running."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reasons[str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)] += 1
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason.removeprefix('Skipped: ')}")
