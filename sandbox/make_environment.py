"""Makes an environment for scripts: by uv, or by pip where that is configured."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from sandbox.environments import LISTS, PLAIN_NAME, PYTHON, VERSIONS, Group, Record, ScriptEnvironment, environments_in
from sandbox.launch import ended_with_us
from sandbox.locks import holding
from state.errors import InfrastructureFailure, UsageError
from state.files import write_whole

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ROOM_GB = 2.0
"""Gigabytes that must stay free beside it."""
_IN_USE = "another `bot env` command is using the environment {name}: wait until it ends, or stop it"
_GIGABYTES = {"tabular": 1.6, "text": 0.5, "vision": 0.5, "audio": 0.2}
_TORCH_GIGABYTES = {False: 0.7, True: 4.5}


@dataclass(frozen=True)
class Recipe:
    """What goes into an environment, and by which installer."""

    groups: tuple[Group, ...]
    cuda: bool
    requirements: Path | None
    """A requirements file with more packages; its versions take precedence over ours."""
    installer: Literal["uv", "pip"]


def estimate_gigabytes(recipe: Recipe) -> float:
    """Estimate the disk it takes, without its `requirements`."""
    gigabytes = sum(_GIGABYTES[group] for group in recipe.groups)
    if set(recipe.groups) != {"tabular"}:
        gigabytes += _TORCH_GIGABYTES[recipe.cuda]
    return gigabytes


def configured_installer() -> Literal["uv", "pip"]:
    """Return pip if its configuration names an index or a folder of wheels, which uv does not read; else uv."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    match = re.search(r"\.(index-url|extra-index-url|find-links)=", result.stdout)
    return "pip" if result.returncode == 0 and match else "uv"


def make_environment(folder: Path, name: str, recipe: Recipe) -> ScriptEnvironment:
    """Make an environment; the installer shows its progress on stderr.

    An incomplete one is made from scratch, as a half-installed package looks like a whole one. Most of the time goes into
    downloads, which uv and pip keep.

    Raises:
        UsageError: The name will not do, it or something else is there already, somebody else is making it, or the
            disk has no room.
        InfrastructureFailure: The installer failed.
    """
    if not re.match(PLAIN_NAME, name):
        raise UsageError(f"{name!r} is not a valid environment name: use letters, digits, dots and dashes")
    folder.mkdir(parents=True, exist_ok=True)
    with holding(folder / f".{name}.lock", _IN_USE.format(name=name), remove=True):
        if name in {environment.name for environment in environments_in(folder)[0]}:
            raise UsageError(
                f"the environment {name} already exists: run `bot env remove {name}` first, or choose another name"
            )
        _ensure_ours(folder / name)
        free, needed_gb = shutil.disk_usage(folder).free / 1e9, estimate_gigabytes(recipe) + _ROOM_GB
        if free < needed_gb:
            raise UsageError(f"{folder} has {free:.1f} GB free, but {needed_gb:.1f} GB are required")
        return _make(folder / name, recipe)


def remove_environment(folder: Path, name: str) -> None:
    """Remove an environment, complete or not.

    Raises UsageError: there is none of that name, somebody is making it, or something keeps it from being removed.
    """
    path = folder / name
    if name not in {*(environment.name for environment in environments_in(folder)[0]), *environments_in(folder)[1]}:
        raise UsageError(f"environment {name} not found in {folder}")
    with holding(folder / f".{name}.lock", _IN_USE.format(name=name), remove=True):
        _ensure_ours(path)
        try:
            ScriptEnvironment.record_file(path).unlink(missing_ok=True)  # what is half removed is not complete
            for part in path.iterdir():
                if part.is_dir() and not part.is_symlink():
                    shutil.rmtree(part)
            shutil.rmtree(path)  # with the file by which it is known for ours, so that removing it can be done again
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(
                f"{path} cannot be removed: {reason}. If pip or a script is still writing to it, stop that process and "
                "try again"
            ) from error


def _make(path: Path, recipe: Recipe) -> ScriptEnvironment:
    start = time.monotonic()
    from uv import find_uv_bin

    uv = str(find_uv_bin())
    python = f"{PYTHON[0]}.{PYTHON[1]}"
    interpreter = str(Path(sys.executable).resolve()) if sys.version_info[:2] == PYTHON else python
    _run([uv, "venv", "--quiet", "--clear", "--python", interpreter, str(path)], path.parent)
    packages = _requirements(recipe)
    pins = path / "constraints.txt"
    pins.write_text("\n".join(constraints(recipe)), encoding="utf-8")
    options = ["--constraint", str(pins), *packages]
    if recipe.requirements:
        options += ["--requirement", str(recipe.requirements)]
    executable = str(path / "bin" / "python")
    if recipe.installer == "pip":
        command = [sys.executable, "-m", "pip", "--python", executable, "install", "--no-input", *options]
    else:
        backend = () if recipe.cuda else ("--torch-backend", "cpu")
        command = [uv, "pip", "install", "--python", executable, "--compile-bytecode", *backend, *options]
    _run(command, path.parent)
    ask_version = [executable, "-c", "import platform; print(platform.python_version())"]
    version = subprocess.run(ask_version, capture_output=True, text=True, check=True).stdout.strip()
    names = [] if recipe.requirements is None else [name for name, _ in _entries(recipe.requirements)]
    record = Record(
        groups=recipe.groups,
        cuda=recipe.cuda,
        wanted=tuple(dict.fromkeys([*packages, *names])),
        python=version,
        installer=recipe.installer,
        bytes=sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir()),
        seconds=round(time.monotonic() - start, 1),
        made=datetime.now(UTC),
    )
    write_whole(ScriptEnvironment.record_file(path), record.model_dump_json(indent=2))
    return ScriptEnvironment(path, record)


def _requirements(recipe: Recipe) -> list[str]:
    names = [name for group in recipe.groups for name, _ in _entries(LISTS / f"{group}.in")]
    if "tabular" in recipe.groups:
        names.append("xgboost" if recipe.cuda else "xgboost-cpu")
    return sorted(set(names))


def constraints(recipe: Recipe) -> list[str]:
    """Return our versions, except those of packages that the owner's own file names."""
    own_names = set() if recipe.requirements is None else {_normal(name) for name, _ in _entries(recipe.requirements)}
    return [line for name, line in _entries(VERSIONS) if _normal(name) not in own_names]


def _entries(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the line of each package that a file asks for by name."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    for line in map(str.strip, lines):
        if (match := _NAME.match(line)) and "://" not in line.partition("@")[0]:
            yield match[0], line


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(command: Sequence[str], folder: Path) -> None:
    """Run an installer with its output on our stderr; a Python that uv downloads is stored beside the environments."""
    variables = {**os.environ, "UV_PYTHON_INSTALL_DIR": str(folder / ".python")}
    variables.pop("VIRTUAL_ENV", None)
    # Scripts may run as another user, which must be able to read the packages.
    result = subprocess.run(
        ended_with_us(command), stdin=subprocess.DEVNULL, stdout=2, env=variables, umask=0o022, check=False
    )
    if result.returncode:
        raise InfrastructureFailure(
            f"{Path(command[0]).name} failed with exit status {result.returncode}; see its output above. Downloads are "
            "cached: run the same command again to continue"
        )


def _ensure_ours(path: Path) -> None:
    if path.exists() and not (path / "pyvenv.cfg").is_file() and any(path.iterdir()):
        raise UsageError(f"{path} is not an environment created by the bot: move it, or choose another name")
