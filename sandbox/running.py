"""A program while it runs: what a supervisor needs of it, and the plain process of this machine."""

import os
import resource
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sandbox import Breach, Usage
from sandbox.launch import Launch
from sandbox.tree import Tree
from sandbox.watcher import Watcher

__all__ = ["LocalProgram", "Reaped", "Running"]


@dataclass(frozen=True)
class Reaped:
    """What is known of a program after its end."""

    exit_code: int
    """As a shell says it, 128 + signal for a signal."""
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
    """Descriptor from which is read what was said before the script ran."""
    ended: int
    """Descriptor that is readable as soon as it has ended."""

    def measure(self) -> tuple[Usage, Breach | None]:
        """Return what it uses now, and the limit that it exceeds, if it does."""
        ...

    def kill(self) -> None:
        """Kill it and all its descendants; no error if it has ended."""
        ...

    def reap(self) -> Reaped:
        """Return how it ended, once `ended` is readable."""
        ...

    def close(self) -> None:
        """Give its descriptors back."""
        ...


class LocalProgram:
    """A program that this process has started on this machine."""

    def __init__(self, launch: Launch, make_tree: Callable[[int], Tree], watcher: Watcher) -> None:
        """Start it.

        Args:
            launch: The program.
            make_tree: Makes the set of its processes from its process id.
            watcher: Measures it.

        Raises:
            OSError: It could not be started.
        """
        self._watcher = watcher
        self.output, output_end = os.pipe()
        self.engine, engine_end = os.pipe()
        try:
            self._process = _started(launch, output_end, engine_end)
            self.ended = os.pidfd_open(self._process.pid)
        except OSError:
            os.close(self.output)
            os.close(self.engine)
            raise
        finally:
            os.close(output_end)
            os.close(engine_end)
        self._tree = make_tree(self._process.pid)

    def measure(self) -> tuple[Usage, Breach | None]:
        """Add up what its processes use."""
        return self._watcher.check(self._tree)

    def kill(self) -> None:
        """Kill the tree. The program is reaped last, so that its process id, also its group's, cannot be another's yet."""
        self._tree.kill()

    def reap(self) -> Reaped:
        """Wait for the program, which has ended, and measure once more what it left."""
        _, status, usage = os.wait4(self._process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        peak = self._watcher.peak_memory
        # The kernel also counts the moment before exec, when the child was still our own image.
        if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
            peak = max(peak, usage.ru_maxrss * 1024)
        return Reaped(
            exit_code=128 - code if code < 0 else code,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_memory_bytes=peak or None,
            breach=self._watcher.check_disk(),
        )

    def close(self) -> None:
        """Close the descriptors; reaped by us for its resource usage, so Popen must not try again."""
        self._process.returncode = -1
        for descriptor in (self.output, self.engine, self.ended):
            os.close(descriptor)


def _started(launch: Launch, output: int, engine: int) -> subprocess.Popen[bytes]:
    """Start a program whose stdout and stderr are these descriptors."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, launch.cpus)  # of this thread alone, and so of what it starts
    try:
        return subprocess.Popen(
            launch.argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=engine,
            env=dict(launch.environment),
            cwd=launch.folder,
            pass_fds=launch.descriptors,
            start_new_session=True,
            umask=0o022,
        )
    finally:
        os.sched_setaffinity(0, ours)
