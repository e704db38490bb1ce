"""The wheel: it builds, holds all that the packages need, and works where no checkout is."""

import random
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.source_tree import PACKAGES, ROOT, files, modules

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Installed:
    """The wheel, and a virtual environment that holds it."""

    wheel: Path
    packages: Path
    """The environment's site-packages."""
    programs: Path
    """Its bin folder."""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return its stdout; its stderr is shown where it fails."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel from a copy of the sources and install it; what it depends on is borrowed from this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "systemd", source / "systemd")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip")
    offline = ("--no-deps", "--no-index", "-q")
    run(*pip, "wheel", *offline, "--no-build-isolation", "-w", folder, source, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    run(*pip, "--python", environment / "bin" / "python", "install", *offline, wheel, cwd=folder)
    packages = next(environment.glob("lib/python*/site-packages"))
    # A folder named in a .pth file has its own .pth files ignored, so an editable installation there stays unseen.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return Installed(wheel, packages, environment / "bin")


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(installed: Installed) -> None:
    with ZipFile(installed.wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    units = {path.relative_to(ROOT / "systemd") for path in (ROOT / "systemd").rglob("*") if path.is_file()}
    wanted = {path.relative_to(ROOT).as_posix() for path in files(ROOT)}
    assert held == wanted | {f"bot/service/units/{path.as_posix()}" for path in units}
    assert {f"{package}/py.typed" for package in PACKAGES} <= held


def test_the_wheel_carries_its_licence(installed: Installed) -> None:
    with ZipFile(installed.wheel) as archive:
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())


def test_the_installed_command_writes_the_units(installed: Installed, tmp_path: Path) -> None:
    run(installed.programs / "bot", "service", "install", "--root", tmp_path, "--docker", "--gpu", cwd=tmp_path)
    unit = (tmp_path / "etc/systemd/system/kaggle-bot.service").read_text(encoding="utf-8")
    assert unit == (ROOT / "systemd" / "kaggle-bot.service").read_text(encoding="utf-8")


def test_every_module_imports_from_the_wheel_in_whatever_order(installed: Installed, tmp_path: Path) -> None:
    names = modules(installed.packages)
    assert names == modules(ROOT)
    random.Random(1).shuffle(names)
    code = (
        "import importlib\n"
        f"found = [importlib.import_module(name) for name in {names!r}]\n"
        f"print([m.__name__ for m in found if not m.__file__.startswith({str(installed.packages)!r})])"
    )
    assert run(installed.programs / "python", "-P", "-c", code, cwd=tmp_path).strip() == "[]"


def test_the_installed_command_writes_the_demo_snapshot_and_finds_it_sound(installed, tmp_path) -> None:
    bot = installed.programs / "bot"
    run(bot, "snapshot", "demo", tmp_path / "demo", cwd=tmp_path)
    run(bot, "snapshot", "check", tmp_path / "demo", cwd=tmp_path)
