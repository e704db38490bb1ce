"""What holds for the project as a whole: its lock files, its imports, its size."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.source_tree import PACKAGES, ROOT, sources

LOCKS = ("requirements.lock", "requirements-dev.lock")
LARGEST = 700_000_000
"""Bytes that the run-time environment may take."""
FOR_SCRIPTS = {"lightgbm", "xgboost", "catboost"}
"""What the portfolio's script imports where its environment has it."""
HEAVY = ("matplotlib", "numpy", "pandas", "scipy", "sklearn")
"""What only the worker process and the solutions import."""
APART = ("bs4", "markdownify", "ray")
"""What only the processes that clean posts import, and a run on a fleet."""
SERVING = ("markdown_it", "starlette", "uvicorn")
"""What only a command that serves something imports."""
FOR_SOLUTIONS = {"matplotlib", "numpy", "pandas", "pillow", "scikit-learn", "scipy"}
"""What scripts may count on; they run in the same environment."""
FOR_OTHERS = {"six"}
"""What the kaggle package imports without declaring it."""
FOR_PEOPLE = {"kaggle"}
"""Kaggle's own command, which is there beside the bot's: it reaches the real site and the stand-in alike."""


def locked(name: str) -> list[Requirement]:
    """Return the lines of a lock file that hold for this Python and system."""
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    pinned = [Requirement(line) for line in lines if line]
    return [one for one in pinned if one.marker is None or one.marker.evaluate()]


def project() -> dict[str, list[str]]:
    content: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    own, groups = content["project"], content["dependency-groups"]
    return {"requirements.lock": own["dependencies"], **groups}


@pytest.mark.parametrize("name", LOCKS)
def test_lock_files_hold_pinned_packages_and_no_addresses_or_paths(name: str) -> None:
    lines = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    pinned = re.compile(r"[a-z0-9][a-z0-9._-]*==[0-9][A-Za-z0-9.+]*( ; [^#]+)?( +# via [^#:/]+(:dev)?[^#:/]*)*")
    assert [line for line in lines if not pinned.fullmatch(line)] == []
    assert "://" not in "".join(lines)


@pytest.mark.parametrize(
    ("name", "group"), [("requirements.lock", "requirements.lock"), ("requirements-dev.lock", "dev")]
)
def test_everything_declared_is_locked_at_a_version_that_will_do(name: str, group: str) -> None:
    versions = {canonicalize_name(one.name): next(iter(one.specifier)).version for one in locked(name)}
    wanted = [Requirement(text) for text in project()[group]]
    unmet = [
        str(one)
        for one in wanted
        if (one.marker is None or one.marker.evaluate())
        and not (
            canonicalize_name(one.name) in versions and Version(versions[canonicalize_name(one.name)]) in one.specifier
        )
    ]
    assert unmet == [], "run `make lock`"


def test_no_package_stands_in_both_locks_at_two_versions() -> None:
    run, dev = ({one.name: str(one.specifier) for one in locked(name)} for name in LOCKS)
    assert {name for name in run.keys() & dev.keys() if run[name] != dev[name]} == set()


def test_the_run_time_environment_is_light_and_without_torch() -> None:
    names = [one.name for one in locked("requirements.lock")]
    assert [name for name in names if re.match(r"torch|nvidia(?!-ml-py)|triton|cuda|tensorflow", name)] == []
    files = {Path(str(file.locate())) for name in names for file in metadata.distribution(name).files or ()}
    size = sum(path.stat().st_size for path in files if path.is_file())
    assert 50_000_000 < size < LARGEST


def test_every_foreign_import_is_of_a_declared_dependency_and_none_is_declared_in_vain() -> None:
    owners = metadata.packages_distributions()
    declared = {canonicalize_name(Requirement(text).name) for text in project()["requirements.lock"]}
    found = {
        name: {canonicalize_name(owner) for owner in owners.get(name, ())}
        for path in sources(ROOT)
        for name in _imported(path)
        if name not in sys.stdlib_module_names and name not in PACKAGES
    }
    # pydantic's own other half, pinned by it to one version
    del found["pydantic_core"]
    # What an extra brings is loaded by a process apart, or where a fleet is named, and is not installed with the bot.
    extras = {"duckdb", "sentence_transformers", "ray", *FOR_SCRIPTS}
    assert {name for name, of in found.items() if not of & declared} - extras == set()
    assert declared - set().union(*found.values()) - FOR_SOLUTIONS - FOR_OTHERS - FOR_PEOPLE == set()


def test_the_bots_own_process_starts_without_heavy_libraries() -> None:
    working = ["bot.daemon.service", "bot.replay.run", "bot.fleet.leases"]
    places = [f"bot.cli.{path.stem}" for path in (ROOT / "bot" / "cli").glob("[a-z]*.py")]
    loaded = "print(sorted(set({!r}) & set(sys.modules)))\n"
    imports = "for name in {!r}:\n    importlib.import_module(name)\n"
    done = _python(
        "import importlib, sys\n"
        + imports.format(working)
        + loaded.format(APART)
        + imports.format(places)
        + loaded.format((*HEAVY, *SERVING, "ray"))
    )
    assert done.stdout.split() == ["[]", "[]"], done.stdout + done.stderr


def _imported(path: Path) -> set[str]:
    """Return the top-level names that a file imports absolutely, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def _python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, in the checkout's root."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
