"""Cheap rules that watch a running script, and end hopeless ones; each may be switched off."""

import shutil
from collections.abc import Callable
from pathlib import Path

from pydantic import Field

from sandbox import Breach, ExecutionRequest, ExitReason, ResourceUsage
from state.closed_model import ClosedModel

_CPU_SECONDS = 1.0
_BUSY = 0.01
"""Processor time below this, and below this share of the time, is no work: waiting costs a little too."""
_MIN_WRITTEN_BYTES = 50_000_000
"""A script that wrote less than this has not filled the disk."""
_DISK_EVERY = 2.0


class RuleSettings(ClosedModel):
    """Thresholds of the rules; a false end costs more than a late one."""

    silent_minutes: float = Field(
        default=10.0, ge=0, description="stop a script after this many minutes without output or CPU use (0: never)"
    )
    free_disk_bytes: int = Field(
        default=500_000_000,
        ge=0,
        description="stop a script that writes files when fewer than this many bytes are free on the disk (0: never)",
    )


class Rules:
    """The rules on one execution, as a `Watch`."""

    def __init__(
        self, settings: RuleSettings, request: ExecutionRequest, free: Callable[[Path], int] | None = None
    ) -> None:
        """Watch an execution; `free` returns the bytes free on the disk of a folder."""
        self._settings = settings
        # An idle execution may get no processor time for as long as a lab's commands keep the cores busy.
        self._silent_minutes = 0.0 if request.idle else settings.silent_minutes
        self._out = request.out
        self._free = free or (lambda folder: shutil.disk_usage(folder).free)
        self._active = ResourceUsage(0.0)
        self._printed = False
        self._disk_due = 0.0

    def output(self, chunk: bytes) -> None:
        """Note that the script printed something."""
        self._printed = True

    def usage(self, usage: ResourceUsage) -> Breach | None:
        """Check a measurement; return the breach of the first rule that ends it."""
        rules = {"silence": self._silence(usage), "free disk": self._disk(usage)}
        self._printed = False
        for name, reason in rules.items():
            if reason:
                return Breach(ExitReason.KILLED_BY_RULE, f"The {name} rule stopped it: {reason}.")
        return None

    def _silence(self, usage: ResourceUsage) -> str | None:
        before = self._active
        waited = usage.seconds - before.seconds
        if usage.cpu_seconds is None:
            worked = True
        else:
            worked = usage.cpu_seconds - (before.cpu_seconds or 0.0) >= max(_CPU_SECONDS, _BUSY * waited)
        if self._printed or worked or usage.gpu_busy or usage.written_bytes != before.written_bytes:
            self._active = usage
            return None
        minutes = waited / 60
        if not 0 < self._silent_minutes <= minutes:
            return None
        return f"it printed nothing and used no CPU time for {minutes:.0f} minutes"

    def _disk(self, usage: ResourceUsage) -> str | None:
        if usage.seconds < self._disk_due or (usage.written_bytes or 0) < _MIN_WRITTEN_BYTES:
            return None
        self._disk_due = usage.seconds + _DISK_EVERY
        free = self._free(self._out)
        if free >= self._settings.free_disk_bytes:
            return None
        return f"it wrote {usage.written_bytes} bytes, but only {free} are free on the run folder's disk"
