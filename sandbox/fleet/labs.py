"""A lab on a node, as the engine sees it: its orders go there, its socket's connections come here, and so do its files."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sandbox import Lease
from sandbox.fleet.cluster import Cluster, SlotLost
from sandbox.fleet.contents import Entry, Manifest, digest_of
from sandbox.fleet.foreign import ForeignFolder, make_alike
from sandbox.fleet.held import HeldSlot
from sandbox.fleet.home import KEPT, Idle, News, Order, Over, Ran, Run, Stop, TellIdle
from sandbox.fleet.relay import SOCKET, Piece, Relayed, connected
from sandbox.fleet.sending import ATTEMPTS, PIECE, SENDING, Sender
from sandbox.lab import CommandResult, Lab, LabDied, LabRequest
from sandbox.lab.layout import check_lab
from sandbox.waiting import ended
from state.redaction import Redactor

_LOG = logging.getLogger(__name__)
SMALL = 1_000_000
"""Bytes of the largest files that are brought home after each command, as scripts and notes are."""
_WAIT = 5.0
"""Seconds for which the home waits for news before it answers."""
_STARTING, _READING = 180.0, 600.0
_THREADS = 4
_ANSWER = 120.0
_MOST_ORDERS = 64
T = TypeVar("T")


@asynccontextmanager
async def placed_lab(cluster: Cluster, sender: Sender, slot: HeldSlot, request: LabRequest) -> AsyncIterator[Lab]:
    """Open a lab on the node of a slot, closed at the end; the folder on this machine is as it was left there.

    Raises:
        LabDied: It could not be opened, or the node is lost.
        ValueError: No caller should make this request.
    """
    check_lab(request)
    with ThreadPoolExecutor(_THREADS, thread_name_prefix=request.lab_id) as threads:
        lab = PlacedLab(_Files(cluster, sender, slot, request), threads)
        try:
            await lab.open()
            yield lab
        finally:
            await lab.close()


class _Files:
    """The files of a lab, there and here; its methods wait, so call them from threads."""

    def __init__(self, cluster: Cluster, sender: Sender, slot: HeldSlot, request: LabRequest) -> None:
        self._cluster, self._sender, self._slot, self.request = cluster, sender, slot, request
        self._home: Any = None
        self.stop = threading.Event()
        self._lock = threading.Lock()
        folder = request.folder
        self._own = {name: path for name, path in request.mounts.items() if path.is_relative_to(folder)}
        """What lies in the lab's own folder, and may change while it is open."""
        self._read = {name: ForeignFolder(folder / name) for name in {*KEPT, *map(self._relative, self._own.values())}}
        self._there: dict[str, str] = {}
        """Digests of what the node has in the lab's folder, by path."""

    @property
    def host(self) -> str:
        return self._slot.facts.host

    @property
    def node(self) -> str:
        return self._slot.facts.node

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self.request.folder))

    def call(self, method: str, *arguments: Any, seconds: float = 60.0) -> Any:
        return self._cluster.call(self._home, method, *arguments, seconds=seconds)

    def open(self) -> None:
        """Send what the lab needs, and have it opened."""
        self._home = self._cluster.home(self._slot.plan, self.node)
        self._cluster.get(self._cluster.begin(self._home), _STARTING)
        for name in KEPT:
            (self.request.folder / name).mkdir(parents=True, exist_ok=True)
        request, send = self.request, partial(self._sender.send, self._home, self.node, stop=self.stop)
        sent = {name: send(path) for name, path in request.mounts.items() if name not in self._own}
        with self._lock:
            self._show(first=True)
        own = {name: self._relative(path) for name, path in self._own.items()}
        # Neither paths of this machine nor the secrets that the redactor knows leave it.
        bare = replace(request, folder=Path(), mounts={}, redactor=None, lease=Lease())
        if (problem := self.call("open_lab", bare, sent, own, seconds=_STARTING)) is not None:
            raise LabDied(f"{problem} (node {self.host} of the fleet)")

    def show(self) -> None:
        """Send what the engine wrote for the lab since the last time."""
        with self._lock:
            self._show(first=False)

    def _show(self, *, first: bool) -> None:
        files, folders = list[Entry](), list[str]()
        for name, foreign in self._read.items():
            if (self.request.folder / name).is_file():
                size, digest = (self.request.folder / name).stat().st_size, digest_of(self.request.folder / name)
                files.append(Entry(name, digest, size))
            elif name != "work" or first:
                found = foreign.manifest()
                folders += [name, *(f"{name}/{one}" for one in found.folders)]
                # Its commands' logs are written there.
                mine = [one for one in found.files if first or name != "logs" or not _is_commands(one.path)]
                files += [replace(one, path=f"{name}/{one.path}") for one in mine]
        new = Manifest(tuple(one for one in files if self._there.get(one.path) != one.digest), tuple(folders))
        if not new.files and not first:
            return
        for attempt in range(1, ATTEMPTS + 1):
            missing = self.call("missing", [one.digest for one in new.files])
            self._sender.put(self._home, self.request.folder, new, set(missing), self.stop)
            try:
                self.call("place", new, seconds=SENDING)
                break
            except OSError:
                if attempt == ATTEMPTS:
                    raise
        self._there |= {one.path: one.digest for one in new.files}

    def bring(self, largest: int | None = None) -> None:
        """Have the folder here be as it is there; files larger than so many bytes stay as they were brought last."""
        with self._lock:
            for name in KEPT:
                most = self.request.limits.disk_bytes
                found: Manifest = self.call("left", name, largest, most, seconds=_READING)
                if name == "work":
                    make_alike(self.request.folder / name, found)
                else:
                    found = Manifest(tuple(one for one in found.files if _is_commands(one.path)), ())
                for entry in self._fetched(name, [one for one in found.files if self._differs(name, one)]):
                    self._there[f"{name}/{entry.path}"] = entry.digest

    def _differs(self, name: str, entry: Entry) -> bool:
        here = self.request.folder / name / entry.path
        return entry.digest != "" and (self._there.get(f"{name}/{entry.path}") != entry.digest or not here.is_file())

    def _fetched(self, name: str, wanted: Sequence[Entry]) -> Iterator[Entry]:
        """Fetch files; yield those that are here, and as they were said to be: a lab may go on to write."""
        partial = self.request.folder / "arriving"
        redactor = self.request.redactor or Redactor()
        for batch in _batches(wanted):
            pieces = self.call(
                "pieces", name, [(one.path, offset, size) for one, offset, size in batch], seconds=SENDING
            )
            for (entry, offset, size), content in zip(batch, pieces, strict=True):
                with partial.open("ab" if offset else "wb") as stream:
                    stream.write(content)
                if offset + size < entry.size or digest_of(partial) != entry.digest:
                    continue
                if name == "logs":
                    partial.write_bytes(redactor.own_bytes(partial.read_bytes()))
                target = self.request.folder / name / entry.path
                target.parent.mkdir(parents=True, exist_ok=True)
                partial.replace(target)
                yield entry
        partial.unlink(missing_ok=True)

    def close(self) -> None:
        """End all processes, and bring everything home."""
        self.call("close_lab")
        self.bring()

    def end(self) -> None:
        """End the home."""
        if self._home is not None:
            self._cluster.end(self._home)


class PlacedLab:
    """A `Lab` on a node."""

    def __init__(self, files: _Files, threads: ThreadPoolExecutor) -> None:
        self._files, self._threads = files, threads
        self._command: tuple[int, asyncio.Future[CommandResult]] | None = None
        self._idle: list[asyncio.Future[None]] = []
        self._relayed: dict[int, Relayed] = {}
        self._orders: asyncio.Queue[Order] = asyncio.Queue(_MOST_ORDERS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._alive = False
        self._began, self._why = 0.0, ""

    async def open(self) -> None:
        """Have it opened; raises LabDied."""
        await self._reached(self._files.open)
        self._alive = True
        for work in (self._take(), self._give()):
            self._begin(work)

    async def run(
        self, number: int, command: str, *, seconds: float, cpus: Sequence[int], gpus: Sequence[str] = ()
    ) -> CommandResult:
        """See `Lab`."""
        if not self._alive:
            raise LabDied("The lab has ended.")
        await self._reached(self._files.show)
        done: asyncio.Future[CommandResult] = asyncio.get_running_loop().create_future()
        self._command, self._began = (number, done), time.monotonic()
        await self._orders.put(Run(number, command, seconds, tuple(cpus), tuple(gpus)))
        result = await ended(done, lambda: self._begin(self._orders.put(Stop(number))))
        if self._alive:
            await self._reached(partial(self._files.bring, SMALL))
        return result

    async def wait_idle(self) -> None:
        """See `Lab`."""
        if self._alive:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(waiting)
            await self._orders.put(TellIdle())
            await waiting

    async def bring_home(self) -> None:
        """See `Lab`."""
        if self._alive:
            await self._reached(self._files.bring)

    async def close(self) -> None:
        """See `Lab`."""
        self._files.stop.set()
        await ended(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        try:
            if self._alive:
                with suppress(LabDied):  # what is here stays
                    await self._reached(self._files.close)
        finally:
            self._over("it was closed")
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._in_thread(self._files.end)

    @property
    def alive(self) -> bool:
        """See `Lab`."""
        return self._alive

    @property
    def node(self) -> str:
        """See `Lab`."""
        return self._files.node

    async def _take(self) -> None:
        """Take in what is new there."""
        try:
            while self._alive:
                news: list[News] = await self._reached(partial(self._files.call, "take", _WAIT, seconds=_ANSWER))
                for one in news:
                    if isinstance(one, Piece) and (relayed := self._relayed.get(one.connection)) is not None:
                        await relayed.room()
                    self._hear(one)
        finally:
            self._over("the bot no longer hears of it")

    async def _give(self) -> None:
        """Pass on orders, and before them what the engine wrote."""
        while self._alive:
            orders = [await self._orders.get()]
            while not self._orders.empty():
                orders.append(self._orders.get_nowait())
            if any(isinstance(one, Piece) and one.content for one in orders):
                await self._reached(self._files.show)  # an answer of `lab score` names a file
            await self._reached(partial(self._files.call, "give", orders))

    def _hear(self, news: News) -> None:
        match news:
            case Ran() if self._command and self._command[0] == news.number:
                self._command[1].set_result(news.result)
                self._command = None
            case Idle():
                self._tell_idle()
            case Piece() if (relayed := self._relayed.get(news.connection)) is not None:
                relayed.hear(news.content)
            case Piece() if news.content:
                self._relayed[news.connection] = Relayed(news.connection, self._orders.put)
                self._relayed[news.connection].hear(news.content)
                self._begin(self._relay(news.connection))
            case Over():
                self._over("its sandbox ended")

    async def _relay(self, number: int) -> None:
        """Lead a connection to the engine's own end of the socket."""
        try:
            with await connected(self._files.request.folder / "socket" / SOCKET) as connection:
                await self._relayed[number].serve(connection)
        except OSError:
            await self._orders.put(Piece(number, b""))
        finally:
            del self._relayed[number]

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        async def until_over() -> None:
            with suppress(LabDied):
                await work

        task = asyncio.create_task(until_over())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reached(self, work: Callable[[], T]) -> T:
        """Have something done that needs the node; raises LabDied, and the lab is over, where it is lost."""
        try:
            return await self._in_thread(work)
        except (SlotLost, OSError) as error:
            _LOG.warning("the lab on node %s of the fleet is lost: %s", self._files.host, error)
            self._over(f"node {self._files.host} of the fleet was lost, and with it what had not come home of work/")
            raise LabDied(self._why) from error

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await ended(asyncio.get_running_loop().run_in_executor(self._threads, work))

    def _over(self, why: str) -> None:
        """Answer all who wait."""
        self._alive, self._why = False, self._why or why
        command, self._command = self._command, None
        if command is not None:
            seconds = time.monotonic() - self._began
            command[1].set_result(CommandResult("", None, seconds, False, self._why, 0))
        self._tell_idle()
        for relayed in self._relayed.values():
            relayed.hear(b"")

    def _tell_idle(self) -> None:
        waiting, self._idle = self._idle, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


def _is_commands(log: str) -> bool:
    """Return whether a log is a command's, and so written on the node; what scored scripts printed is the engine's."""
    return Path(log).stem.isdecimal()


def _batches(wanted: Sequence[Entry]) -> Iterator[list[tuple[Entry, int, int]]]:
    """Yield pieces of files, offset and size each, as many together as are fetched at a time."""
    batch, room = list[tuple[Entry, int, int]](), PIECE
    for entry in wanted:
        for offset in range(0, max(1, entry.size), PIECE):
            size = min(PIECE, entry.size - offset)
            if batch and size > room:
                yield batch
                batch, room = [], PIECE
            batch.append((entry, offset, size))
            room -= size
    if batch:
        yield batch
