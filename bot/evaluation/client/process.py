"""The connection between the bot and its worker process: a line of JSON each way, over the child's pipes."""

import asyncio
import contextlib
import importlib
import inspect
import json
import os
import queue
import resource
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Generic, ParamSpec, TextIO, TypeVar, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from state import errors
from state.children import end_child

DEFAULT_MEMORY = 6 * 1024**3
DEFAULT_SECONDS = 600.0
_LONGEST_ANSWER = 1 << 28
_STDERR_LINES = 50
_MEASURED_NANOSECONDS = 200_000_000
"""On a core, after which the child's slowness is measured again."""
_ENVIRONMENT = (
    *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH"),
    *("MPLCONFIGDIR", "XDG_CACHE_HOME"),
)
"""Variables that the worker inherits; it never gets keys and tokens."""


Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


class WorkerProcess:
    """Runs functions in one child process, one at a time; it starts with the first call.

    A call that was cancelled or timed out may still have had an effect. The child is killed then, and the next call
    starts a fresh one.
    """

    def __init__(
        self,
        *,
        memory_bytes: int = DEFAULT_MEMORY,
        seconds: float = DEFAULT_SECONDS,
        idle_seconds: float | None = None,
        nice: int = 0,
    ) -> None:
        """Prepare; no process is started yet.

        A call lasts at most `seconds`, unless it names its own limit; after `idle_seconds` without a call the child is ended,
        to free its memory.
        """
        self._memory_bytes = memory_bytes
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._nice = nice
        self._resting: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._drain: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._slowness, self._measured = 1.0, (0, 0)
        """As last measured, and the child's nanoseconds on a core and in wait of one at that time."""

    @property
    def pid(self) -> int | None:
        """The child's process id while it lives."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    @property
    def slowness(self) -> float:
        """How many times longer the child took of late than on an idle machine, beside others; 1 if it was not measured yet."""
        with contextlib.suppress(OSError, ValueError):
            running, queued, _ = map(int, Path(f"/proc/{self.pid}/schedstat").read_text().split())
            work, delay = running - self._measured[0], queued - self._measured[1]
            if work >= _MEASURED_NANOSECONDS:
                self._measured, self._slowness = (running, queued), (work + delay) / work
        return self._slowness

    async def call(
        self, function: str, answer: type[Answer], timeout_seconds: float | None = None, /, *args: Any, **kwargs: Any
    ) -> Answer:
        """Run one function, `module:name`, in the child; return what it returns, which is of the type `answer`.

        Raises:
            BotError: our error that the function raised, as the same class.
            InfrastructureFailure: the function failed in another way, took too long, or the process died.
        """
        name = function.partition(":")[2]
        async with self._turn:
            await self._rest_no_more()
            if self.pid is None:
                await self._stop()
                await self._start()
            line = json.dumps({"function": function, **to_jsonable_python({"args": args, "kwargs": kwargs})}) + "\n"
            try:
                async with asyncio.timeout(timeout_seconds or self._seconds):
                    reply = await self._exchange(line)
            except TimeoutError as error:
                await self._stop()
                limit = timeout_seconds or self._seconds
                raise errors.InfrastructureFailure(f"The operation {name} took longer than {limit:g} s.") from error
            except BaseException:
                # Cancelled, or the pipe is broken: the next answer would not be the next call's.
                await self._stop()
                raise
            if self._idle_seconds is not None:
                self._resting = asyncio.create_task(self._end_when_idle(self._idle_seconds))
        return TypeAdapter(answer).validate_python(_result(name, reply))

    async def aclose(self) -> None:
        """End the child, if there is one; a later call starts another."""
        async with self._turn:
            await self._rest_no_more()
            await self._stop()

    async def _end_when_idle(self, seconds: float) -> None:
        """End the child after a while, unless a call comes first."""
        await asyncio.sleep(seconds)
        if not self._turn.locked():
            async with self._turn:
                await self._stop()

    async def _rest_no_more(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
            await asyncio.wait({self._resting})
            self._resting = None

    async def _start(self) -> None:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        # Each BLAS thread reserves address space, which is limited, and other work needs the cores.
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # The child finds our packages where this process did, and nothing in the current folder (-P).
        paths = (str(Path(__file__).parents[3]), environment.get("PYTHONPATH", ""))
        environment |= {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUTF8": "1"}
        self._stderr.clear()
        self._measured = (0, 0)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "bot.evaluation.client.process", str(self._memory_bytes)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,
            limit=_LONGEST_ANSWER,
        )
        if self._nice:
            # Also the weight of its session, by which the kernel shares a core first.
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, self._nice)
                Path(f"/proc/{self._process.pid}/autogroup").write_text(str(self._nice))
        self._measured = (0, 0)
        self._drain = asyncio.create_task(self._keep_stderr(self._process))

    async def _keep_stderr(self, process: asyncio.subprocess.Process) -> None:
        if process.stderr is not None:
            while line := await process.stderr.readline():
                self._stderr.append(line.decode("utf-8", "replace").rstrip())

    async def _exchange(self, line: str) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise errors.InfrastructureFailure("The worker process did not start.")
        try:
            process.stdin.write(line.encode())
            await process.stdin.drain()
            answer = await process.stdout.readline()
        except ConnectionError:
            answer = b""
        if not answer.endswith(b"\n"):
            status = await process.wait()
            if self._drain is not None:
                await self._drain
            words = " | ".join(list(self._stderr)[-5:])
            ending = f": {words}" if words else "."
            raise errors.InfrastructureFailure(f"The worker process ended with status {status}{ending}")
        reply: dict[str, Any] = json.loads(answer)
        return reply

    async def _stop(self) -> None:
        process, drain = self._process, self._drain
        self._process, self._drain = None, None
        if process is not None:
            await end_child(process, *([] if drain is None else [drain]))


class Remote(Generic[Arguments, Answer]):
    """A method of a worker process that calls the function of its name in a module, which the child alone imports.

    Its arguments are the function's: JSON values, paths, dataclasses and pydantic models. `function` is never called; it gives
    a type checker the signature.
    """

    def __init__(
        self,
        module: str,
        answer: Any,
        function: Callable[[], Callable[Arguments, Answer]],
        seconds: float | None = None,
    ) -> None:
        """Describe a function and the type of its answer, `object` if that is not used.

        `seconds` is the longest duration of a call; None: the worker's own.
        """
        self.module, self.answer, self.seconds = module, answer, seconds

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, process: "WorkerProcess", owner: type) -> Callable[Arguments, Coroutine[Any, Any, Answer]]:
        function = f"{self.module}:{self._name}"
        return partial(process.call, function, self.answer, self.seconds)


def _result(name: str, reply: dict[str, Any]) -> Any:
    """Return the result, or raise what the function raised."""
    if "failure" in reply:
        trace = str(reply["failure"])
        failure = errors.InfrastructureFailure(f"The operation {name} failed: {trace.strip().splitlines()[-1]}")
        failure.add_note(trace)  # for readers of the log
        raise failure
    if "error" not in reply:
        return reply["result"]
    if reply["error"] == errors.SnapshotError.__name__:
        raise errors.SnapshotError([errors.Problem(*problem) for problem in reply["problems"]])
    kind = getattr(errors, reply["error"], errors.InfrastructureFailure)
    raise kind(reply["message"])


def serve(memory_bytes: int) -> None:
    """Answer calls from standard input until it is closed: the child's side.

    Standard output belongs to the answers; what libraries print goes to standard error. When the bot dies, its end
    of the pipe closes and the process ends at once, whatever it is doing.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Libraries' warnings about odd data are no failures, and nobody reads them here.
    warnings.simplefilter("ignore")
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls,), daemon=True).start()
    while True:
        _answer(calls.get(), answers)


def _listen(calls: "queue.SimpleQueue[str]") -> None:
    try:
        for line in sys.stdin:
            calls.put(line)
    finally:
        os._exit(0)


def _answer(line: str, answers: TextIO) -> None:
    try:
        reply = {"result": to_jsonable_python(_run(**json.loads(line)), inf_nan_mode="null")}
    except errors.SnapshotError as error:
        problems = [[problem.file, problem.line, problem.message] for problem in error.problems]
        reply = {"error": type(error).__name__, "problems": problems}
    except errors.BotError as error:
        reply = {"error": type(error).__name__, "message": str(error)}
    except Exception:  # a supervision boundary: whatever a call raises must reach the bot
        reply = {"failure": traceback.format_exc()}
    answers.write(json.dumps(reply) + "\n")
    answers.flush()


def _run(function: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function, its JSON arguments converted to the types of its annotations."""
    module, _, name = function.partition(":")
    called = getattr(importlib.import_module(module), name)
    hints, bound = get_type_hints(called), inspect.signature(called).bind(*args, **kwargs)
    typed = {key: TypeAdapter(hints[key]).validate_python(value) for key, value in bound.arguments.items()}
    return called(**typed)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
