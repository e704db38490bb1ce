"""One execution from request to outcome, the same for every back end that runs on this machine."""

import asyncio
import itertools
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from sandbox import ExecutionOutcome, ExecutionRequest, ExitReason, Lease, Limits, SandboxDescription, Watch
from sandbox.collect import OutputFiles, collect, collect_folder
from sandbox.environments import ScriptEnvironment
from sandbox.gpu import metered
from sandbox.idle_probe import SMALL_SHARE, idle_share
from sandbox.instance import owner
from sandbox.lab import LabHandle, LabRequest
from sandbox.lab.session import SearchPaths, open_session
from sandbox.launch import path_of
from sandbox.memory import oom_kills
from sandbox.quiet import PauseSignal, QuietCores
from sandbox.running import Running
from sandbox.settings import SandboxSettings
from sandbox.supervise import Ending, StopSignal, Supervisor, stop_signal
from sandbox.thread_join import join_thread
from sandbox.watcher import Watcher
from sandbox.workspace import LOG_NAME, Workspace, check_request, fresh_workspace
from state.errors import UsageError
from state.files import write_whole

_TAIL = 4000
_NO_MEMORY = re.compile(
    r"^[\w.]*MemoryError\b|std::bad_alloc|Cannot allocate memory|can't allocate memory", re.MULTILINE
)
_NO_GPU_MEMORY = re.compile(
    r"torch(?:\.cuda)?\.OutOfMemoryError|cupy[\w.]*OutOfMemoryError|CUDA\]? (?:error(?: \d+)?: )?out of memory"
    r"|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED"
    r"|OOM when allocating .*GPU|Memory Object Allocation Failure",
    re.IGNORECASE,
)
"""The messages of torch, CuPy, CUDA's runtime, driver and libraries, TensorFlow and OpenCL (LightGBM)."""
_BOOSTING = re.compile(r"^[\w.]*(?:XGBoost|LightGBM|CatBoost)Error: .*", re.MULTILINE | re.DOTALL)
_FILE_TOO_LARGE = re.compile(r"^OSError: \[Errno 27\]", re.MULTILINE)
_NO_SPACE = re.compile(r"^OSError: \[Errno 28\]", re.MULTILINE)
_NO_PROCESS = re.compile(r"^BlockingIOError: \[Errno 11\]|can't start new thread", re.MULTILINE)
_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True)
class Verdict:
    """The reason, a sentence on it, and oddities."""

    reason: ExitReason
    detail: str | None = None
    notes: list[str] = field(default_factory=list)


def reach_verdict(ending: Ending, limits: Limits, *, host_oom: bool, disk_full: bool) -> Verdict:
    """Return why it ended.

    `host_oom`: the kernel killed for memory anywhere on the machine meanwhile. `disk_full`: the disk of the working
    folder is.
    """
    if ending.reaped.exit_code is None:
        return Verdict(ExitReason.INFRASTRUCTURE, "A process could not be killed because it is stuck in the kernel.")
    if ending.engine and ending.reaped.exit_code != 0 and ending.breach is None:
        return Verdict(ExitReason.INFRASTRUCTURE, f"The sandbox could not start the script: {ending.engine}")
    tail = ending.output.text()[-_TAIL:]
    no_gpu_memory = _lacks_gpu_memory(tail)
    if ending.breach is not None:
        notes = ["One of its processes ran out of memory earlier."] if ending.reaped.out_of_memory else []
        return Verdict(ending.breach.reason, ending.breach.detail, notes)
    if ending.reaped.exit_code == 0:
        ran_out = ending.reaped.out_of_memory or _NO_MEMORY.search(tail) or no_gpu_memory
        notes = ["Part of the script ran out of memory, but it exited normally."] if ran_out else []
        return Verdict(ExitReason.FINISHED, None, notes)
    if ending.reaped.out_of_memory:
        detail = f"It or a child process was killed for using too much memory (limit: {limits.memory_bytes} bytes)."
        return Verdict(ExitReason.OUT_OF_MEMORY, detail)
    if no_gpu_memory:
        peak = ending.peak_gpu_memory_bytes
        peak_text = "" if peak is None else f" (peak usage: {peak} bytes)"
        return Verdict(ExitReason.GPU_OUT_OF_MEMORY, f"It ran out of GPU memory{peak_text}.")
    return _error(ending.reaped.exit_code, tail, limits, host_oom=host_oom, disk_full=disk_full)


def _error(code: int, tail: str, limits: Limits, *, host_oom: bool, disk_full: bool) -> Verdict:
    if _NO_SPACE.search(tail) and disk_full:
        return Verdict(ExitReason.INFRASTRUCTURE, "The disk of the working folder is full.")
    if _NO_MEMORY.search(tail):
        return Verdict(ExitReason.OUT_OF_MEMORY, f"It ran out of memory; the limit is {limits.memory_bytes} bytes.")
    if code == _KILLED and host_oom:
        return Verdict(ExitReason.OUT_OF_MEMORY, "The system ran out of memory and killed it.")
    if _FILE_TOO_LARGE.search(tail) or _NO_SPACE.search(tail):
        return Verdict(ExitReason.DISK_LIMIT, f"It tried to write more than {limits.written_bytes} bytes of files.")
    if _NO_PROCESS.search(tail):
        return Verdict(ExitReason.PROCESS_LIMIT, f"It tried to run more than {limits.processes} processes and threads.")
    if code - 128 in set(signal.Signals):
        return Verdict(ExitReason.ERROR, f"It was killed by {signal.Signals(code - 128).name}.")
    return Verdict(ExitReason.ERROR)


def _lacks_gpu_memory(tail: str) -> bool:
    if _NO_GPU_MEMORY.search(tail):
        return True
    error = _BOOSTING.search(tail)
    message = error[0].lower() if error else ""
    return "cuda" in message and any(words in message for words in ("out of memory", "bad_alloc", "allocation error"))


_FULL_DISK = 16 * 1024**2
_TRIAL_SECONDS = 60.0
_probing = threading.Lock()
_shares: dict[tuple[type["LocalSandbox"], str | None], float] = {}
"""Share of a core that an idle execution got beside another, by back end and runtime."""


class LocalSandbox(ABC):
    """A `Sandbox` on this machine: the common part of all back ends."""

    isolates: ClassVar[bool] = False
    """Whether it isolates scripts from the machine; if not, only scripts of the built-in model run in it by default."""

    def __init__(
        self,
        instance: str = "bot",
        settings: SandboxSettings | None = None,
        environment: ScriptEnvironment | None = None,
    ) -> None:
        """Prepare; `instance` identifies its containers after a crash, `environment` holds the packages of scripts."""
        self._instance = instance
        self._settings = settings or SandboxSettings()
        self._environment = environment
        self._turns = itertools.count()
        self._quiet = QuietCores()

    def problem(self) -> str | None:
        """Return in one sentence why it cannot be used here, found out by running it; None if it works."""
        return None

    @abstractmethod
    def describe(self) -> SandboxDescription:
        """Return what it cannot contain, and the environment of its scripts."""

    @property
    def _python(self) -> Path:
        return self._environment.executable if self._environment else Path(sys.executable)

    def _describe(self, name: str, gaps: tuple[str, ...]) -> SandboxDescription:
        if (environment := self._environment) is None:
            return SandboxDescription(name, gaps, isolates=self.isolates)
        python, packages = environment.record.python, environment.packages()
        return SandboxDescription(name, gaps, python, packages, environment.name, isolates=self.isolates)

    @abstractmethod
    def start(self, request: ExecutionRequest, workspace: Workspace) -> Running:
        """Start the script, which lies in the workspace; raises OSError where the machine does not allow it."""

    @asynccontextmanager
    async def open_lab(self, request: LabRequest) -> AsyncIterator[LabHandle]:
        """Open a lab, closed at the end; its `work` stays.

        Raises:
            UsageError: This back end has no labs.
            LabDied: It could not be opened.
            ValueError: No caller should make this request.
        """
        if type(self).start_lab is LocalSandbox.start_lab:
            raise UsageError("labs require --sandbox bubblewrap or --sandbox docker")
        async with open_session(request, self.start_lab, self.search_paths) as lab:
            yield lab

    @property
    def search_paths(self) -> SearchPaths:
        """Where commands of a lab find programs and packages."""
        return SearchPaths(path_of(self._python))

    def start_lab(self, request: LabRequest, work: Path, watcher: Watcher) -> Running:
        """Start the agent of a lab in its working folder, where this back end has labs; raises OSError as `start`."""
        raise NotImplementedError

    async def run(self, request: ExecutionRequest, watch: Watch | None = None) -> ExecutionOutcome:
        """Run an execution in a thread of its own; when the task is cancelled, kill it, wait for that, and re-raise.

        A thread of its own, not the loop's shared ones: it lasts as long as the script, and bwrap dies with the thread
        that started it.
        """
        check_request(request)
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            stop, pause = stack.enter_context(stop_signal()), None
            if request.idle:
                gives_way = await asyncio.to_thread(self._gives_way)
                pause = stack.enter_context(self._quiet.signal(request.lease, gives_way=gives_way))
            thread = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix=request.execution_id))
            return await join_thread(
                loop.run_in_executor(thread, execute, self, request, stop, watch, pause), stop.send
            )

    def quiet(self, lease: Lease, *, from_all: bool = False) -> AbstractContextManager[None]:
        """See `Sandbox`."""
        return self._quiet.keep(lease, from_all=from_all)

    def _gives_way(self) -> bool:
        """Return whether the priority of idle executions keeps them out of the way here, found out once."""
        with _probing:
            key = type(self), self._settings.runtime
            if key not in _shares:
                with _trial_folder() as folder:
                    share = idle_share(partial(execute, self), folder)
                if share is None:
                    return False
                _shares[key] = share
            return _shares[key] < SMALL_SHARE


def try_out(sandbox: LocalSandbox, script: str = "") -> tuple[bool, str]:
    """Run a script on a view with a file `probe`; return whether it ended well, and its output or the engine's error."""
    with _trial_folder() as folder, stop_signal() as stop:
        view = folder / "view"
        view.mkdir()
        (view / "probe").write_text("seen")
        limits = Limits(_TRIAL_SECONDS)
        request = ExecutionRequest(f"probe-{os.getpid()}", script, view, folder / "out", limits)
        outcome = execute(sandbox, request, stop)
    if outcome.reason is ExitReason.FINISHED:
        return True, outcome.output
    return False, (outcome.detail or outcome.output or "no reason given").strip()


@contextmanager
def _trial_folder() -> Iterator[Path]:
    """Give a folder that every user can enter, and that is found again after a crash."""
    with tempfile.TemporaryDirectory(prefix=f"bot-{owner()}-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def execute(
    sandbox: LocalSandbox,
    request: ExecutionRequest,
    stop: StopSignal,
    watch: Watch | None = None,
    pause: PauseSignal | None = None,
) -> ExecutionOutcome:
    """Run an execution in this thread; the engine's own failures become an outcome."""
    for folder in (request.view, *request.mounts.values(), *request.inputs.values()):
        if not folder.is_dir():
            return _failure(f"No such folder: {folder}.")
    try:
        with fresh_workspace(request) as workspace, metered(request.lease.gpus) as meter:
            supervisor, ooms = Supervisor(request, stop, watch, meter, pause), oom_kills()
            ending = supervisor.follow(sandbox.start(request, workspace))
            full = shutil.disk_usage(request.out).free < _FULL_DISK
            verdict = reach_verdict(ending, request.limits, host_oom=oom_kills() > ooms, disk_full=full)
            if verdict.reason is ExitReason.INFRASTRUCTURE:
                return _failure(verdict.detail, ending.seconds)
            text = ending.output.text()
            write_whole(request.out / LOG_NAME, text)
            collected = _collect(workspace, request)
    except OSError as error:
        return _failure(f"The sandbox failed: {error}")
    return ExecutionOutcome(
        reason=verdict.reason,
        exit_code=ending.reaped.exit_code,
        seconds=ending.seconds,
        cpu_seconds=ending.reaped.cpu_seconds,
        peak_memory_bytes=ending.reaped.peak_memory_bytes,
        output=text,
        files=collected.files,
        detail=verdict.detail,
        peak_gpu_memory_bytes=ending.peak_gpu_memory_bytes,
        notes=(*verdict.notes, *collected.notes),
    )


def _collect(workspace: Workspace, request: ExecutionRequest) -> OutputFiles:
    if workspace.work.is_symlink() or not workspace.work.is_dir():
        return OutputFiles(notes=["It removed its working folder."])
    collected = collect(workspace.work, request.keep, request.out)
    for name in request.keep_folders:
        if (problem := collect_folder(workspace.work, name, request.out, request.mounts)) is not None:
            collected.notes.append(f"{name}/ was not kept: {problem}")
    return collected


def _failure(detail: str | None, seconds: float = 0.0) -> ExecutionOutcome:
    return ExecutionOutcome(ExitReason.INFRASTRUCTURE, None, seconds, None, None, output="", files={}, detail=detail)
