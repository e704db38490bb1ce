"""Checks of the daemon: its folder, database, log file, notifications and service."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from bot.configuration.daemon import DaemonSettings
from bot.doctor import Finding
from bot.execution.disk_space import DiskSettings, free_bytes, nearest
from bot.notify.services import open_services
from bot.notify.settings import NotifySection
from bot.status.lock import is_running
from state.clock import SystemClock
from state.errors import BotError, UsageError
from state.integrity import ensure_sound
from state.store import Store


def check_daemon(settings: DaemonSettings, disk: DiskSettings) -> Iterator[Finding]:
    """Check whether the daemon's folder is writable, has room and is closed to others."""
    part, folder = "daemon", settings.folder
    existing, free = nearest(folder), free_bytes(folder) / 1e9
    finding = f"{'a' if is_running(folder) else 'no'} daemon is running in {folder}; {free:.1f} GB free"
    if not os.access(existing, os.W_OK | os.X_OK):
        fix = f"make this user the owner of {existing}, or set dir under [daemon]"
        yield Finding(part, "fails", f"{folder} is not writable", fix)
    elif free < disk.free_gb:
        fix = f"at least {disk.free_gb:g} GB must be free: run bot prune {folder / 'runs'}, or set dir under [daemon]"
        yield Finding(part, "fails", finding, fix)
    elif folder.is_dir() and folder.stat().st_mode & 0o066:
        yield Finding(part, "warning", f"{finding}; other users can access the folder", f"run chmod 700 {folder}")
    else:
        yield Finding(part, "ok", finding)


def check_daemon_database(folder: Path) -> Iterator[Finding]:
    """Check the structure and the version of the daemon's database, without changing it."""
    path = folder / "bot.db"
    try:
        ensure_sound(path)
        if path.exists():
            Store.open_to_read(path, SystemClock()).close()
    except (BotError, OSError, sqlite3.Error) as error:
        yield Finding("bot.db", "fails", str(error), "stop the daemon before you restore a backup")
    else:
        yield Finding("bot.db", "ok", "sound" if path.exists() else "will be created when `bot run` starts")


def check_notify(settings: NotifySection) -> Iterator[Finding]:
    """Check the services' addresses; nothing is sent."""
    part = "notifications"
    try:
        services = open_services(settings)
    except UsageError as error:
        yield Finding(part, "fails", "a notification service cannot be used", str(error))
        return
    if services:
        yield Finding(part, "ok", ", ".join(f"{name}: {target.service}" for name, target in services.items()))
    else:
        fix = 'list services under [notify] in bot.toml, for example services = ["SLACK_URL"], then run bot notify test'
        yield Finding(part, "warning", "no service is configured, so you will get no notifications", fix)


def check_service(state: tuple[str, list[str]] | None) -> Iterator[Finding]:
    """Check the systemd service by its `service_state`, if it is installed."""
    if state is None:
        return
    active, problems = state
    if active == "active" and not problems:
        yield Finding("service", "ok", active)
    else:
        fix = "; ".join(problems) or "`bot service status` shows why"
        yield Finding("service", "fails" if active == "failed" else "warning", active, fix)
