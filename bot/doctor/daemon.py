"""Checks of the daemon: its folder, its database and backups, its log, its notifications and its systemd unit."""

import os
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.configuration.daemon import DaemonSettings
from bot.doctor import Check, nearest
from bot.execution.disk_space import DiskSettings, free_bytes
from bot.notify.services import open_services
from bot.notify.settings import NotifySection
from bot.service.layout import SERVICE
from bot.service.status import ServiceStatus
from bot.status.presence import is_running
from state import schema
from state.daily_backups import daily_backups
from state.errors import UsageError
from state.faults import backup_path
from state.integrity import connect, first_fault

_OLD = timedelta(days=2)


def check_daemon(settings: DaemonSettings, disk: DiskSettings) -> Check:
    """Check the daemon's folder: is it writable, who may read it, is there room, and does a daemon run?"""
    part, folder = "daemon", settings.folder
    there = nearest(folder)
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(part, "fails", f"{folder} is not writable", f"make {there} this user's, or set dir under [daemon]")
    free = free_bytes(folder) / 1e9
    if free < disk.free_gb:
        found = f"the disk of {folder} has {free:.1f} GB free, and {disk.free_gb:g} GB are wanted"
        return Check(part, "fails", found, f"make room (bot prune {folder / 'runs'}), or set dir under [daemon]")
    if not folder.is_dir():
        return Check(part, "ok", f"{folder} is created when `bot run` starts; {free:.1f} GB free")
    state = "a daemon runs" if is_running(folder) else "no daemon runs"
    found = f"{state} in {folder}; {free:.1f} GB free"
    if folder.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
        fix = f"chmod 700 {folder}: it holds what competitors wrote and answers that were paid for"
        return Check(part, "warning", f"{found}; others may read it", fix)
    return Check(part, "ok", found)


def check_daemon_database(folder: Path) -> Check:
    """Check the structure of the daemon's database and its version, without changing it."""
    part, path = "bot.db", folder / "bot.db"
    restore = f"stop the daemon, then: bot restore {path}"
    if not path.is_file():
        if backup_path(path).exists():
            return Check(part, "fails", f"{path} is gone, and its backup is there", restore)
        return Check(part, "ok", f"{path} is created when `bot run` starts")
    if not os.access(path, os.R_OK | os.W_OK):
        return Check(part, "warning", f"{path} is another user's, and was not checked", "run the doctor as that user")
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA query_only=ON")
            fault = first_fault(connection)
            version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        return Check(part, "fails", f"{path} cannot be read: {error}", restore)
    if fault is not None:
        return Check(part, "fails", f"{path} is damaged: {fault}", restore)
    if version != schema.VERSION:
        found = f"{path} was made by another version of this program (schema {version}, this one has {schema.VERSION})"
        return Check(part, "fails", found, "use the version that made it")
    return Check(part, "ok", f"sound, {path.stat().st_size / 1e6:.0f} MB, schema {version}")


def check_backups(folder: Path, now: datetime) -> Check:
    """Check the age of the newest backup of the daemon's database."""
    part, path = "backups", folder / "bot.db"
    daily = daily_backups(path)
    files = [file for file in (*daily, backup_path(path)) if file.is_file()]
    if not path.is_file() and not files:
        return Check(part, "ok", "none are needed before there is a database")
    if not files:
        fix = "they are made while the daemon runs: start it; does its log, or `bot logs`, name a backup that failed?"
        return Check(part, "warning", f"there is none of {path}", fix)
    newest = max(datetime.fromtimestamp(file.stat().st_mtime, UTC) for file in files)
    size = sum(file.stat().st_size for file in files) / 1e6
    found = f"{len(daily)} daily; the newest of {newest:%Y-%m-%d %H:%M} UTC; {size:.0f} MB"
    if now - newest > _OLD and is_running(folder):
        return Check(part, "warning", found, "a daemon runs and makes none: `bot logs` shows why, such as a full disk")
    return Check(part, "ok", found)


def check_log_file(settings: DaemonSettings) -> Check | None:
    """Check whether the log file can be written; None if none is configured."""
    if settings.log_file is None:
        return None
    part, file = "log file", settings.log_file
    fix = f"create {file.parent} with write permission for the bot's user, or remove log_file from [daemon]"
    if file.is_dir() or (file.exists() and not os.access(file, os.W_OK)):
        return Check(part, "fails", f"{file} is not writable", fix)
    there = nearest(file.parent)
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(part, "fails", f"{file} cannot be created", fix)
    most = settings.log_file_mb * (settings.log_files + 1)
    return Check(part, "ok", f"{file}, with earlier ones up to {most:g} MB")


def check_notify(settings: NotifySection) -> Check:
    """Check the services' addresses; nothing is sent."""
    if not settings.services:
        fix = 'name services under [notify] in bot.toml, such as services = ["SLACK_URL"], then bot notify test'
        return Check("notifications", "warning", "none configured: the owner gets no notices", fix)
    try:
        services = open_services(settings)
    except UsageError as error:
        return Check("notifications", "fails", "a service cannot be used", str(error))
    return Check("notifications", "ok", ", ".join(f"{name}: {one.shown}" for name, one in services.items()))


def check_service(found: ServiceStatus | None) -> Check | None:
    """Report the status of the service; None if there is no systemd, or the service is not installed."""
    if found is None or not found.installed:
        return None
    part = "service"
    if found.problems:
        return Check(part, "fails" if found.failed else "warning", found.state, "; ".join(found.problems))
    if found.restarts:
        why = f"journalctl -u {SERVICE} -e shows why"
        return Check(part, "warning", f"{found.state}, restarted {found.restarts} times by systemd", why)
    return Check(part, "ok", found.state)
