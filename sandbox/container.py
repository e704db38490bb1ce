"""A program in a container of its own, while it runs."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import psutil
from docker import DockerClient
from docker.errors import APIError, ImageNotFound
from docker.utils.socket import STDOUT, frames_iter

from sandbox import Breach, ExitReason, Limits, ResourceUsage
from sandbox.idle import USUAL_SHARES
from sandbox.image.engine import ENGINE_FAILURES, EngineError, attach, say
from sandbox.launch import TASK_SLACK
from sandbox.profile import INSTANCE
from sandbox.running import ProcessExit
from sandbox.watcher import Watcher

_KILLED = 137
_CONFLICT = 409
_POLL_SECONDS = 0.2
"""Pause between two requests for its usage."""
_CROWDED = 2
_JOIN_SECONDS = 5.0
"""For our threads to end once the container is gone."""


class Container:
    """A container in which a script runs; a `Running`."""

    def __init__(
        self,
        engine: DockerClient,
        options: Mapping[str, Any],
        limits: Limits,
        watcher: Watcher,
        resources: ExitStack,
        *,
        talks: bool = False,
    ) -> None:
        """Create it, attach to it, and only then start it, so that no output is missed.

        `resources` are closed when it is gone, once it has been started; `talks`: it has an input.

        Raises:
            EngineError: It could not be started; nothing is left of it.
        """
        self._api = engine.api
        self._engine = engine
        self._limits = limits
        self._watcher = watcher
        self._failure: Exception | None = None
        self._usage = ResourceUsage(0.0)
        self._peak = 0
        self._stats: Mapping[str, Any] = {}
        self._inside: psutil.Process | None = None
        self._over = threading.Event()
        self._requested = threading.Event()
        self._crowded = 0
        self._name = str(options["name"])
        self._idle = "cpu_shares" in options
        self._paused = self._pause_wanted = False
        self._tasks = int(options["pids_limit"]) - TASK_SLACK
        _create(engine, options)
        try:
            self._stream = attach(engine, self._name)
            try:
                self._api.start(self._name)
                self._stream.sendall(b"\n")  # the shell inside waits for it
            except ENGINE_FAILURES:
                self._stream.close()
                raise
        except ENGINE_FAILURES as error:
            _remove(engine, self._name)
            raise EngineError(f"Cannot start the container: {say(error)}") from error
        self.input = self._stream if talks else None
        self._resources = resources.pop_all()
        self._start = time.monotonic()
        self.output, output_end = os.pipe()
        self.engine, engine_end = os.pipe()
        os.close(engine_end)  # the engine reports problems as errors
        self.ended = os.eventfd(0)
        self._threads = [
            threading.Thread(target=self._poll, name=f"{self._name}-usage", daemon=True),
            threading.Thread(target=self._pump, args=(output_end,), name=f"{self._name}-output", daemon=True),
            threading.Thread(target=self._await_end, name=f"{self._name}-end", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def measure(self) -> tuple[ResourceUsage, Breach | None]:
        """Use the engine's last report on memory, CPU and tasks; measure the folders ourselves."""
        self._requested.set()
        stats, self._stats = self._stats, {}
        cpu = stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
        memory = _memory(stats.get("memory_stats", {}))
        breach = self._watcher.check_written(self._members())
        self._peak = max(self._peak, memory or 0)
        self._usage = ResourceUsage(
            seconds=time.monotonic() - self._start,
            cpu_seconds=cpu / 1e9 if cpu else self._usage.cpu_seconds,
            memory_bytes=memory or self._usage.memory_bytes,
            written_bytes=self._watcher.written_bytes,
        )
        if stats:
            # Twice in a row: an answer may be older than what has been ended since.
            self._crowded = self._crowded + 1 if stats.get("pids_stats", {}).get("current", 0) > self._tasks else 0
        if self._crowded >= _CROWDED:
            self._crowded = 0
            detail = f"It ran more than {self._limits.processes} processes and threads at once."
            return self._usage, Breach(ExitReason.PROCESS_LIMIT, detail)
        return self._usage, breach

    def _poll(self) -> None:
        """Ask the engine for the usage and for pauses, whenever that was requested.

        In a thread of its own: at a container's end the engine answers only after all output has been read, which is
        done by the thread that measures.
        """
        while self._requested.wait() and not self._over.is_set():
            self._requested.clear()
            with contextlib.suppress(*ENGINE_FAILURES):
                if (is_wanted := self._pause_wanted) != self._paused:
                    (self._api.pause if is_wanted else self._api.unpause)(self._name)
                    self._paused = is_wanted
            with contextlib.suppress(*ENGINE_FAILURES, psutil.Error):  # where it has ended, another thread sees it
                if self._inside is None:
                    self._inside = psutil.Process(self._api.inspect_container(self._name)["State"]["Pid"])
                self._stats = self._api.stats(self._name, stream=False, one_shot=True)
            self._over.wait(_POLL_SECONDS)

    def pause(self) -> None:
        """Have the engine freeze it."""
        self._pause_wanted = True
        self._requested.set()

    def resume(self) -> None:
        """Have the engine let it go on."""
        self._pause_wanted = False
        self._requested.set()

    def kill(self) -> None:
        """Kill it with all its processes; the caller must read its output meanwhile, or the engine does not answer."""
        if self._threads[-1].is_alive():
            self._threads.insert(0, threading.Thread(target=self._kill, name=f"{self._name}-kill", daemon=True))
            self._threads[0].start()

    def _kill(self) -> None:
        # An error means that the container has just ended, or the engine has, which only its next start can fix.
        if self._idle:  # else its death would take minutes beside a busy command: it must give back its memory
            with contextlib.suppress(*ENGINE_FAILURES):
                self._api.update_container(self._name, cpu_shares=USUAL_SHARES)
        with contextlib.suppress(*ENGINE_FAILURES):
            self._api.kill(self._name)

    def reap(self) -> ProcessExit:
        """Ask the engine how it ended."""
        try:
            state = self._api.inspect_container(self._name)["State"]
        except ENGINE_FAILURES as error:
            state = {"Running": True, "Error": say(error)}
        if state["Running"]:
            reason = state["Error"] or (say(self._failure) if self._failure else "the container was lost")
            return ProcessExit(_KILLED, breach=Breach(ExitReason.INFRASTRUCTURE, f"The Docker engine failed: {reason}"))
        killed = bool(state["OOMKilled"])
        return ProcessExit(
            exit_code=state["ExitCode"],
            cpu_seconds=self._usage.cpu_seconds,
            peak_memory_bytes=self._limits.memory_bytes if killed else self._peak or None,
            breach=self._watcher.check_disk(),
            out_of_memory=killed,
        )

    def close(self) -> None:
        """Remove the container, and close the descriptors."""
        self._over.set()
        self._requested.set()
        os.close(self.output)  # the pump then throws away what still comes
        _remove(self._engine, self._name)
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)  # should the engine not have
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        self._stream.close()
        os.close(self.engine)
        if not self._threads[-1].is_alive():
            os.close(self.ended)
        self._resources.close()

    def _pump(self, pipe: int) -> None:
        """Pass its output on, and keep reading when nobody wants it any more: unread output would block the container."""
        is_open = True
        with contextlib.suppress(*ENGINE_FAILURES, ValueError):
            for kind, chunk in frames_iter(self._stream, tty=False):
                if is_open and kind == STDOUT:  # all of a script's output; on stderr the shell greets us
                    is_open = _write(pipe, chunk)
        os.close(pipe)

    def _await_end(self) -> None:
        try:
            self._api.wait(self._name)
        except ENGINE_FAILURES as error:
            self._failure = error
        finally:
            self._over.set()
            self._requested.set()
            os.eventfd_write(self.ended, 1)

    def _members(self) -> list[psutil.Process]:
        """Return its processes as far as this user sees them, for the open files without a name that they hold."""
        try:
            return self._inside.children(recursive=True) if self._inside else []
        except psutil.Error:
            return []


def _remove(engine: DockerClient, name: str) -> None:
    with contextlib.suppress(*ENGINE_FAILURES):  # the next start of this instance removes what is left
        engine.api.remove_container(name, v=True, force=True)


def _create(engine: DockerClient, options: Mapping[str, Any]) -> None:
    """Create it; its name is the key of the execution: a container that an earlier attempt of ours left is removed."""
    try:
        try:
            engine.containers.create(**options)
        except APIError as error:
            if error.status_code != _CONFLICT:
                raise
            stale = engine.containers.get(options["name"])
            if stale.labels.get(INSTANCE) != options["labels"][INSTANCE]:
                raise
            stale.remove(v=True, force=True)
            engine.containers.create(**options)
    except ImageNotFound as error:
        raise EngineError(f"Docker image {options['image']} not found: run `make image`.") from error
    except ENGINE_FAILURES as error:
        raise EngineError(f"Cannot create the container: {say(error)}") from error


def _memory(stats: Mapping[str, Any]) -> int | None:
    """Return the bytes held, without what the kernel can drop at once (cgroup v1 and v2 name it differently)."""
    if "usage" not in stats:
        return None
    detail = stats.get("stats", {})
    return max(0, int(stats["usage"]) - int(detail.get("total_inactive_file", detail.get("inactive_file", 0))))


def _write(pipe: int, chunk: bytes) -> bool:
    """Write it all; return whether anybody still reads."""
    remaining = memoryview(chunk)
    try:
        while remaining:
            remaining = remaining[os.write(pipe, remaining) :]
    except BrokenPipeError:
        return False
    return True
