"""A lab on a node, as the engine sees it: its commands run there, and its socket's connections lead here."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from bot.fleet.cluster import SIDE_BY_SIDE, Cluster, SlotLost
from bot.fleet.file_transfer import Sender
from bot.fleet.lab_files import LabFiles
from bot.fleet.lab_process import SOCKET, LabProcess
from bot.fleet.slot_lease import AcquiredSlot
from sandbox.lab import CommandResult, LabDied, LabHandle, LabRequest
from sandbox.lab.lab_socket import connected, receive
from sandbox.lab.layout import check_lab
from sandbox.thread_join import join_thread

_LOG = logging.getLogger(__name__)
_SMALL = 1_000_000
"""Bytes of the largest files that are brought home after each command, as scripts and notes are."""
_WAIT, _ANSWER = 5.0, 120.0
"""Seconds for which the home waits for a connection, and beyond which an answer of it is late and it counts as lost."""
_MAX_IDLE_SECONDS = 30 * 86_400.0
_CHUNK = 256 * 1024
T = TypeVar("T")


@asynccontextmanager
async def open_remote_lab(
    cluster: Cluster, sender: Sender, slot: AcquiredSlot, request: LabRequest
) -> AsyncIterator[LabHandle]:
    """Open a lab on the node of a slot, closed at the end; its folder on this machine is then as it was left there.

    Raises LabDied: it could not be opened, or the node is lost; ValueError: no caller should make this request.
    """
    check_lab(request)
    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix=request.lab_id) as threads:
        lab = RemoteLab(LabFiles(cluster, sender, slot, request), threads)
        try:
            await lab.open()
            yield lab
        finally:
            await lab.close()


class RemoteLab:
    """A `LabHandle` on a node."""

    def __init__(self, files: LabFiles, threads: ThreadPoolExecutor) -> None:
        self._files, self._threads = files, threads
        self._tasks: set[asyncio.Task[None]] = set()
        self._alive = False

    async def open(self) -> None:
        """Have it opened; raises LabDied."""
        await self._reached(self._files.open)
        self._alive = True
        self._begin(self._accept())

    async def run(
        self, number: int, command: str, *, seconds: float, cpus: Sequence[int], gpus: Sequence[str] = ()
    ) -> CommandResult:
        """See `LabHandle`."""
        if not self._alive:
            raise LabDied("The lab has ended.")
        await self._reached(self._files.show)
        run = (LabProcess.run, number, command, seconds, tuple(cpus), tuple(gpus))
        result: CommandResult = await self._reached(
            partial(self._files.call, *run, seconds=seconds + _ANSWER),
            lambda: self._threads.submit(self._files.call, LabProcess.stop, number),
        )
        await self._reached(partial(self._files.bring, _SMALL))
        return result

    async def wait_idle(self) -> None:
        """See `LabHandle`."""
        wait_remotely = partial(self._files.call, LabProcess.wait_idle, seconds=_MAX_IDLE_SECONDS)
        with suppress(SlotLost):
            await asyncio.get_running_loop().run_in_executor(self._threads, wait_remotely)

    async def sync_work_folder(self) -> None:
        """See `LabHandle`."""
        if self._alive:
            await self._reached(self._files.bring)

    async def close(self) -> None:
        """See `LabHandle`."""
        self._files.stop.set()
        await join_thread(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        if self._alive:
            with suppress(LabDied):  # what is here stays
                await self._reached(self._files.close)
        self._alive = False
        await asyncio.to_thread(self._files.end)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def alive(self) -> bool:
        """See `LabHandle`."""
        return self._alive

    @property
    def node(self) -> str:
        """See `LabHandle`."""
        return self._files.node

    async def _accept(self) -> None:
        """Lead connections of the lab's socket to the engine's own, and notice when the lab ends."""
        while self._alive:
            numbers = await self._ask(LabProcess.accept, _WAIT)
            self._alive = self._alive and numbers is not None
            for number in numbers or ():
                self._begin(self._relay(number))

    async def _relay(self, number: int) -> None:
        try:
            with await connected(self._files.request.folder / "socket" / SOCKET) as connection:
                asking_task = asyncio.create_task(self._ask_on(number, connection))
                answering = asyncio.create_task(self._answer(number, connection))
                try:
                    await asyncio.wait({asking_task, answering}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    answering.cancel()
                    await self._ask(LabProcess.hang_up, number)
                    await asyncio.gather(asking_task, answering, return_exceptions=True)
        except OSError:  # the engine's end is closed
            await self._ask(LabProcess.hang_up, number)

    async def _ask_on(self, number: int, connection: socket.socket) -> None:
        """Pass on what the lab asks, until its end of the connection is gone."""
        with suppress(LabDied, OSError):
            while (content := await self._ask(LabProcess.receive, number)) != b"":
                await asyncio.get_running_loop().sock_sendall(connection, content or b"")

    async def _answer(self, number: int, connection: socket.socket) -> None:
        """Pass on answers, and before them what the engine wrote: that of `lab score` names a file."""
        with suppress(LabDied):
            while content := await receive(connection, _CHUNK):
                await self._reached(self._files.show)
                if not await self._ask(LabProcess.send, number, content):
                    return

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        async def until_lost() -> None:
            with suppress(LabDied):
                await work

        task = asyncio.create_task(until_lost())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, method: Callable[..., Any], *arguments: Any) -> Any:
        return await self._reached(partial(self._files.call, method, *arguments, seconds=_ANSWER))

    async def _reached(self, work: Callable[[], T], stop: Callable[[], object] = lambda: None) -> T:
        """Have something done that needs the node; raises LabDied, and the lab is over, where it is lost."""
        try:
            return await join_thread(asyncio.get_running_loop().run_in_executor(self._threads, work), stop)
        except (SlotLost, OSError) as error:
            if self._alive:
                _LOG.warning("a lab on fleet node %s was lost: %s", self._files.title, error)
            self._alive = False
            self._files.slot.lost |= isinstance(error, SlotLost)
            reason = f"fleet node {self._files.title} was lost, along with any changes to work/ that had not been copied back"
            raise LabDied(reason) from error
