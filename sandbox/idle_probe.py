"""The probe of idle executions: whether one leaves a core to what runs beside it, found out by running both."""

import os
import threading
from bisect import bisect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandbox import Breach, ExecutionOutcome, ExecutionRequest, Lease, Limits, ResourceUsage, Watch
from sandbox.supervise import StopSignal, stop_signal

SMALL_SHARE = 0.1
"""Of a core; an idle execution that gets less beside a busy one is out of its way."""
_START_SECONDS = 20.0
_MOST_SECONDS = 60.0
_IDLE_LOOP = """
import time
while True:
    used = time.process_time()
    print(time.monotonic(), used, flush=True)
    while time.process_time() < used + 0.005:
        pass
"""
_BUSY_LOOP = """
import time
print(time.monotonic(), used := time.process_time())
while time.process_time() < used + 1:
    pass
print(time.monotonic(), time.process_time())
"""

Execute = Callable[[ExecutionRequest, StopSignal, Watch | None], ExecutionOutcome]


class _FirstOutput:
    def __init__(self) -> None:
        self.seen = threading.Event()

    def output(self, chunk: bytes) -> None:
        """Note it."""
        self.seen.set()

    def usage(self, usage: ResourceUsage) -> Breach | None:
        """Return nothing."""
        return None


def idle_share(execute: Execute, folder: Path) -> float | None:
    """Return the share that an idle busy loop gets of what it and a usual one get on a core; None if they could not be run.

    Both are measured while the usual one works for a second of the processor, whatever else the machine does.

    `execute` runs an execution in the calling thread; the folder is new and readable by everybody.
    """
    view = folder / "view"
    view.mkdir()
    lease = Lease(cpus=(max(os.sched_getaffinity(0)),))

    def request(name: str, script: str, *, idle: bool) -> ExecutionRequest:
        name = f"{name}-{os.getpid()}"
        return ExecutionRequest(name, script, view, folder / name, Limits(_MOST_SECONDS), lease=lease, idle=idle)

    running = _FirstOutput()
    with stop_signal() as stop, stop_signal() as never, ThreadPoolExecutor(1) as thread:
        idle = thread.submit(execute, request("idle", _IDLE_LOOP, idle=True), stop, running)
        idle.add_done_callback(lambda _: running.seen.set())
        running.seen.wait(_START_SECONDS)
        try:
            busy = execute(request("busy", _BUSY_LOOP, idle=False), never, None)
        finally:
            stop.send()
        return _share(idle.result().output, busy.output)


def _share(idle: str, busy: str) -> float | None:
    try:
        (start, before), (end, after) = _numbers(busy)
        times, used_seconds = zip(*_numbers(idle), strict=True)
    except ValueError:
        return None
    seconds = float(used_seconds[bisect(times, end) - 1] - used_seconds[bisect(times, start) - 1])
    return seconds / (seconds + after - before)


def _numbers(output: str) -> list[tuple[float, float]]:
    """Return the two numbers of each line; the last may have been cut by its printer's end."""
    lines = output.rpartition("\n")[0].splitlines()
    return [(float(first), float(second)) for first, second in (line.split() for line in lines)]
