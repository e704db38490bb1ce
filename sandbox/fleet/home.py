"""A lab's home: the process on a node in which one lab lives. The engine asks; the home never calls.

It takes up no cores: what runs in the lab does so on cores and GPUs that the engine holds there, while it runs.
"""

import asyncio
import itertools
import shutil
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from sandbox.execution import LocalSandbox
from sandbox.fleet.contents import Manifest
from sandbox.fleet.foreign import ForeignFolder
from sandbox.fleet.relay import SOCKET, Piece, Relayed
from sandbox.fleet.slot import SILENCE, Slot, SlotPlan
from sandbox.lab import CommandResult, Lab, LabDied, LabRequest
from sandbox.lab.listening import Listener
from state.errors import BotError

KEPT = ("logs", "work")
"""What of a lab's folder is brought back to the engine."""
_LOOK = 0.5
_CONNECTIONS = 16
_MOST_WAITING = 64
"""News that may wait for the engine before reading from the lab's socket waits, too."""
_OPENING = 120.0


@dataclass(frozen=True)
class Run:
    """An order: run a command."""

    number: int
    command: str
    seconds: float
    cpus: Sequence[int]
    gpus: Sequence[str]


@dataclass(frozen=True)
class Stop:
    """An order: end a command."""

    number: int


@dataclass(frozen=True)
class TellIdle:
    """An order: say when no process runs any more."""


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    number: int
    result: CommandResult


@dataclass(frozen=True)
class Idle:
    """No process runs any more."""


@dataclass(frozen=True)
class Over:
    """The lab has ended."""


Order = Run | Stop | TellIdle | Piece
News = Ran | Idle | Over | Piece


class Home(Slot):
    """Its methods may be called side by side, as one waits for news."""

    def __init__(self, plan: SlotPlan) -> None:
        super().__init__(plan)
        self._lab_folder = self._folder / "labs" / "lab"
        for name in KEPT:
            (self._lab_folder / name).mkdir(parents=True)
        self._lab_folder.parent.chmod(0o700)
        self._kept = {name: ForeignFolder(self._lab_folder / name) for name in KEPT}
        self._tenant: _Tenant | None = None

    def missing(self, digests: Sequence[str]) -> list[str]:
        """Return the digests of files that the node lacks."""
        return self._cache.lacks(digests)

    def place(self, files: Manifest) -> None:
        """Write files that the node has into the lab's folder; raises OSError, also where it lacks one by now."""
        for name in files.folders:
            (self._lab_folder / name).mkdir(parents=True, exist_ok=True)
        for entry in files.files:
            target = self._lab_folder / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f".{target.name}.partial")
            shutil.copyfile(self._cache.file(entry.digest), partial)
            partial.chmod(0o644)
            partial.replace(target)

    def open_lab(self, request: LabRequest, sent: Mapping[str, str], own: Mapping[str, str]) -> str | None:
        """Open the lab; return why that was not possible, or None.

        Args:
            request: the lab, without paths.
            sent: digests of folders that are there, by their paths inside.
            own: paths in the lab's folder, by their paths inside.
        """
        if not isinstance(self._sandbox, LocalSandbox):
            return self._problem or "the node has no sandbox"
        mounts = {name: self._cache.folder(digest) for name, digest in sent.items()}
        mounts |= {name: self._lab_folder / path for name, path in own.items()}
        self._tenant = _Tenant(self._sandbox, replace(request, folder=self._lab_folder, mounts=mounts))
        return self._tenant.open()

    def take(self, seconds: float) -> list[News]:
        """Return what is new; waits so long for it."""
        return self._tenant.take(seconds) if self._tenant else []

    def give(self, orders: Sequence[Order]) -> None:
        """Carry out orders."""
        if self._tenant:
            self._tenant.give(orders)

    def close_lab(self) -> None:
        """End all processes of the lab; its files stay."""
        if self._tenant:
            self._tenant.close()

    def left(self, name: str, largest: int | None, most: int) -> Manifest:
        """Return what lies in a folder of the lab's; see `ForeignFolder.manifest`."""
        return self._kept[name].manifest(largest, most)

    def pieces(self, name: str, wanted: Sequence[tuple[str, int, int]]) -> list[bytes]:
        """Return pieces of files there: path, offset and size each; empty where the file is gone meanwhile."""
        return [self._kept[name].read(*one) for one in wanted]


class _Tenant:
    """The lab, in a thread of its own."""

    def __init__(self, sandbox: LocalSandbox, request: LabRequest) -> None:
        self._sandbox, self._request = sandbox, request
        self._news: list[News] = []
        self._changed = threading.Condition()
        self._heard = time.monotonic()
        self._opened: Future[str | None] = Future()
        self._relayed: dict[int, Relayed] = {}
        self._numbers = itertools.count(1)
        self._tasks: dict[int | None, asyncio.Task[None]] = {}
        """Commands by number, and who waits for idleness."""
        self._thread = threading.Thread(target=self._last, name=request.lab_id, daemon=True)

    def open(self) -> str | None:
        self._thread.start()
        return self._opened.result(_OPENING)

    def take(self, seconds: float) -> list[News]:
        with self._changed:
            self._heard = time.monotonic()
            self._changed.wait_for(lambda: self._news, seconds)
            news, self._news = self._news, []
        return news

    def give(self, orders: Sequence[Order]) -> None:
        for order in orders:
            self._loop.call_soon_threadsafe(self._obey, order)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def _last(self) -> None:
        """Be the thread."""
        try:
            asyncio.run(self._live())
        except (BotError, OSError) as error:
            if not self._opened.done():
                self._opened.set_result(str(error))
        finally:
            self._tell(Over())

    async def _live(self) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._settle)
            listener = Listener(self._request.folder / "socket" / SOCKET, self._serve, most=_CONNECTIONS)
            await stack.enter_async_context(listener)
            self._lab = await stack.enter_async_context(self._sandbox.open_lab(self._request))
            self._opened.set_result(None)
            while self._lab.alive and not self._closing.is_set() and time.monotonic() - self._heard < SILENCE:
                await asyncio.wait({asyncio.create_task(self._closing.wait())}, timeout=_LOOK)

    _lab: Lab

    async def _settle(self) -> None:
        """Wait until all is told that ended with the lab."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _tell(self, news: News) -> None:
        with self._changed:
            self._news.append(news)
            self._changed.notify()

    def _obey(self, order: Order) -> None:
        if isinstance(order, Piece):
            if (relayed := self._relayed.get(order.connection)) is not None:
                relayed.hear(order.content)
        elif isinstance(order, Stop):
            if (task := self._tasks.get(order.number)) is not None:
                task.cancel()
        elif isinstance(order, Run):
            self._tasks[order.number] = asyncio.create_task(self._run(order))
        else:
            self._tasks[None] = asyncio.create_task(self._wait_idle())

    async def _run(self, order: Run) -> None:
        result = CommandResult("", None, 0.0, False, "it was stopped", 0)
        try:
            result = await self._lab.run(
                order.number, order.command, seconds=order.seconds, cpus=order.cpus, gpus=order.gpus
            )
        except LabDied as died:
            result = replace(result, ended=str(died))
        finally:
            self._tell(Ran(order.number, result))

    async def _wait_idle(self) -> None:
        await self._lab.wait_idle()
        self._tell(Idle())

    async def _serve(self, connection: socket.socket) -> None:
        number = next(self._numbers)
        self._relayed[number] = Relayed(number, self._pass_on)
        try:
            await self._relayed[number].serve(connection)
        finally:
            del self._relayed[number]

    async def _pass_on(self, piece: Piece) -> None:
        while piece.content and len(self._news) >= _MOST_WAITING:
            await asyncio.sleep(_LOOK / 10)
        self._tell(piece)
