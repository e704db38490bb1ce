"""Sessions: a live kernel is an execution like any other, under the same isolation and limits, that is sent cells."""

import asyncio
import itertools
import json
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sandbox import Breach, CellResult, ExecutionRequest, ExitReason, Outcome, Sandbox, Session, Watch
from sandbox.instance import temporary_prefix
from sandbox.output import CappedOutput
from sandbox.workspace import working_folder
from state.errors import InfrastructureFailure, UsageError

if TYPE_CHECKING:
    from sandbox.kernel import Heard, KernelClient

__all__ = ["check_installed", "open_session"]

_PROGRAM = Path(__file__).with_name("kernel_main.py")
_FOLDER = ".session"
"""Where the sockets lie in the working folder."""
_OPTIONS = (
    *("--HistoryManager.enabled=False", "--InteractiveShell.xmode=Plain", "--InteractiveShell.colors=nocolor"),
    "--InteractiveShell.cache_size=0",  # else each result stays in memory as Out[n]
)
_START_SECONDS = 60.0
_SHORTEST = 1.0
"""With less time left no further kernel is started."""
_GRACE = 2.0
"""Seconds that an interrupt, and then the request to terminate, have for their effect."""
_LAST_SIGN = 1.0
"""Seconds in which a process that fell silent may turn out to have ended, which says more of why."""
_CELL_BYTES = 100_000
_LAST_CHARACTERS = 1_000
_SOCKET_PATH = 107
"""Longest address of a unix socket, its last byte aside."""
_GONE = "Its variables and files are gone; the next cell gets a fresh kernel."


def check_installed() -> None:
    """Raise UsageError where a Python package is missing that sessions need."""
    missing = [name for name in ("ipykernel", "jupyter_client") if util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"A session needs {' and '.join(missing)}: pip install ipykernel jupyter_client, or do without."
        )


@asynccontextmanager
async def open_session(
    sandbox: Sandbox, request: ExecutionRequest, watch: Watch | None = None
) -> AsyncIterator[Session]:
    """Start a kernel in a sandbox; at the end, however it comes, nothing of it is left.

    Args:
        sandbox: Where the kernel runs; its executions' working folders lie on this machine.
        request: Its script and `keep` are left aside. Its limits are the session's: `seconds` is wall time from now on,
            also while no cell runs.
        watch: Told what the kernel's processes use.

    Raises:
        UsageError: A Python package is missing.
        InfrastructureFailure: No kernel can be started here.
    """
    check_installed()
    session = _LiveSession(sandbox, request, watch)
    try:
        await session.start()
        yield session
    finally:
        await session.close()


class _LiveSession:
    """A `Session` with one kernel after another."""

    def __init__(self, sandbox: Sandbox, request: ExecutionRequest, watch: Watch | None) -> None:
        self._sandbox = sandbox
        self._request = request
        self._watch = watch
        self._deadline = time.monotonic() + request.limits.seconds
        self._numbers = itertools.count(1)
        self._stack = AsyncExitStack()
        self._kernel: _Kernel | None = None
        self._turn = asyncio.Lock()

    @property
    def seconds_left(self) -> float:
        """Seconds of the session's own time that are left."""
        return max(0.0, self._deadline - time.monotonic())

    async def start(self) -> None:
        """Start a kernel; raises InfrastructureFailure if that fails."""
        name = f"{self._request.execution_id}.k{next(self._numbers)}"
        limits = replace(self._request.limits, seconds=max(0.1, self.seconds_left))
        request = replace(self._request, execution_id=name, limits=limits, keep=())
        self._kernel = await self._stack.enter_async_context(_kernel(self._sandbox, request, self._watch))

    async def close(self) -> None:
        """End the kernel."""
        self._kernel = None
        await self._stack.aclose()

    async def run(self, cell: str, seconds: float) -> CellResult:
        """Run one cell; see `sandbox.Session.run`."""
        async with self._turn:
            try:
                return await self._run(cell, seconds)
            except asyncio.CancelledError:
                await self.close()  # nobody would read what the cell still does
                raise

    async def _run(self, cell: str, seconds: float) -> CellResult:
        before = await self._renew()
        if self._kernel is None:
            return CellResult("over", "", (), None, 0.0, ExitReason.TIMED_OUT, "The session's time is over.")
        limit = min(seconds, self.seconds_left)
        heard = _nothing_heard()
        began = time.monotonic()
        fate = await self._kernel.run(cell, heard, limit)
        took = time.monotonic() - began
        reason, detail = None, None
        status: Any = "ok" if heard.error is None else "error"
        if fate == "interrupted":
            status, detail = fate, f"It was interrupted after {limit:g} seconds; its variables are kept."
        elif fate != "ended":
            reason, why = await self._bury(fate)
            in_time = self.seconds_left > _SHORTEST
            status, detail = ("lost", f"{why} {_GONE}") if in_time else ("over", "The session's time is over.")
        return CellResult(
            status=status,
            output=heard.output.text(),
            displays=tuple(heard.displays),
            error=heard.error,
            seconds=took,
            reason=reason,
            detail=" ".join(filter(None, (before, detail))) or None,
        )

    async def _renew(self) -> str | None:
        """Have a kernel that lives, while there is time; return a sentence where the last one was lost between cells."""
        lost = None
        if self._kernel is not None and self._kernel.life.done():
            _, why = await self._bury()
            lost = f"Before this cell the kernel had ended, and variables and files are lost. {why}"
        if self._kernel is None and self.seconds_left > _SHORTEST:
            try:
                await self.start()
            except InfrastructureFailure:
                if self.seconds_left > _SHORTEST:
                    raise
        return lost

    async def _bury(self, fate: Breach | None = None) -> tuple[ExitReason, str]:
        """End the kernel; return why it ended and a sentence: `fate`, unless it ended by itself or by a limit before."""
        assert self._kernel is not None  # noqa: S101 - for the type checker; both callers have one
        life = self._kernel.life
        await self.close()
        outcome = None if life.cancelled() else life.result()
        if fate is not None and (outcome is None or outcome.reason is ExitReason.FINISHED):
            return fate.reason, fate.detail
        if outcome is None or outcome.reason is ExitReason.INFRASTRUCTURE:
            raise InfrastructureFailure(_last_words(life))
        return outcome.reason, _why(outcome)


@dataclass(frozen=True)
class _Kernel:
    """One kernel: an execution that is under way, and our end of its sockets."""

    life: asyncio.Task[Outcome]
    client: "KernelClient"
    silence: asyncio.Task[None]
    """Ends when it does not answer any more."""

    async def run(self, cell: str, heard: "Heard", seconds: float) -> Literal["ended", "interrupted"] | Breach | None:
        """Run a cell; over its time it is interrupted, and if it goes on, asked to terminate.

        Returns:
            How it ended, or why its kernel is to be killed; none if that has ended by itself.
        """
        async with _task(self.client.execute(cell, heard)) as running:
            await self._until_done(running, seconds)
            late = not running.done()
            if late and not self._gone:
                self.client.interrupt()
                await self._until_done(running, _GRACE)
            if running.done():
                if isinstance(error := running.exception(), ConnectionError):
                    return Breach(ExitReason.ERROR, f"{error} It was ended.")
                running.result()
                return "interrupted" if late else "ended"
            if self.silence.done():
                await asyncio.wait({self.life}, timeout=_LAST_SIGN)
            if self.life.done():
                return None
            if self.silence.done():
                return Breach(ExitReason.ERROR, "Its process did not answer any more and was ended.")
            self.client.terminate()
            await self._until_done(self.life, _GRACE)
            late_by = f"It went on after {seconds:g} seconds, though interrupted, and was ended."
            return Breach(ExitReason.TIMED_OUT, late_by)

    @property
    def _gone(self) -> bool:
        return self.life.done() or self.silence.done()

    async def _until_done(self, task: asyncio.Task[Any], seconds: float) -> None:
        await asyncio.wait({task, self.life, self.silence}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


@asynccontextmanager
async def _kernel(sandbox: Sandbox, request: ExecutionRequest, watch: Watch | None) -> AsyncIterator[_Kernel]:
    """Start a kernel and wait until it answers; raises InfrastructureFailure if it does not. At the end it is gone."""
    key = secrets.token_hex(16)
    settings = json.dumps({"folder": _FOLDER, "key": key, "options": _OPTIONS})
    script = _PROGRAM.read_text(encoding="utf-8")
    request = replace(request, script=script, environment={**request.environment, "BOT_SESSION": settings})
    async with _task(sandbox.run(request, watch)) as life:
        with closing(await _connect(life, request.out, key)) as client:
            async with _task(client.death()) as silence:
                yield _Kernel(life, client, silence)


async def _connect(life: asyncio.Task[Outcome], out: Path, key: str) -> "KernelClient":
    from sandbox.kernel import KernelClient  # not at the top: it needs packages of an extra

    with tempfile.TemporaryDirectory(prefix=temporary_prefix(out)) as short, ExitStack() as failed:
        # The working folder's own path may be too long for the address of a socket.
        sockets = Path(short) / "w" / _FOLDER
        sockets.parent.symlink_to(working_folder(out))
        if len(f"{sockets}/s-5") > _SOCKET_PATH:
            raise InfrastructureFailure(
                f"{short} is too long for the address of a socket: set TMPDIR to a shorter path."
            )
        deadline = time.monotonic() + _START_SECONDS
        while not (sockets / "ready").exists():
            if life.done() or time.monotonic() > deadline:
                raise InfrastructureFailure(f"A session's kernel does not start. {_last_words(life)}")
            await asyncio.sleep(0.01)
        client = KernelClient(str(sockets), key)
        failed.callback(client.close)
        async with _task(client.ready()) as ready:
            await asyncio.wait({life, ready}, timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                raise InfrastructureFailure(f"A session's kernel does not answer. {_last_words(life)}")
        failed.pop_all()
        return client


@asynccontextmanager
async def _task(coroutine: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """Run it beside; at the end it is cancelled, and has ended, however often we are cancelled ourselves meanwhile."""
    task = asyncio.create_task(coroutine)
    try:
        yield task
    finally:
        task.cancel()
        cancelled = None
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled


def _last_words(life: asyncio.Task[Outcome]) -> str:
    return _why(life.result()) if life.done() else f"It was given {_START_SECONDS:g} seconds."


def _why(outcome: Outcome) -> str:
    """Return why a kernel ended, with the last of what its process said outside any cell."""
    detail = outcome.detail or f"It ended with exit status {outcome.exit_code}."
    said = outcome.output.strip()[-_LAST_CHARACTERS:]
    return f"{detail} It said: {said!r}." if said else detail


def _nothing_heard() -> "Heard":
    from sandbox.kernel import Heard  # as above

    return Heard(CappedOutput(_CELL_BYTES))
