"""Checks of the daemon's own: its folder, its database and the backups of it, its log, its unit of systemd."""

import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.configuration.daemon import DaemonSettings
from bot.doctor import Check
from bot.runs.disk import DiskSettings, free_bytes
from bot.status.presence import is_running
from state import schema
from state.checking import connect, first_fault
from state.daily import daily_backups
from state.faults import backup_path

__all__ = ["check_backups", "check_daemon", "check_daemon_database", "check_log_file", "check_service", "shown_service"]

UNIT = "kaggle-bot.service"
_OLD = timedelta(days=2)
_ASKED = "LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts"
_BAD_CONFIGURATION = "78"
_SECONDS = 20.0


def check_daemon(settings: DaemonSettings, disk: DiskSettings) -> Check:
    """Look at the daemon's folder: may it be written, by whom read, and is there room; and does a daemon run?"""
    part, folder = "daemon", settings.folder
    there = folder
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(
            part, "fails", f"{folder} may not be written", f"make {there} this user's, or set dir under [daemon]"
        )
    free = free_bytes(folder) / 1e9
    if free < disk.free_gb:
        found = f"the disk of {folder} has {free:.1f} GB free, and {disk.free_gb:g} GB are wanted"
        return Check(part, "fails", found, f"make room (bot prune {folder / 'runs'}), or set dir under [daemon]")
    if not folder.is_dir():
        return Check(part, "ok", f"{folder} is made when `bot run` starts; {free:.1f} GB free")
    state = "a daemon runs" if is_running(folder) else "no daemon runs"
    found = f"{state} in {folder}; {free:.1f} GB free"
    if folder.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
        mend = f"chmod 700 {folder}: what competitors wrote and what was bought lies there"
        return Check(part, "warning", f"{found}; others may read it", mend)
    return Check(part, "ok", found)


def check_daemon_database(folder: Path) -> Check:
    """Look at the structure of the daemon's database and at which version made it, without changing it."""
    part, path = "bot.db", folder / "bot.db"
    restore = f"stop the daemon, then: bot restore {path}"
    if not path.is_file():
        if backup_path(path).exists():
            return Check(part, "fails", f"{path} is gone, and its backup is there", restore)
        return Check(part, "ok", f"{path} is made when `bot run` starts")
    if not os.access(path, os.R_OK | os.W_OK):
        return Check(part, "warning", f"{path} is another user's, and was not looked at", "run the doctor as that user")
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA query_only=ON")
            fault = first_fault(connection)
            version = _version(connection)
    except sqlite3.Error as error:
        return Check(part, "fails", f"{path} cannot be read: {error}", restore)
    if fault is not None:
        return Check(part, "fails", f"{path} is damaged: {fault}", restore)
    if version is None or version > schema.HEAD:
        found = f"{path} was made by a newer version (schema {version}, this one knows {schema.HEAD})"
        return Check(part, "fails", found, "upgrade the program")
    later = "" if version == schema.HEAD else f", which becomes {schema.HEAD} when it is next opened"
    return Check(part, "ok", f"sound, {path.stat().st_size / 1e6:.0f} MB, schema {version}{later}")


def check_backups(folder: Path, now: datetime) -> Check:
    """Look at the age of the newest backup of the daemon's database."""
    part, path = "backups", folder / "bot.db"
    daily = daily_backups(path)
    files = [file for file in (*daily, backup_path(path)) if file.is_file()]
    if not path.is_file() and not files:
        return Check(part, "ok", "none are needed before there is a database")
    if not files:
        mend = "they are made while the daemon runs: start it; does its log or `bot logs` tell of a backup that failed?"
        return Check(part, "warning", f"there is none of {path}", mend)
    newest = max(datetime.fromtimestamp(file.stat().st_mtime, UTC) for file in files)
    size = sum(file.stat().st_size for file in files) / 1e6
    found = f"{len(daily)} daily; the newest of {newest:%Y-%m-%d %H:%M} UTC; {size:.0f} MB"
    if now - newest > _OLD and is_running(folder):
        return Check(part, "warning", found, "a daemon runs and makes none: `bot logs` tells why, such as a full disk")
    return Check(part, "ok", found)


def check_log_file(settings: DaemonSettings) -> Check | None:
    """Look at whether the log file can be written; None where none is configured."""
    if settings.log_file is None:
        return None
    part, file = "log file", settings.log_file
    mend = f"make {file.parent} with write permission for the bot's user, or take log_file out of [daemon]"
    if file.is_dir() or (file.exists() and not os.access(file, os.W_OK)):
        return Check(part, "fails", f"{file} may not be written", mend)
    there = file.parent
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(part, "fails", f"{file} cannot be made", mend)
    most = settings.log_file_mb * (settings.log_files + 1)
    return Check(part, "ok", f"{file}, with earlier ones up to {most:g} MB")


def check_service(asked: Callable[[], Mapping[str, str] | None]) -> Check | None:
    """Say how systemd sees the service; None where there is no systemd, or the service is not installed.

    Args:
        asked: returns the properties of the unit; None: nobody could be asked. See `shown_service`.
    """
    found = asked()
    if found is None or found.get("LoadState") == "not-found":
        return None
    part, state = "service", f"{found.get('ActiveState')} ({found.get('SubState')})"
    if found.get("LoadState") != "loaded":
        return Check(part, "fails", f"systemd cannot load {UNIT}", f"systemd-analyze verify {UNIT}")
    if found.get("ActiveState") == "failed":
        status = found.get("ExecMainStatus")
        if status == _BAD_CONFIGURATION:
            return Check(
                part, "fails", "it ended as its configuration is wrong", "bot config check, then start it again"
            )
        why = f"{state}: {found.get('Result')}, exit status {status}"
        return Check(part, "fails", why, f"journalctl -u {UNIT} -e shows its last words; systemctl restart {UNIT}")
    if found.get("ActiveState") != "active":
        return Check(part, "warning", state, f"systemctl start {UNIT}")
    restarts = found.get("NRestarts", "0")
    if restarts not in ("", "0"):
        mend = f"journalctl -u {UNIT} -e shows why"
        return Check(part, "warning", f"{state}, restarted {restarts} times by systemd", mend)
    return Check(part, "ok", state)


def shown_service() -> Mapping[str, str] | None:
    """Ask systemd of this machine about the service; None where there is none, or it does not answer."""
    program = shutil.which("systemctl")
    if program is None or not Path("/run/systemd/system").is_dir():
        return None
    command = [program, "show", UNIT, f"--property={_ASKED}", "--no-pager"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {name: value for name, _, value in pairs} if done.returncode == 0 else None


def _version(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])
