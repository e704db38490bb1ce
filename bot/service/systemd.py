"""The running systemd: its commands, and the state of the service."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bot.service.files import CREDENTIALS, SERVICE, UNITS, rebase, unit_files
from state.errors import InfrastructureFailure, UsageError

_BOOTED = Path("/run/systemd/system")
"""Exists if systemd is the first process; see sd_booted(3)."""


def require_systemd(*, root: bool) -> None:
    """Raise UsageError if systemd does not run here, or if this user is not root and `root` is required."""
    if not _BOOTED.is_dir():
        raise UsageError("systemd is not running here; `bot service install --root DIR` still writes the files.")
    if root and os.geteuid() != 0:
        raise UsageError("changing system services requires root: use sudo.")


def run_command(*command: str) -> str:
    """Run a command of systemd and return its output; raises InfrastructureFailure if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise InfrastructureFailure(f"`{' '.join(command)}` failed: {' '.join(result.stderr.split())}")
    return result.stdout


def service_state() -> tuple[str, list[str]] | None:
    """Return the service's state in systemd's word, and what `systemctl status` does not show; None: not installed."""
    if not (_BOOTED.is_dir() and (UNITS / SERVICE).is_file()):
        return None
    output = run_command("systemctl", "show", SERVICE, "--property=ActiveState,NRestarts")
    properties = dict(line.split("=", 1) for line in output.splitlines())
    problems = list(file_problems(Path("/")))
    if properties["NRestarts"] != "0":
        problems.append(f"the service restarted {properties['NRestarts']} times: see `journalctl -eu {SERVICE}`")
    return properties["ActiveState"], problems


def file_problems(root: Path) -> Iterator[str]:
    """Yield what is wrong with the files of an installed service; only root may read enough of them to tell."""
    credentials = rebase(root, CREDENTIALS)
    if not os.access(credentials, os.R_OK | os.X_OK):
        return
    command = re.search(r"^ExecStart=(\S+)", (rebase(root, UNITS) / SERVICE).read_text(encoding="utf-8"), re.MULTILINE)
    files = unit_files(root, Path(command[1] if command else "/"), {})
    if any((path.read_text(encoding="utf-8") if path.exists() else None) != text for path, text in files.items()):
        yield "the units are from a different version of the bot: run `bot service install`"
    keys = (credentials / name for name in ("KAGGLE_API_TOKEN", "kaggle.json"))
    if not any(key.is_file() and key.stat().st_size for key in keys):
        yield "no Kaggle key: run `bot keys set KAGGLE_API_TOKEN --service`"
