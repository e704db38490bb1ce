"""`bot service`, as far as no systemd is needed; tests/systemd tries it on one that runs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.configuration import read_settings
from bot.service.layout import Layout
from state.errors import UsageError


def service(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["service", *map(str, arguments)], catch_exceptions=False)


def changes(*arguments: object) -> list[str]:
    found: list[str] = json.loads(service(*arguments, "--json").stdout)["changes"]
    return found


def test_install_says_what_it_changes_and_then_that_there_is_nothing_to_change(tmp_path: Path) -> None:
    first = service("install", "--root", tmp_path).stdout.splitlines()
    assert f"write {tmp_path}/etc/systemd/system/kaggle-bot.service" in first
    assert service("install", "--root", tmp_path).stdout == "everything is up to date: nothing to change\n"


def test_the_configuration_that_it_begins_with_is_right_and_names_the_services_folder(tmp_path: Path) -> None:
    service("install", "--root", tmp_path)
    assert read_settings(Layout(tmp_path).bot_toml).daemon.folder == Path("/var/lib/kaggle-bot")


def test_a_dry_run_is_shown_as_one(tmp_path: Path) -> None:
    lines = service("install", "--root", tmp_path / "machine", "--dry-run").stdout.splitlines()
    assert lines
    assert all(line.startswith("would ") for line in lines)
    assert not (tmp_path / "machine").exists()


def test_docker_and_gpus_are_chosen_and_given_up(tmp_path: Path) -> None:
    place = ("install", "--root", tmp_path)
    service(*place, "--docker", "--gpu")
    assert changes(*place) == []
    assert [line.rsplit("/", 1)[1] for line in changes(*place, "--no-gpu")] == ["gpu.conf"]
    assert len(changes(*place, "--no-docker")) == 4


def test_uninstall_says_what_stays(tmp_path: Path) -> None:
    service("install", "--root", tmp_path)
    assert "stay; --purge removes them" in service("uninstall", "--root", tmp_path).stdout
    assert changes("uninstall", "--root", tmp_path, "--purge") == [f"remove {tmp_path}/etc/kaggle-bot with its content"]


def test_where_systemd_does_not_run_there_is_no_service() -> None:
    if Path("/run/systemd/system").is_dir():
        pytest.skip("systemd runs here")
    with pytest.raises(UsageError, match="systemd does not run here"):
        service("status")
    with pytest.raises(UsageError, match="systemd does not run here"):
        service("install", "--program", "/bin/sh")


def test_a_program_in_a_home_folder_is_refused_before_anything_is_changed() -> None:
    with pytest.raises(UsageError, match="it lies in /home"):
        service("install", "--program", "/home/me/bot")
