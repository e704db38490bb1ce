"""A running program: the interface for its supervisor, and the plain process on this machine."""

import contextlib
import os
import resource
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from sandbox import Breach, ResourceUsage
from sandbox.tree import ProcessTree, stop_all
from sandbox.watcher import Watcher


@dataclass(frozen=True)
class ProcessExit:
    """Facts about a program after its end."""

    exit_code: int | None
    """As in a shell, 128 + signal for a signal; None if it could not be ended."""
    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None
    breach: Breach | None = None
    """A limit that shows only at the end."""
    out_of_memory: bool = False
    """Whether the kernel killed one of its processes, not necessarily the first, for its memory limit."""


class Running(Protocol):
    """A program that has been started, with all its descendants."""

    output: int
    """Descriptor from which its output is read, at its end when nobody can write any more."""
    engine: int
    """Descriptor for reading output from before the script ran."""
    ended: int
    """Descriptor that is readable as soon as it has ended."""
    input: socket.socket | None
    """What is sent here it reads; none where it has no input."""

    def measure(self) -> tuple[ResourceUsage, Breach | None]:
        """Return its present usage, and the limit that it exceeds, if any."""

    def pause(self) -> None:
        """Have it and all its descendants stand still; no error if it has ended."""

    def resume(self) -> None:
        """Have them go on."""

    def kill(self) -> None:
        """Kill it and all its descendants, paused or not; no error if it has ended."""

    def reap(self) -> ProcessExit:
        """Return how it ended, once `ended` is readable."""

    def close(self) -> None:
        """Close its descriptors."""


class LocalProgram:
    """A program that this process has started on this machine."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: Path,
        cpus: Sequence[int],
        make_tree: Callable[[int], ProcessTree],
        watcher: Watcher,
        descriptors: Sequence[int] = (),
        talks: bool = False,
    ) -> None:
        """Start it.

        It cannot move to other cores if the filter of system calls forbids that. `make_tree` makes the set of its
        processes from its process id. It inherits `descriptors` beyond the standard ones; `talks`: it has an input.

        Raises:
            OSError: It could not be started.
        """
        self._watcher = watcher
        self.output, output_end = os.pipe()
        self.engine, engine_end = os.pipe()
        self.input: socket.socket | None = None
        input_end = None
        if talks:
            self.input, input_end = socket.socketpair()
        cores = os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, cpus)  # of this thread alone, and so of what it starts
            self._process = subprocess.Popen(
                argv,
                stdin=input_end.fileno() if input_end else subprocess.DEVNULL,
                stdout=output_end,
                stderr=engine_end,
                env=dict(environment),
                cwd=folder,
                pass_fds=descriptors,
                start_new_session=True,
                umask=0o022,
            )
            self.ended = os.pidfd_open(self._process.pid)
        except OSError:
            os.close(self.output)
            os.close(self.engine)
            if self.input:
                self.input.close()
            raise
        finally:
            os.sched_setaffinity(0, cores)
            os.close(output_end)
            os.close(engine_end)
            if input_end:
                input_end.close()
        self._tree = make_tree(self._process.pid)

    def measure(self) -> tuple[ResourceUsage, Breach | None]:
        """Add up what its processes use."""
        return self._watcher.check(self._tree)

    def pause(self) -> None:
        """Stop the tree."""
        stop_all(self._tree.members)

    def resume(self) -> None:
        """Let the tree go on."""
        for member in self._tree.members():
            with contextlib.suppress(psutil.Error):
                member.resume()

    def kill(self) -> None:
        """Kill the tree. The program is reaped last, so that its process id, also its group's, cannot be another's yet."""
        self._tree.kill()

    def reap(self) -> ProcessExit:
        """Wait for the program, which has ended, and measure once more what it left."""
        _, status, usage = os.wait4(self._process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        peak = self._watcher.peak_memory
        # The kernel also counts the moment before exec, when the child was still our own image.
        if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
            peak = max(peak, usage.ru_maxrss * 1024)
        return ProcessExit(
            exit_code=128 - code if code < 0 else code,
            # Bubblewrap ends without waiting for what ran in it, whose time the kernel then does not count.
            cpu_seconds=max(usage.ru_utime + usage.ru_stime, self._watcher.cpu_seconds),
            peak_memory_bytes=peak or None,
            breach=self._watcher.check_disk(),
        )

    def close(self) -> None:
        """Close the descriptors; reaped by us for its resource usage, so Popen must not try again."""
        self._process.returncode = -1
        for descriptor in (self.output, self.engine, self.ended):
            os.close(descriptor)
        if self.input:
            self.input.close()
