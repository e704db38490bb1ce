"""What keeps a lab from outside, in a thread of its own: passes orders on, reads its output, and enforces its limits."""

import os
import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import Breach, ExitReason
from sandbox.lab import CommandResult, LabDied, LabRequest, agent
from sandbox.lab.channel import CommandExit, Frame, FrameReader, NotUnderstood, encode_order, read_count, read_exit
from sandbox.lab.layout import DEEP, TMP, limits_of
from sandbox.lab.log import CommandLog
from sandbox.memory import oom_kills
from sandbox.output import ENGINE_MARK, CappedOutput
from sandbox.running import Running
from sandbox.watcher import Watcher
from state.errors import BotError
from state.redaction import Redactor

_INTERVAL = 0.2
_FIRST_CHECK = 0.05
_DUTY = 20
"""Checks of the disk take at most one of so many parts of the time: a lab may be busy for hours, and hold many files."""
_QUICK = 0.03
"""Seconds; a check of the disk that takes no longer is made at the end of each command."""
_CHUNK = 1 << 18
_ENGINE_BYTES = 4_000
_OPENING = 60.0
_ANSWER = 15.0
"""Seconds for the agent to carry out an order to end something."""
_DEATH = 10.0
_KILLED = 137
FULL_FILE_BYTES = 1_000_000
"""Largest file that commands can make while too much lies in the working folder: each of them may go over the limit before
that is noticed, and would go further with every command and every opening."""
_LASTING = {ExitReason.OUT_OF_MEMORY, ExitReason.DISK_LIMIT}
"""Limits that files may exceed when no process is left."""
_CLEAN_MEMORY = ["find", TMP, "/dev/shm", "-xdev", "-mindepth", "1", "-delete"]  # noqa: S108 - inside
_CLEAN_DEEP = ["find", agent.WORK, "-xdev", *DEEP, "-delete"]

Start = Callable[[Watcher], Running]
"""Starts the agent; called in the thread that then lasts as long as the lab, since bwrap dies with it."""


class _Over(Exception):
    """The lab is over; its text says why, and is empty if it was asked to close."""


@dataclass(frozen=True)
class RunOrder:
    """Run a command."""

    number: int
    command: str
    environment: Mapping[str, str]
    cpus: Sequence[int]
    seconds: float
    result: "Future[CommandResult]" = field(default_factory=Future)


@dataclass
class _Command:
    order: RunOrder
    log: CommandLog
    started: float
    deadline: float
    killed: bool = False
    """Whether it was told to end for its time, or because nobody wants it any more."""
    exit: CommandExit | None = None
    seconds: float = 0.0
    ended: bool = False
    """Whether a limit ended it."""


@dataclass
class _Ending:
    """The end of all processes, while it is carried out."""

    deadline: float
    breach: Breach | None
    cleaned: bool = False


class Keeper:
    """One lab while it is open."""

    def __init__(self, request: LabRequest, work: Path, start: Start) -> None:
        self._request = request
        self._start = start
        self._watcher = Watcher(limits_of(request), (work,), duty=_DUTY)
        self._redactor = request.redactor or Redactor()
        self._requests: queue.SimpleQueue[tuple[Callable[[], None], Future[Any] | None]] = queue.SimpleQueue()
        self._wake = os.eventfd(0)
        self._selector = selectors.DefaultSelector()
        self._frames = FrameReader()
        self._outgoing = bytearray()
        self._engine = CappedOutput(_ENGINE_BYTES)
        self._logs: dict[int, CommandLog] = {}
        self._command: _Command | None = None
        self._ending: _Ending | None = None
        self._busy = False
        self._runs = 0
        self._due = 0.0
        self._disk_checked_at = 0.0
        self._disk_check_seconds = 0.0
        self._notice: str | None = None
        self._ooms = oom_kills()
        self._idle_futures: list[Future[None]] = []
        self._jobs = 0
        self.alive = False
        """Whether it can run commands."""
        self._lock = threading.Lock()
        self.opened: Future[None] = Future()
        """Set once it can run commands; its error is LabDied."""
        self.closed: Future[None] = Future()
        """Set once all of it is gone."""
        self._thread = threading.Thread(target=self._keep, name=request.lab_id, daemon=True)

    def open(self) -> None:
        """Start it; `opened` tells when that is done."""
        self._thread.start()

    def run(self, run_order: RunOrder) -> None:
        """Have a command run; raises LabDied."""
        if not self._ask(lambda: self._run(run_order), run_order.result):
            raise LabDied("The lab has ended.")

    def stop(self, number: int) -> None:
        """Have a command ended."""
        self._ask(lambda: self._stop(number))

    def idle(self) -> "Future[None]":
        """Return what is set once no process runs any more."""
        future: Future[None] = Future()
        if not self._ask(lambda: self._when_idle(future), future):
            future.set_result(None)
        return future

    def close(self) -> None:
        """Have it closed; `closed` tells when that is done."""
        self._ask(self._close)

    def _ask(self, act: Callable[[], None], future: "Future[Any] | None" = None) -> bool:
        """Have our thread do something; return whether there is one. The future fails if it is not done."""
        with self._lock:
            if self._wake < 0:
                return False
            self._requests.put((act, future))
            os.eventfd_write(self._wake, 1)
            return True

    def _keep(self) -> None:
        reason = "The lab failed."
        try:
            running = self._start(self._watcher)
            try:
                self._serve(running)
            finally:
                self._take_down(running)
        except _Over as over:
            reason = self._death_notice(str(over))
        except BotError as error:
            self.opened.set_exception(error)
        except (OSError, NotUnderstood) as error:
            reason = self._death_notice(str(error))
        finally:
            self._answer_all(reason)

    def _death_notice(self, reason: str) -> str:
        output = self._engine.text().strip()
        return f"The lab's sandbox ended: {reason or 'it was closed'}" + (f" ({output})." if output else ".")

    def _serve(self, running: Running) -> None:
        descriptors = {"output": running.output, "engine": running.engine, "exit": running.ended, "wake": self._wake}
        for name, descriptor in descriptors.items():
            self._selector.register(descriptor, selectors.EVENT_READ, name)
        opening = time.monotonic() + _OPENING
        while True:
            now = time.monotonic()
            if self.alive:
                self._enforce_limits(running, now)
            elif now > opening:
                raise _Over("it did not start in time")
            self._read(running, self._next_event(opening) - time.monotonic())

    def _next_event(self, opening: float) -> float:
        """Return when there is something to do at the latest; an idle lab costs nothing."""
        times = [opening] if not self.alive else []
        if self._busy:
            times.append(self._due)
        if self._command and not self._command.exit:
            times.append(self._command.deadline)
        if self._ending:
            times.append(self._ending.deadline)
        return min(times, default=float("inf"))

    def _enforce_limits(self, running: Running, now: float) -> None:
        command = self._command
        if self._ending and now >= self._ending.deadline:
            raise _Over("it did not answer a request in time")
        if command and not command.exit and now >= command.deadline:
            if command.killed:
                raise _Over("it did not answer a request in time")
            self._stop(command.order.number)
        if self._busy and now >= self._due:
            if not self._ending:
                usage, breach = running.measure()
                if self._command is None and usage.processes is not None:
                    self._jobs = max(0, usage.processes - 1)
                if breach:
                    self._end(breach)
            self._due = time.monotonic() + _INTERVAL

    def _read(self, running: Running, timeout: float) -> None:
        events = selectors.EVENT_WRITE if self._outgoing else 0
        self._writable(running.input, events)
        wait = None if timeout == float("inf") else max(0.0, timeout)
        ready = {key.data for key, _ in self._selector.select(wait)}
        if "input" in ready:
            self._send(running)
        if "engine" in ready:
            self._engine.add(self._chunk(running.engine))
        if "output" in ready:
            for frame in self._frames.feed(self._chunk(running.output)):
                self._receive(running, frame)
        elif "exit" in ready:  # all that it said has been read
            raise _Over("its first process ended")
        if "wake" in ready:
            os.eventfd_read(self._wake)
            while not self._requests.empty():
                self._requests.get()[0]()

    def _chunk(self, descriptor: int) -> bytes:
        if not (chunk := os.read(descriptor, _CHUNK)):
            self._selector.unregister(descriptor)
        return chunk

    def _writable(self, stream: socket.socket | None, events: int) -> None:
        if stream is None:
            return
        registered = stream in self._selector.get_map()
        if events and not registered:
            self._selector.register(stream, events, "input")
        elif registered and not events:
            self._selector.unregister(stream)

    def _send(self, running: Running) -> None:
        try:
            sent_bytes = running.input.send(self._outgoing, socket.MSG_DONTWAIT) if running.input else 0
        except BlockingIOError:
            return
        except OSError as error:
            raise _Over(f"it does not accept requests ({error.strerror})") from error
        del self._outgoing[:sent_bytes]

    def _receive(self, running: Running, frame: Frame) -> None:
        log = self._logs.get(frame.number)
        command = self._command
        match frame.kind:
            case agent.READY if not self.alive:
                self.alive = True
                self._watcher.tolerate()
                self.opened.set_result(None)
            case agent.OUTPUT if log:
                log.add(frame.content)
            case agent.LEFT_OUT if log:
                log.leave_out(read_count(frame.content))
            case agent.CLOSED if log:
                log.close()
                del self._logs[frame.number]
            case agent.EXITED if command and command.order.number == frame.number and not command.exit:
                self._note_exit(command, read_exit(frame.content))
            case agent.IDLE if frame.number < self._runs:
                pass  # another command was on its way
            case agent.IDLE if self._busy and frame.number == self._runs:
                self._busy = False
                self._jobs = 0
                self._report_idle()
            case agent.ENDED if self._ending:
                self._finish_ending(running, self._ending)
            case _:
                raise NotUnderstood(f"it sent an unexpected answer ({frame.kind})")

    def _run(self, order: RunOrder) -> None:
        if not order.result.set_running_or_notify_cancel():
            return
        if self._command:
            order.result.set_exception(RuntimeError("a lab runs one command at a time"))
            return
        limits = self._request.limits
        log = CommandLog(self._request.folder / "logs", order.number, limits, self._redactor)
        self._logs[order.number] = log
        now = time.monotonic()
        self._command = _Command(order, log, now, now + order.seconds)
        self._outgoing += encode_order(
            "run",
            number=order.number,
            command=order.command.encode(errors="replace").decode(),
            environment=dict(order.environment),
            cpus=list(order.cpus),
            keep=limits.output_bytes,
            file_bytes=FULL_FILE_BYTES if self._watcher.overfull() else None,
        )
        self._busy = True
        self._runs += 1
        self._due = now + _FIRST_CHECK

    def _stop(self, number: int) -> None:
        command = self._command
        if command and command.order.number == number and not command.exit and not command.killed:
            command.killed = True
            command.deadline = time.monotonic() + _ANSWER
            self._outgoing += encode_order("kill", number=number)

    def _when_idle(self, future: "Future[None]") -> None:
        self._idle_futures.append(future)
        if not self._busy and not self._ending:
            self._report_idle()

    def _report_idle(self) -> None:
        futures, self._idle_futures = self._idle_futures, []
        for future in futures:
            if future.set_running_or_notify_cancel():
                future.set_result(None)

    def _end(self, breach: Breach | None, cleaning: Sequence[Sequence[str]] = ()) -> None:
        """Have all processes ended; what was cleaned up says so in the result."""
        if self._command and not self._command.exit:
            self._command.ended = True
        before = self._ending
        self._ending = _Ending(time.monotonic() + _ANSWER, breach or (before and before.breach) or None, bool(cleaning))
        self._outgoing += encode_order("end", cleaning=[list(entry) for entry in cleaning])

    def _finish_ending(self, running: Running, ending: _Ending) -> None:
        if ending.breach:
            if ending.breach.reason is ExitReason.DISK_LIMIT:
                self._watcher.tolerate()
            _, still = running.measure()
            if still and still.reason in _LASTING and not ending.cleaned:
                self._end(ending.breach, [_CLEAN_MEMORY, _CLEAN_DEEP])
                return
            notice = f"{ending.breach.detail} All processes in the lab were ended."
            if self._watcher.overfull():
                notice += f" Until you delete files in {agent.WORK}, no file can grow beyond {FULL_FILE_BYTES} bytes."
            if ending.cleaned:
                notice += " Files in /tmp and /dev/shm and too deeply nested folders were removed."
            self._note(notice)
        self._ending = None
        if not self._busy:
            self._report_idle()
        self._reply()

    def _note_exit(self, command: _Command, exit: CommandExit) -> None:
        command.exit = exit
        start = time.monotonic()
        command.seconds = start - command.started
        self._jobs = exit.jobs
        is_quick = self._disk_check_seconds <= _QUICK
        if not self._ending and (is_quick or start - self._disk_checked_at >= _DUTY * self._disk_check_seconds):
            breach = self._watcher.check_disk()
            self._disk_checked_at = time.monotonic()
            self._disk_check_seconds = self._disk_checked_at - start
            if breach:
                self._end(breach)
        before, self._ooms = self._ooms, oom_kills()
        # The kernel may kill one for memory, as in a container.
        if self._ooms > before and exit.code == _KILLED and not command.killed and not command.ended:
            limit = self._request.limits.memory_bytes
            self._note(f"The kernel killed a process for using too much memory; the limit is {limit} bytes.")
        self._reply()

    def _note(self, sentence: str) -> None:
        self._notice = f"{self._notice} {sentence}" if self._notice else sentence

    def _reply(self) -> None:
        """Give the result of the command that has exited, unless processes are just being ended."""
        command = self._command
        if command is None or command.exit is None or self._ending:
            return
        self._command = None
        was_killed = command.exit.code == _KILLED and (command.killed or command.ended)
        notice, self._notice = self._notice, None
        result = CommandResult(
            output=command.log.excerpt(ENGINE_MARK),
            exit_code=None if was_killed else command.exit.code,
            seconds=command.seconds,
            timed_out=was_killed and not command.ended,
            notice=notice,
            jobs=self._jobs,
            running=tuple(command.exit.running) if self._jobs else (),
        )
        command.order.result.set_result(result)

    def _close(self) -> None:
        raise _Over("")

    def _take_down(self, running: Running) -> None:
        """Kill all of it, reading what comes, and reap it."""
        self.alive = False
        self._writable(running.input, 0)
        running.kill()
        deadline = time.monotonic() + _DEATH
        has_ended = False
        while not has_ended and (seconds := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(seconds):
                if key.data == "exit":
                    has_ended = True
                elif key.data == "wake" or not (chunk := os.read(key.fd, _CHUNK)):
                    self._selector.unregister(key.fd)
                elif key.data == "engine":
                    self._engine.add(chunk)
        if has_ended:
            running.reap()
        running.close()

    def _answer_all(self, reason: str) -> None:
        self.alive = False
        self._jobs = 0
        with self._lock:
            os.close(self._wake)
            self._wake = -1
        self._selector.close()
        if not self.opened.done():
            self.opened.set_exception(LabDied(reason))
        for log in self._logs.values():
            log.close()
        if command := self._command:
            seconds, output = time.monotonic() - command.started, command.log.excerpt(ENGINE_MARK)
            command.order.result.set_result(CommandResult(output, None, seconds, False, reason, 0))
        while not self._requests.empty():
            _, future = self._requests.get()
            if future and future.set_running_or_notify_cancel():
                future.set_exception(LabDied(reason))
        self._report_idle()
        self.closed.set_result(None)
