"""The status of the service: what systemd reports, and whether its files and credentials are as they should be."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.service.changes import any_due
from bot.service.installing import DROP_INS, install_options, unit_changes
from bot.service.layout import CREDENTIALS, SERVICE, TIMER, Layout
from bot.service.systemd import Systemd
from state.errors import BotError, UsageError

_ASKED = (
    *("LoadState", "UnitFileState", "ActiveState", "SubState", "StatusText", "Result", "ExecMainStatus", "MainPID"),
    *("NRestarts", "ActiveEnterTimestamp", "MemoryCurrent", "NeedDaemonReload"),
)
_WRONG = {"78": "the configuration is wrong", "243": "a credential's file is missing"}
"""Exit statuses after which systemd does not restart it."""
_NOT_INSTALLED = "it is not installed: `bot service install`"
_KAGGLE = (CREDENTIALS[0], "kaggle.json")


@dataclass(frozen=True)
class ServiceStatus:
    """The status of the service."""

    installed: bool
    active: bool
    state: str
    """As systemd has it: `active (running)`."""
    status_text: str
    """The daemon's latest status line; empty if it does not run."""
    since: str
    """When it was started, as systemd writes times; empty if it never was."""
    restarts: int
    """By systemd, since it was last started by hand."""
    starts_with_machine: bool
    process: int | None
    memory_bytes: int | None
    failed: bool
    problems: tuple[str, ...]
    """What is wrong, each with its fix."""
    drop_ins: tuple[str, ...]
    """Our drop-ins that are installed, such as `kaggle-bot.service.d/docker.conf`."""
    credentials: dict[str, bool] | None
    """Whether each file holds anything; None if this user may not read the folder."""
    next_prune: str
    """When the timer runs next, as systemd writes times; empty if it does not."""


def service_status(layout: Layout, systemd: Systemd) -> ServiceStatus:
    """Collect the status; only root sees the credentials."""
    found = systemd.show(SERVICE, _ASKED)
    installed = (layout.units / SERVICE).is_file()
    credentials = _credentials(layout.credentials)
    process, memory = found.get("MainPID", "0"), found.get("MemoryCurrent", "")
    return ServiceStatus(
        installed=installed,
        active=found.get("ActiveState") == "active",
        failed=found.get("ActiveState") == "failed",
        state=f"{found.get('ActiveState', 'unknown')} ({found.get('SubState', 'unknown')})",
        status_text=found.get("StatusText", ""),
        since=found.get("ActiveEnterTimestamp", ""),
        restarts=int(found.get("NRestarts") or 0),
        starts_with_machine=found.get("UnitFileState") == "enabled",
        process=int(process) if process.isdecimal() and process != "0" else None,
        memory_bytes=int(memory) if memory.isdecimal() else None,
        problems=tuple(
            [*_failure(found), *_outdated(layout), *_no_key(credentials)] if installed else [_NOT_INSTALLED]
        ),
        drop_ins=tuple(name for name in DROP_INS if (layout.units / name).exists()),
        credentials=credentials,
        next_prune=systemd.show(TIMER, ["NextElapseUSecRealtime"]).get("NextElapseUSecRealtime", ""),
    )


def status_here() -> ServiceStatus | None:
    """Return the status on this machine; None if systemd does not run or does not answer."""
    try:
        Systemd().check()
        return service_status(Layout(), Systemd())
    except BotError:
        return None


def _failure(found: Mapping[str, str]) -> Iterator[str]:
    if found.get("NeedDaemonReload") == "yes":
        yield "systemd has not read its files since they changed: `systemctl daemon-reload`"
    state, status = found.get("ActiveState"), found.get("ExecMainStatus", "")
    if state == "failed":
        why = _WRONG.get(status) or f"it ended ({found.get('Result')}, exit status {status})"
        yield f"{why}: `journalctl -u {SERVICE} -e` shows its last messages"
    elif state not in {"active", "activating", "reloading"}:
        yield f"it does not run: `systemctl start {SERVICE}`"


def _outdated(layout: Layout) -> Iterator[str]:
    named = re.search(r"^ExecStart=(\S+)", (layout.units / SERVICE).read_text(encoding="utf-8"), re.MULTILINE)
    try:
        changes = unit_changes(layout, install_options(layout, Path(named[1] if named else "/")))
    except UsageError:
        return  # only root sees which credentials the units must name
    if any_due(changes):
        yield "its files are not those of this version of the bot: `bot service install`"


def _no_key(credentials: Mapping[str, bool] | None) -> Iterator[str]:
    if credentials is not None and not any(credentials.get(name) for name in _KAGGLE):
        yield f"there is no key for Kaggle: put it in {Layout().credentials / CREDENTIALS[0]}"


def _credentials(folder: Path) -> dict[str, bool] | None:
    try:
        return {path.name: path.stat().st_size > 0 for path in sorted(folder.iterdir()) if path.is_file()}
    except PermissionError:
        return None
    except FileNotFoundError:
        return {}
