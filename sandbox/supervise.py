"""Supervising one running program: reads its output, watches its limits, ends it and all it started."""

import os
import selectors
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sandbox import Breach, ExecutionRequest, ExitReason, Watch
from sandbox.gpu import GpuMeter
from sandbox.output import CappedOutput, LiveLog
from sandbox.quiet import PauseSignal
from sandbox.running import ProcessExit, Running
from sandbox.workspace import LOG_NAME

_INTERVAL = 0.2
_FIRST_CHECK = 0.05
_CHUNK = 1 << 16
_ENGINE_BYTES = 10_000
_DEATH = 10.0
"""Seconds that a killed program may take to disappear."""
_LAST_OUTPUT = 1.0
"""Seconds for its output to end after that: only a process that nobody could find can still hold it open."""


@dataclass(frozen=True)
class Ending:
    """How a program ended."""

    reaped: ProcessExit
    seconds: float
    output: CappedOutput
    engine: str
    """Output from before the script ran."""
    breach: Breach | None
    peak_gpu_memory_bytes: int | None = None


@dataclass(frozen=True)
class StopSignal:
    """Asks a supervisor in another thread to stop."""

    descriptor: int
    """Readable once the signal was sent."""

    def send(self) -> None:
        """Stop the program."""
        os.eventfd_write(self.descriptor, 1)


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """Make a signal whose descriptor is closed at the end."""
    descriptor = os.eventfd(0)
    try:
        yield StopSignal(descriptor)
    finally:
        os.close(descriptor)


class Supervisor:
    """Follows one program to its end, in the calling thread."""

    def __init__(
        self,
        request: ExecutionRequest,
        stop: StopSignal,
        watch: Watch | None = None,
        meter: GpuMeter | None = None,
        pause: PauseSignal | None = None,
    ) -> None:
        self._wall_seconds = request.wall_seconds
        self._cpu_seconds = request.limits.seconds if request.idle else float("inf")
        self._meter = meter
        self._stop = stop
        self._pause = pause
        self._deadline = float("inf")
        self._left: float | None = None
        """Seconds until the deadline, while the program is paused."""
        self._watch = watch
        self._output = CappedOutput(request.limits.output_bytes, request.redactor)
        self._log = LiveLog(request.out / LOG_NAME, self._output)
        self._engine = CappedOutput(_ENGINE_BYTES)
        self._selector = selectors.DefaultSelector()
        self._reaped = ProcessExit(exit_code=None)

    def follow(self, running: Running) -> Ending:
        """Return when the program and all its descendants are gone; its descriptors are closed then."""
        start = time.monotonic()
        try:
            descriptors = {"output": running.output, "engine": running.engine, "exit": running.ended}
            descriptors["stop"] = self._stop.descriptor
            if self._pause:
                descriptors["pause"] = self._pause.descriptor
            for name, descriptor in descriptors.items():
                self._selector.register(descriptor, selectors.EVENT_READ, name)
            try:
                breach = self._until_exit_or_breach(running, start)
                seconds = time.monotonic() - start
            finally:
                # Even if we fail ourselves, nothing may keep running.
                running.kill()
                self._drain(running)
        finally:
            self._selector.close()
            running.close()
        return Ending(
            reaped=self._reaped,
            seconds=seconds,
            output=self._output,
            engine=self._engine.text().strip(),
            breach=breach or self._reaped.breach,
            peak_gpu_memory_bytes=self._meter.peak_bytes if self._meter else None,
        )

    def _until_exit_or_breach(self, running: Running, start: float) -> Breach | None:
        self._deadline = start + self._wall_seconds
        due = start + _FIRST_CHECK
        while True:
            now = time.monotonic()
            if now >= self._deadline:
                return Breach(ExitReason.TIMED_OUT, f"It was stopped after {self._wall_seconds:g} seconds.")
            if now >= due:
                if breach := self._measure(running):
                    return breach
                self._log.update(now)
                due = time.monotonic() + _INTERVAL
            names = self._read(min(due, self._deadline) - time.monotonic())
            if "exit" in names:
                return None
            if "stop" in names:
                return Breach(ExitReason.STOPPED, "The bot was asked to stop.")
            if "pause" in names and self._pause:
                os.eventfd_read(self._pause.descriptor)
                self._heed(running, pause=self._pause.wanted())

    def _heed(self, running: Running, *, pause: bool) -> None:
        """Pause the program, or let it go on; meanwhile its time does not run."""
        now = time.monotonic()
        if pause and self._left is None:
            self._left, self._deadline = self._deadline - now, float("inf")
            running.pause()
        elif not pause and self._left is not None:
            self._deadline, self._left = now + self._left, None
            running.resume()

    def _measure(self, running: Running) -> Breach | None:
        usage, breach = running.measure()
        if self._left is not None:
            running.pause()  # it may have been about to start
        if usage.cpu_seconds is not None and usage.cpu_seconds >= self._cpu_seconds:
            detail = f"It was stopped after {self._cpu_seconds:g} seconds of CPU time."
            breach = breach or Breach(ExitReason.TIMED_OUT, detail)
        if self._meter:
            usage = replace(usage, gpu_busy=self._meter.measure())
        own_breach = self._watch.usage(usage) if self._watch else None
        return breach or own_breach

    def _read(self, timeout: float) -> set[str]:
        """Wait for something to happen, take in what can be read, and return what happened."""
        names = set()
        for key, _ in self._selector.select(max(0.0, timeout)):
            names.add(key.data)
            if key.data not in {"output", "engine"}:
                continue
            chunk = os.read(key.fd, _CHUNK)
            if not chunk:
                self._selector.unregister(key.fd)
            elif key.data == "engine":
                self._engine.add(chunk)
            else:
                self._output.add(chunk)
                if self._watch:
                    self._watch.output(chunk)
                if self._output.overflowing:
                    time.sleep(0.001)  # none of it is kept any more: a program that only prints must not keep us busy
        return names

    def _drain(self, running: Running) -> None:
        """Read what is left in the pipes and reap the program, which has been killed if it had not ended."""
        self._selector.unregister(self._stop.descriptor)
        deadline = time.monotonic() + _DEATH
        while self._selector.get_map() and (seconds := deadline - time.monotonic()) > 0:
            if "exit" in self._read(seconds):
                self._reaped = running.reap()
                self._selector.unregister(running.ended)
                deadline = time.monotonic() + _LAST_OUTPUT
