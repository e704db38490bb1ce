"""A program while it runs: what a supervisor needs of it, and the plain process of this machine."""

import contextlib
import os
import resource
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sandbox import Breach, Usage
from sandbox.launch import GO, HELLO, Launch, start
from sandbox.tree import Tree, all_below
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

    def __init__(self, launch: Launch, make_tree: Callable[[int], Tree]) -> None:
        """Start it; it may wait for a line on its stdin.

        Args:
            launch: The program.
            make_tree: Makes the set of its processes from its process id.

        Raises:
            OSError: It could not be started.
        """
        self._watcher: Watcher | None = None
        self.output, output_end = os.pipe()
        self.engine, engine_end = os.pipe()
        word, self._word = os.pipe()
        try:
            self._process = start(launch, output_end, engine_end, word)
            self.ended = os.pidfd_open(self._process.pid)
        except OSError:
            for descriptor in (self.output, self.engine, self._word):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (output_end, engine_end, word):
                os.close(descriptor)
        self._tree = make_tree(self._process.pid)

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, reaped or not."""
        return _readable(self.ended)

    def answer(self, seconds: float) -> str:
        """Greet it, and return the first line that it says; raises OSError where there is none in time."""
        os.write(self._word, HELLO)
        text, deadline = b"", time.monotonic() + seconds
        while not text.endswith(b"\n"):
            if not _readable(self.engine, max(0.0, deadline - time.monotonic())) or not (
                byte := os.read(self.engine, 1)
            ):
                raise OSError(text.decode(errors="replace") or "it said nothing")
            text += byte
        return text.decode(errors="replace")

    def watched(self, watcher: Watcher) -> None:
        """Have it measured from now on, and give it the word to go on, should it wait for that."""
        self._watcher = watcher
        with contextlib.suppress(BrokenPipeError):  # it has ended, as will be seen
            os.write(self._word, GO)

    def keep_to(self, cpus: Sequence[int]) -> None:
        """Move all its processes to these cores; raises OSError where that is not allowed."""
        for process in all_below(self._process.pid):
            os.sched_setaffinity(process, cpus)

    def discard(self) -> None:
        """Kill it and give all back; for one that nobody follows."""
        self.kill()
        os.waitpid(self._process.pid, 0)
        self.close()

    def measure(self) -> tuple[Usage, Breach | None]:
        """Add up what its processes use."""
        return self._watched.check(self._tree)

    def kill(self) -> None:
        """Kill the tree. The program is reaped last, so that its process id, also its group's, cannot be another's yet."""
        self._tree.kill()

    def reap(self) -> Reaped:
        """Wait for the program, which has ended, and measure once more what it left."""
        _, status, usage = os.wait4(self._process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        peak = self._watched.peak_memory
        # The kernel also counts the moment before exec, when the child was still our own image.
        if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
            peak = max(peak, usage.ru_maxrss * 1024)
        return Reaped(
            exit_code=128 - code if code < 0 else code,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_memory_bytes=peak or None,
            breach=self._watched.check_disk(),
        )

    def close(self) -> None:
        """Close the descriptors; reaped by us for its resource usage, so Popen must not try again."""
        self._process.returncode = -1
        for descriptor in (self.output, self.engine, self.ended, self._word):
            os.close(descriptor)

    @property
    def _watched(self) -> Watcher:
        assert self._watcher is not None  # noqa: S101 - for the type checker; only what is watched is measured
        return self._watcher


def _readable(descriptor: int, seconds: float = 0.0) -> bool:
    poll = select.poll()  # unlike select(), for descriptors of any number
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(1_000 * seconds))
