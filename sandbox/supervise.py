"""Supervising one running program: reads its output, watches its limits, ends it and all it started."""

import os
import resource
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox import ExitReason, Limits
from sandbox.launch import Launch, start
from sandbox.output import CappedOutput
from sandbox.tree import Tree
from sandbox.watcher import Breach, Watcher

__all__ = ["Ending", "StopSignal", "Supervisor", "stop_signal"]

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

    exit_code: int | None
    """As a shell says it, 128 + signal for a signal; none if it could not be ended."""
    seconds: float
    cpu_seconds: float | None
    peak_memory_bytes: int | None
    output: CappedOutput
    engine: str
    """What was said before the script ran."""
    breach: Breach | None


class StopSignal:
    """Tells a supervisor in another thread to stop."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self._writer = writer

    def send(self) -> None:
        """Stop the program."""
        os.write(self._writer, b"x")


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """Make a signal whose descriptors are closed at the end."""
    reader, writer = os.pipe()
    try:
        yield StopSignal(reader, writer)
    finally:
        os.close(reader)
        os.close(writer)


class Supervisor:
    """Runs one program to its end, in the calling thread."""

    def __init__(self, limits: Limits, stop: StopSignal) -> None:
        self._limits = limits
        self._stop = stop
        self._output = CappedOutput(limits.output_bytes)
        self._engine = CappedOutput(_ENGINE_BYTES)
        self._selector = selectors.DefaultSelector()
        self._status: tuple[int, resource.struct_rusage] | None = None

    def run(self, launch: Launch, make_tree: Callable[[int], Tree], watcher: Watcher) -> Ending:
        """Start the program and return when it and all its descendants are gone.

        Args:
            launch: The program.
            make_tree: Makes the set of its processes from its process id.
            watcher: Made before, as it takes what there is as given.

        Raises:
            OSError: It could not be started.
        """
        output, output_end = os.pipe()
        engine, engine_end = os.pipe()
        try:
            began = time.monotonic()
            try:
                process = start(launch, output_end, engine_end)
            finally:
                os.close(output_end)
                os.close(engine_end)
            for descriptor, name in ((output, "output"), (engine, "engine"), (self._stop.reader, "stop")):
                self._selector.register(descriptor, selectors.EVENT_READ, name)
            return self._follow(process, make_tree(process.pid), watcher, began)
        finally:
            self._selector.close()
            os.close(output)
            os.close(engine)

    def _follow(self, process: subprocess.Popen[bytes], tree: Tree, watcher: Watcher, began: float) -> Ending:
        exit_descriptor = os.pidfd_open(process.pid)
        try:
            self._selector.register(exit_descriptor, selectors.EVENT_READ, "exit")
            breach = self._until_exit_or_breach(tree, watcher, began)
            seconds = time.monotonic() - began
        finally:
            # Also when we fail ourselves, nothing may go on running. It is reaped last, so that its process id, which
            # is also its group's, cannot be another's yet.
            tree.kill()
            self._drain(process.pid)
            os.close(exit_descriptor)
            process.returncode = -1  # reaped here for its resource usage: Popen must not try again
        return self._ending(seconds, watcher, breach or watcher.check_disk())

    def _until_exit_or_breach(self, tree: Tree, watcher: Watcher, began: float) -> Breach | None:
        deadline = began + self._limits.seconds
        due = began + _FIRST_CHECK
        while True:
            now = time.monotonic()
            if now >= deadline:
                return Breach(ExitReason.TIMED_OUT, f"It was stopped after {self._limits.seconds:g} seconds.")
            if now >= due:
                if breach := watcher.check(tree):
                    return breach
                due = time.monotonic() + _INTERVAL
            names = self._read(min(due, deadline) - time.monotonic())
            if "exit" in names:
                return None
            if "stop" in names:
                return Breach(ExitReason.STOPPED, "The bot was asked to stop.")

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
                if self._output.overflowing:
                    time.sleep(0.001)  # nobody keeps it any more: a program that only prints must not keep us busy
        return names

    def _drain(self, pid: int) -> None:
        """Read what is left in the pipes and reap the program, which has been killed if it had not ended."""
        self._selector.unregister(self._stop.reader)
        deadline = time.monotonic() + _DEATH
        while self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            if "exit" in self._read(left):
                _, status, usage = os.wait4(pid, 0)
                self._status = (status, usage)
                self._unregister("exit")
                deadline = time.monotonic() + _LAST_OUTPUT

    def _unregister(self, name: str) -> None:
        for key in list(self._selector.get_map().values()):
            if key.data == name:
                self._selector.unregister(key.fileobj)

    def _ending(self, seconds: float, watcher: Watcher, breach: Breach | None) -> Ending:
        code = cpu = None
        peak = watcher.peak_memory
        if self._status is not None:
            status, usage = self._status
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code
            cpu = usage.ru_utime + usage.ru_stime
            # The kernel also counts the moment before exec, when the child was still our own image.
            if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
                peak = max(peak, usage.ru_maxrss * 1024)
        return Ending(code, seconds, cpu, peak or None, self._output, self._engine.text().strip(), breach)
