"""The doctor's checks of the daemon's folder, database, backups, log and unit, and how to fix each."""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.configuration.daemon import DaemonSettings
from bot.doctor.daemon import (
    check_backups,
    check_daemon,
    check_daemon_database,
    check_log_file,
    check_service,
)
from bot.execution.disk_space import DiskSettings
from bot.service.status import ServiceStatus, status_here
from sandbox.locks import take
from state.clock import SystemClock
from state.daily_backups import daily_backup
from state.faults import backup_path
from state.schema import VERSION
from state.store import Store

ROOMY = DiskSettings(free_gb=0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a daemon that has run."""
    folder = tmp_path / "bot"
    folder.mkdir(mode=0o700)
    Store.open(folder / "bot.db", SystemClock()).close()
    return folder


def settings(folder: Path, **more: object) -> DaemonSettings:
    return DaemonSettings.model_validate({"dir": folder, **more})


def age(file: Path, **span: float) -> None:
    then = (datetime.now(UTC) - timedelta(**span)).timestamp()
    os.utime(file, (then, then))


def test_a_folder_that_is_not_there_yet_will_be_made(tmp_path: Path) -> None:
    found = check_daemon(settings(tmp_path / "a" / "b"), ROOMY)
    assert (found.status, "is made when `bot run` starts" in found.found) == ("ok", True)
    assert (
        check_daemon_database(tmp_path / "a").status == check_backups(tmp_path / "a", datetime.now(UTC)).status == "ok"
    )
    assert list(tmp_path.iterdir()) == []


def test_it_is_said_whether_a_daemon_runs(folder: Path) -> None:
    assert check_daemon(settings(folder), ROOMY).found.startswith("no daemon runs in ")
    lock = take(folder / "daemon.lock")
    assert lock is not None
    try:
        assert check_daemon(settings(folder), ROOMY).found.startswith("a daemon runs in ")
    finally:
        lock.release()


def test_a_folder_that_others_may_read_is_a_warning(folder: Path) -> None:
    folder.chmod(0o755)
    found = check_daemon(settings(folder), ROOMY)
    assert (found.status, (found.fix or "").startswith(f"chmod 700 {folder}")) == ("warning", True)


def test_a_disk_without_room_fails(folder: Path) -> None:
    found = check_daemon(settings(folder), DiskSettings(free_gb=1e9))
    assert (found.status, "bot prune" in (found.fix or "")) == ("fails", True)


def test_a_folder_that_may_not_be_written_fails() -> None:
    # Not even root may write there.
    found = check_daemon(settings(Path("/proc/sys/kernel/kaggle-bot")), ROOMY)
    assert found.status == "fails"
    assert "set dir under [daemon]" in (found.fix or "")


def test_a_sound_database_is_left_as_it_is(folder: Path) -> None:
    before = (folder / "bot.db").read_bytes()
    found = check_daemon_database(folder)
    assert (found.status, found.found.endswith(f"schema {VERSION}")) == ("ok", True)
    assert (folder / "bot.db").read_bytes() == before


def test_a_database_of_another_version_fails(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "bot.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 9999")
    found = check_daemon_database(folder)
    assert (found.status, "by another version" in found.found) == ("fails", True)


def test_a_damaged_database_fails_and_so_does_one_that_is_gone(folder: Path) -> None:
    path = folder / "bot.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    for state in ("is damaged", "is gone"):
        found = check_daemon_database(folder)
        assert (found.status, state in found.found or "cannot be read" in found.found) == ("fails", True)
        assert f"bot restore {path}" in (found.fix or "")
        path.unlink(missing_ok=True)
        backup_path(path).write_bytes(whole)


def test_backups_are_counted_and_old_ones_are_a_warning_while_a_daemon_runs(folder: Path) -> None:
    now = datetime.now(UTC)
    assert check_backups(folder, now).status == "warning"
    with Store.open(folder / "bot.db", SystemClock()) as store:
        made = daily_backup(store)
    found = check_backups(folder, now)
    assert (found.status, found.found.startswith("1 daily; the newest of ")) == ("ok", True)
    age(made.path, days=3)
    age(backup_path(folder / "bot.db"), days=3) if backup_path(folder / "bot.db").exists() else None
    assert check_backups(folder, now).status == "ok", "nobody makes any while none runs"
    lock = take(folder / "daemon.lock")
    assert lock is not None
    try:
        assert check_backups(folder, now).status == "warning"
    finally:
        lock.release()


def test_a_log_file_is_checked_where_there_is_one(tmp_path: Path) -> None:
    assert check_log_file(settings(tmp_path)) is None
    found = check_log_file(settings(tmp_path, log_file=tmp_path / "log" / "bot.log", log_file_mb=2, log_files=3))
    assert found is not None
    assert (found.status, found.found) == ("ok", f"{tmp_path}/log/bot.log, with earlier ones up to 8 MB")
    for wrong in (tmp_path, Path("/proc/sys/kernel/bot.log")):
        failing = check_log_file(settings(tmp_path, log_file=wrong))
        assert failing is not None and failing.status == "fails"


def service(state: str, restarts: int = 0, *problems: str) -> ServiceStatus:
    """The status of a service that is installed."""
    return ServiceStatus(
        installed=True,
        active=state.startswith("active"),
        state=state,
        status_text="",
        since="",
        restarts=restarts,
        starts_with_machine=True,
        process=None,
        memory_bytes=None,
        failed=state.startswith("failed"),
        problems=problems,
        drop_ins=(),
        credentials=None,
        next_prune="",
    )


def test_without_systemd_or_a_unit_nothing_is_said() -> None:
    assert check_service(None) is None
    assert check_service(replace(service("inactive (dead)"), installed=False)) is None


@pytest.mark.parametrize(
    ("found", "status", "mend"),
    [
        (service("active (running)"), "ok", None),
        (service("active (running)", 3), "warning", "journalctl"),
        (service("inactive (dead)", 0, "it does not run: `systemctl start`"), "warning", "systemctl start"),
        (service("failed (failed)", 0, "the configuration is wrong"), "fails", "the configuration is wrong"),
    ],
)
def test_each_state_of_the_unit_says_what_to_do(found: ServiceStatus, status: str, fix: str | None) -> None:
    check = check_service(found)
    assert check is not None
    assert (check.status, found.state in check.found) == (status, True)
    assert fix is None if check.fix is None else (fix or "") in check.fix


def test_asking_systemd_gives_a_status_or_nothing() -> None:
    found = status_here()
    assert found is None or isinstance(found.state, str)
