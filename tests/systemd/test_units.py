"""What systemd itself says of the units, with and without each drop-in: no mistake, and at most 3.0 of exposure."""

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.service.files import PRUNE, SERVICE, TIMER, UNITS, rebase
from tests import needs

HIGHEST = 3.0
"""Of 10, by `systemd-analyze security`."""
VARIANTS = ([], ["--docker"], ["--gpu"], ["--docker", "--gpu"])


def installed(folder: Path, *options: str) -> Path:
    """Install below a folder a program that is there, as systemd wants it; return where the units lie."""
    program = folder / "bot"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    arguments = ["service", "install", "--root", str(folder), "--program", str(program), *options]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return rebase(folder, UNITS)


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [needs.systemd_analyze(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def verify(unit: Path) -> subprocess.CompletedProcess[str]:
    # By default it returns 0 where a key is unknown, and only says so.
    return analyze("verify", "--recursive-errors=no", "--man=no", unit)


def exposure(unit: Path) -> float:
    said = analyze("security", "--offline=true", unit)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said.stdout)
    assert found, said
    return float(found[1])


@pytest.mark.parametrize("options", VARIANTS, ids=" ".join)
def test_systemd_finds_nothing_wrong(tmp_path: Path, options: list[str]) -> None:
    units = installed(tmp_path, *options)
    for name in (SERVICE, PRUNE, TIMER):
        done = verify(units / name)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("options", VARIANTS, ids=" ".join)
def test_little_is_exposed(tmp_path: Path, options: list[str]) -> None:
    units = installed(tmp_path, *options)
    assert exposure(units / SERVICE) <= HIGHEST
    assert exposure(units / PRUNE) <= 1.0


@pytest.mark.parametrize("wrong", ["WatchDogSec=2min", "ExecStartPre=/no/such/program", "SystemCallFilter=@sytem"])
def test_systemd_finds_what_is_wrong_in_a_drop_in_of_ours(tmp_path: Path, wrong: str) -> None:
    units = installed(tmp_path, "--docker")
    drop_in = units / f"{SERVICE}.d" / "docker.conf"
    drop_in.write_text(f"{drop_in.read_text()}{wrong}\n")
    done = verify(units / SERVICE)
    assert done.returncode != 0 or done.stderr


def test_a_unit_without_hardening_would_be_too_exposed(tmp_path: Path) -> None:
    unit = tmp_path / SERVICE
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    assert exposure(unit) > 9
