"""What a test needs from the machine: skip with a reason where it is absent, or fail under BOT_REQUIRE_ALL=1."""

import os
import shutil
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip the test with this reason; fail it instead where everything is required."""
    if os.environ.get("BOT_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def snapshots() -> Path:
    """Return the folder of snapshots that BOT_SNAPSHOTS names."""
    name = os.environ.get("BOT_SNAPSHOTS")
    if not name:
        missing("BOT_SNAPSHOTS is not set: it names a folder of snapshots")
    if not Path(name).is_dir():
        missing(f"BOT_SNAPSHOTS names no folder: {name}")
    return Path(name)


def chromium() -> str:
    """Return the path of a Chromium browser."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    missing("no Chromium here (Debian package chromium)")


def systemd_analyze() -> str:
    """Return the path of the program that checks units."""
    path = shutil.which("systemd-analyze")
    if path:
        return path
    missing("no systemd-analyze here (Debian package systemd)")


def bubblewrap() -> None:
    """Return if bubblewrap is installed and works here, which is found out by running it once."""
    problem = _bubblewrap_problem()
    if problem:
        missing(problem)


def docker() -> None:
    """Return if a Docker engine answers, the image is there, and a script runs in it."""
    problem = _docker_problem()
    if problem:
        missing(problem)


def duckdb() -> None:
    """Return if DuckDB is installed, which is an extra."""
    if find_spec("duckdb") is None:
        missing("no DuckDB here: pip install 'kaggle-bot[meta-kaggle]'")


def root() -> None:
    """Return if the tests run as root."""
    if os.geteuid() != 0:
        missing("only root can do this")


@lru_cache(maxsize=1)
def _bubblewrap_problem() -> str | None:
    from sandbox.bubblewrap import BubblewrapSandbox  # here, so that other tests need not load it

    return BubblewrapSandbox().problem()


@lru_cache(maxsize=1)
def _docker_problem() -> str | None:
    from sandbox.docker import DockerSandbox

    return DockerSandbox("tests").problem()
