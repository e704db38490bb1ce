"""Cheap rules that watch a running script, and end hopeless ones; each may be switched off."""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from sandbox import Breach, ExecutionRequest, ExitReason, Usage, Watch
from sandbox.loss import LossRule

_BETWEEN_LINES = re.compile(rb"[\r\n\x08]+")
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_LINE = 500
"""Bytes of a line that are read."""
_LOOKED_AT = 1 << 14
"""Bytes of output that are read between two measurements: a flood must cost nothing."""
_CPU_SECONDS = 1.0
_BUSY = 0.01
"""Processor time below this, and below this share of the time, is no work: waiting costs a little too."""
_WRITTEN = 50_000_000
"""A script that wrote less than this has not filled the disk."""
_DISK_EVERY = 2.0
_MOST_OF_LIMIT = 0.2
"""Share of the time limit that is the longest wait for a loss to become good again."""


class RuleSettings(BaseModel):
    """Thresholds of the rules; a false end costs more than a late one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: bool = Field(default=True, description="end a training whose loss is no number or explodes")
    loss_reports: int = Field(default=10, ge=1, description="bad reports in a row, without a good one between")
    loss_seconds: float = Field(
        default=120.0, ge=0, description="for so long, or a fifth of the time limit, whichever is less"
    )
    loss_growth: float = Field(default=1e4, gt=1, description="times its lowest value")
    silent_minutes: float = Field(default=10.0, ge=0, description="without output or processor time; 0: never")
    free_disk_bytes: int = Field(default=500_000_000, ge=0, description="left on the run folder's disk; 0: never")


class Rules:
    """The rules on one execution, as a `Watch`."""

    def __init__(
        self, settings: RuleSettings, request: ExecutionRequest, free: Callable[[Path], int] | None = None
    ) -> None:
        """Watch an execution.

        Args:
            settings: The thresholds.
            request: The execution.
            free: Returns the bytes free on the disk of a folder.
        """
        self._settings = settings
        self._out = request.out
        self._free = free or _free_bytes
        patience = min(settings.loss_seconds, _MOST_OF_LIMIT * request.limits.seconds)
        self._loss = LossRule(settings.loss_reports, patience, settings.loss_growth) if settings.loss else None
        self._rest = b""
        self._room = _LOOKED_AT
        self._now = 0.0
        self._active = Usage(0.0)
        self._printed = False
        self._disk_due = 0.0

    def output(self, chunk: bytes) -> None:
        """Check the lines of new output."""
        self._printed = True
        chunk, self._room = chunk[: self._room], self._room - min(len(chunk), self._room)
        *whole, rest = _BETWEEN_LINES.split(self._rest + chunk)
        self._rest = rest[:_LINE]
        if self._loss:
            for raw in whole:
                self._loss.line(_ANSI.sub("", raw[:_LINE].decode(errors="replace")), self._now)

    def usage(self, usage: Usage) -> Breach | None:
        """Check a measurement; return the breach of the first rule that ends it."""
        self._now, self._room = usage.seconds, _LOOKED_AT
        rules = {
            "loss": self._loss.check(self._now) if self._loss else None,
            "silence": self._silence(usage),
            "free disk": self._disk(usage),
        }
        self._printed = False
        for name, why in rules.items():
            if why:
                return Breach(ExitReason.KILLED_BY_RULE, f"The rule on {name} ended it: {why}.")
        return None

    def _silence(self, usage: Usage) -> str | None:
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
        if not 0 < self._settings.silent_minutes <= minutes:
            return None
        return f"it printed nothing and used no processor time for {minutes:.0f} minutes"

    def _disk(self, usage: Usage) -> str | None:
        if usage.seconds < self._disk_due or (usage.written_bytes or 0) < _WRITTEN:
            return None
        self._disk_due = usage.seconds + _DISK_EVERY
        free = self._free(self._out)
        if free >= self._settings.free_disk_bytes:
            return None
        return f"it wrote {usage.written_bytes} bytes, and only {free} are left on the disk of the run folder"


class Watches:
    """Several watches as one; all see everything, and the first breach counts."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches

    def output(self, chunk: bytes) -> None:
        """Pass new output on."""
        for watch in self._watches:
            watch.output(chunk)

    def usage(self, usage: Usage) -> Breach | None:
        """Pass the measurement on; return the first breach."""
        breaches = [watch.usage(usage) for watch in self._watches]
        return next((breach for breach in breaches if breach), None)


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free
