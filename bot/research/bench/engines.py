"""Parallel runs of a bench, as on a fleet: each has its own engine on this machine, a process `bot resume` on its folder."""

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from queue import SimpleQueue
from typing import IO, Any

from bot.cli.live_view import Say
from bot.execution.folder import RunFolder
from bot.replay.prepare import finished_result
from bot.replay.run_queue import Failed, RunOutcome
from bot.report.result import read_result
from bot.research.bench.bench import Bench, PlannedRun
from bot.research.bench.progress import BenchProgress
from bot.research.bench.spending import left_to_do, max_needed, refusal, reserved
from sandbox.launch import ended_with_us
from sandbox.leases import Leases
from sandbox.share import usable_cpus
from state.errors import UsageError

_ENGINES_A_CORE = 4
"""Parallel runs per core of this machine: an engine nearly always waits for scripts and models."""
_FAILED = {f.name for f in fields(Failed)}


def room_for(bench: Bench, leases: Leases, gpus: int) -> int:
    """Return the number of parallel runs: the plan's, or else as many as the leases have room for."""
    if bench.plan.max_parallel_runs is not None:
        return bench.plan.max_parallel_runs
    share = replace(bench.runs[0].setup, gpus=gpus, leases=leases).share()
    room = leases.room(share, parallel=bench.plan.run.parallel, gpus=gpus)
    return min(room, _ENGINES_A_CORE * usable_cpus())


@dataclass
class _Engine:
    """A run in progress; the kernel kills its process with ours, as it would end a run in this process."""

    run: PlannedRun
    folder: RunFolder
    process: subprocess.Popen[str]
    stdout: IO[bytes]
    display: ExitStack
    last: str = ""
    """Its last line on stderr."""

    def follow(self, say: Say, ended_engines: "SimpleQueue[_Engine]") -> None:
        """Show what the engine says until it ends."""
        for line in self.process.stderr or ():
            self.last = line.strip() or self.last
            # `bot resume` begins each line with the agent and the competition, which are shown anyway.
            say(self.last.partition(": ")[2] or self.last)
        self.process.wait()
        ended_engines.put(self)

    def outcome(self, *, stopped: bool) -> RunOutcome:
        """Return the outcome of the run, perhaps without a result after a request to stop."""
        self.stdout.seek(0)
        try:
            answer: dict[str, Any] = json.loads(self.stdout.read())
            if "error" in answer:
                result: Any = Failed(**{name: answer[name] for name in _FAILED})
            else:
                result = read_result(self.folder)
        except (ValueError, KeyError, UsageError):
            slug, seed, contender = self.run.key
            code = self.process.returncode
            reason = "it had only just started" if stopped else self.last or f"its engine exited with status {code}"
            result = Failed(slug, contender.agent, seed, reason, code == 2, "stopped" if stopped else "failed")
        return RunOutcome(self.folder.path, self.folder.path.name, result)


class Engines:
    """Does the unfinished runs of a bench, in order and several in parallel."""

    def __init__(self, bench: Bench, max_parallel: int, fleet: str, progress: BenchProgress) -> None:
        """Start nothing yet; `max_parallel` runs are done in parallel, and `fleet` is the address of the cluster."""
        self._bench, self._max_parallel, self._fleet, self._progress = bench, max_parallel, fleet, progress
        self._running: list[_Engine] = []
        self._ended: SimpleQueue[_Engine] = SimpleQueue()
        self._stopped = False
        self.ended_by: str | None = None
        """Why the bench ended before all of its runs were started; None: it did not."""

    def outcomes(self) -> Iterator[RunOutcome]:
        """Do the runs, and yield the outcome of each as it ends; after a request to stop, only running ones still end."""
        runs = self._in_order()
        with self._interruptible():
            while True:
                while not self._stopped and len(self._running) < self._max_parallel and (run := next(runs, None)):
                    folder = run.folder
                    if folder and (result := finished_result(folder)):
                        yield self._record(run, RunOutcome(folder.path, result.run_id, result))
                    elif folder:
                        self._start(run, folder)
                if not self._running:
                    return
                engine = self._ended.get()
                self._running.remove(engine)
                with engine.display:
                    outcome = engine.outcome(stopped=self._stopped)
                yield self._record(engine.run, outcome)

    def _record(self, run: PlannedRun, outcome: RunOutcome) -> RunOutcome:
        self._progress.record_outcome(run, outcome)
        return outcome

    def _in_order(self) -> Iterator[PlannedRun | None]:
        """Yield the runs in order; None: the next group needs budget that running ones may leave."""
        for group in self._bench.groups:
            while left_to_do(group):
                spending = reserved(self._bench.runs, [engine.run.key for engine in self._running])
                reason = refusal(self._bench.plan.budget, spending, max_needed(group))
                if reason is None:
                    break
                if not self._running:
                    self.ended_by = reason
                    return
                yield None
            yield from group

    def _start(self, run: PlannedRun, folder: RunFolder) -> None:
        options = ["--snapshot", str(run.snapshot.path), "--fleet", self._fleet, "--json"]
        command = [sys.executable, "-m", "bot", "resume", str(folder.path), *options]
        with ExitStack() as stack:
            say = stack.enter_context(self._progress.started(run, folder))
            output = stack.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(
                ended_with_us(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,  # Ctrl-C is for the bench, which passes it on
            )
            engine = _Engine(run, folder, process, output, stack.pop_all())
        self._running.append(engine)
        if self._stopped:  # just now: it was not among those that were told
            process.send_signal(signal.SIGTERM)
        threading.Thread(target=engine.follow, args=(say, self._ended), daemon=True).start()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Pass a request to stop on to the engines, which end in order; a second one ends this process, and them with it."""

        def stop(number: int, _: object) -> None:
            self._stopped = True
            signal.signal(number, before[signal.Signals(number)])
            for engine in self._running:
                engine.process.send_signal(signal.SIGTERM)

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            for engine in self._running:
                engine.process.kill()
