"""The running systemd, used through its commands."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from state.errors import InfrastructureFailure, UsageError

_BOOTED = Path("/run/systemd/system")
"""Exists if systemd is the first process; see sd_booted(3)."""
_SECONDS = 120
"""Longest time of one command; stopping the service takes as long as its unit allows."""


class Systemd:
    """Runs systemd's commands, each as a process."""

    def check(self) -> None:
        """Raise UsageError if systemd does not run."""
        if not _BOOTED.is_dir():
            raise UsageError(
                "systemd does not run here, so there can be no service; "
                "`bot service install --root DIR` still writes the files"
            )

    def version(self) -> int:
        """Return its version, such as 252; 0 if systemd is not installed."""
        if shutil.which("systemctl") is None:
            return 0
        found = re.match(r"systemd (\d+)", self._run("systemctl", "--version").stdout)
        return int(found[1]) if found else 0

    def show(self, unit: str, properties: Sequence[str]) -> dict[str, str]:
        """Return properties of a unit by name; for an unknown unit, systemd's defaults."""
        output = self._run("systemctl", "show", unit, f"--property={','.join(properties)}").stdout
        return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)

    def is_enabled(self, unit: str) -> bool:
        """Return whether a unit is started with the machine."""
        return self._run("systemctl", "is-enabled", unit).stdout.strip() == "enabled"

    def is_active(self, unit: str) -> bool:
        """Return whether a unit runs."""
        return self._run("systemctl", "is-active", unit).stdout.strip() == "active"

    def change(self, *command: str) -> None:
        """Run a command that changes something.

        Raises:
            InfrastructureFailure: it failed; the text holds its error message.

        """
        done = self._run(*command)
        if done.returncode != 0:
            raise InfrastructureFailure(f"`{' '.join(command)}` failed: {' '.join(done.stderr.split())}")

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except FileNotFoundError:
            raise UsageError(f"there is no command {command[0]}: it comes with systemd") from None
        except subprocess.TimeoutExpired:
            raise InfrastructureFailure(f"`{' '.join(command)}` did not end within {_SECONDS} s") from None
