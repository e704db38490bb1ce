"""`bot service`, as far as no systemd is needed; tests/systemd tries it on one that runs."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.configuration import read_settings
from state.errors import UsageError


def service(*arguments: object) -> None:
    CliRunner().invoke(app, ["service", *map(str, arguments)], catch_exceptions=False)


def test_install_writes_units_and_a_first_configuration_that_names_the_services_folder(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        service("install", "--root", tmp_path / "machine", "--docker")
    finally:
        os.umask(before)
    units, configuration = (tmp_path / "machine/etc" / name for name in ("systemd/system", "kaggle-bot"))
    assert "ExecStart=/opt/kaggle-bot/bin/bot run" in (units / "kaggle-bot.service").read_text()
    assert (units / "kaggle-bot.service.d" / "docker.conf").is_file()
    assert read_settings(configuration / "bot.toml").daemon.folder == Path("/var/lib/kaggle-bot")
    assert (configuration / "bot.toml").stat().st_mode & 0o777 == 0o644, "whatever root's umask is"


@pytest.mark.parametrize("arguments", [("status",), ("uninstall",), ("install", "--program", "/bin/sh")])
def test_where_systemd_does_not_run_there_is_no_service(arguments: tuple[str, ...]) -> None:
    if Path("/run/systemd/system").is_dir():
        pytest.skip("systemd runs here")
    with pytest.raises(UsageError, match="systemd is not running here"):
        service(*arguments)


def test_a_program_in_a_home_folder_is_refused_before_anything_is_changed() -> None:
    with pytest.raises(UsageError, match="cannot use /home/me/bot"):
        service("install", "--program", "/home/me/bot")
