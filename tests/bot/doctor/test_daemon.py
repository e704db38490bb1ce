"""The doctor's checks of the daemon's folder, database, log and service, and how to fix each."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bot.configuration.daemon import DaemonSettings
from bot.doctor.daemon import check_daemon, check_daemon_database, check_service
from bot.execution.disk_space import DiskSettings
from bot.service.files import SERVICE, UNITS
from bot.service.systemd import service_state
from sandbox.locks import try_lock
from state.backup import back_up
from state.clock import SystemClock
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


def test_a_folder_that_is_not_there_yet_will_be_made(tmp_path: Path) -> None:
    (found,) = check_daemon(settings(tmp_path / "a" / "b"), ROOMY)
    (database,) = check_daemon_database(tmp_path / "a")
    assert (found.status, database.status) == ("ok", "ok")
    assert list(tmp_path.iterdir()) == []


def test_the_answer_notes_whether_a_daemon_runs(folder: Path) -> None:
    assert next(check_daemon(settings(folder), ROOMY)).result.startswith("no daemon is running in ")
    lock = try_lock(folder / "daemon.lock")
    assert lock is not None
    try:
        assert next(check_daemon(settings(folder), ROOMY)).result.startswith("a daemon is running in ")
    finally:
        lock.release()


def test_a_folder_that_others_may_read_is_a_warning(folder: Path) -> None:
    folder.chmod(0o755)
    (found,) = check_daemon(settings(folder), ROOMY)
    assert (found.status, (found.fix or "").startswith(f"run chmod 700 {folder}")) == ("warning", True)


def test_a_disk_without_room_fails(folder: Path) -> None:
    (found,) = check_daemon(settings(folder), DiskSettings(free_gb=1e9))
    assert (found.status, "bot prune" in (found.fix or "")) == ("fails", True)


def test_a_folder_that_may_not_be_written_fails() -> None:
    # Not even root may write there.
    (found,) = check_daemon(settings(Path("/proc/sys/kernel/kaggle-bot")), ROOMY)
    assert found.status == "fails"
    assert "set dir under [daemon]" in (found.fix or "")


def test_a_sound_database_is_left_as_it_is(folder: Path) -> None:
    before = (folder / "bot.db").read_bytes()
    (found,) = check_daemon_database(folder)
    assert (found.status, found.result) == ("ok", "sound")
    assert (folder / "bot.db").read_bytes() == before


def test_a_database_of_another_version_fails(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "bot.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 9999")
    (found,) = check_daemon_database(folder)
    assert (found.status, "by another version" in found.result) == ("fails", True)


def test_a_damaged_database_fails_and_so_does_one_that_is_gone(folder: Path) -> None:
    path = folder / "bot.db"
    with Store.open(path, SystemClock()) as store:
        copy = back_up(store)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    for state in ("is damaged", "gone"):
        (found,) = check_daemon_database(folder)
        assert (found.status, state in found.result) == ("fails", True)
        assert f"cp -p {copy} {path}" in found.result
        path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("state", "status", "fix"),
    [
        (("active", []), "ok", None),
        (("active", ["systemd restarted it"]), "warning", "systemd restarted it"),
        (("inactive", []), "warning", "`bot service status` shows why"),
        (("failed", []), "fails", "`bot service status` shows why"),
    ],
)
def test_a_service_that_does_not_run_well_has_a_fix(state: tuple[str, list[str]], status: str, fix: str | None) -> None:
    (found,) = check_service(state)
    assert (found.status, found.result, found.fix) == (status, state[0], fix)


def test_a_service_that_is_not_installed_is_not_mentioned() -> None:
    if (UNITS / SERVICE).exists():
        pytest.skip("it is installed here")
    assert service_state() is None
    assert list(check_service(None)) == []
