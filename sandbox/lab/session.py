"""An open lab as its user sees it: asynchronous, on top of the thread that keeps it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandbox.lab import CommandResult, LabDied, LabHandle, LabRequest
from sandbox.lab.keeper import Keeper, RunOrder
from sandbox.lab.layout import HOME, MODULES, PRELUDE, TMP, check_lab, prepare
from sandbox.launch import base_environment
from sandbox.running import Running
from sandbox.thread_join import join_thread
from sandbox.watcher import Watcher


@dataclass(frozen=True)
class SearchPaths:
    """Where commands find what they name."""

    programs: str
    """PATH."""
    packages: str | None = None
    """PYTHONPATH."""


@asynccontextmanager
async def open_session(
    request: LabRequest, start: Callable[[LabRequest, Path, Watcher], Running], paths: SearchPaths
) -> AsyncIterator[LabHandle]:
    """Open a lab, closed at the end. Raises LabDied: it could not be opened; ValueError: no caller should make this request."""
    check_lab(request)
    try:
        work = await asyncio.to_thread(prepare, request)
        keeper = Keeper(request, work, partial(start, request, work))
    except OSError as error:
        raise LabDied(f"Cannot start the lab: {error}") from error
    lab = OpenLab(request, keeper, paths)
    keeper.open()
    try:
        await asyncio.shield(asyncio.wrap_future(keeper.opened))
        yield lab
    finally:
        await lab.close()


class OpenLab:
    """A `LabHandle`."""

    def __init__(self, request: LabRequest, keeper: Keeper, paths: SearchPaths) -> None:
        self._request = request
        self._keeper = keeper
        self._paths = paths

    async def run(
        self, number: int, command: str, *, seconds: float, cpus: Sequence[int], gpus: Sequence[str] = ()
    ) -> CommandResult:
        """See `LabHandle`."""
        run_order = order_of(self._request, self._paths, number, command, seconds, cpus, gpus)
        self._keeper.run(run_order)
        return await join_thread(asyncio.wrap_future(run_order.result), partial(self._keeper.stop, number))

    async def wait_idle(self) -> None:
        """See `LabHandle`."""
        try:
            await asyncio.wrap_future(self._keeper.idle())
        except LabDied:
            return

    async def sync_work_folder(self) -> None:
        """See `LabHandle`: it lives on this machine."""

    async def close(self) -> None:
        """See `LabHandle`."""
        self._keeper.close()
        await join_thread(asyncio.wrap_future(self._keeper.closed))

    @property
    def alive(self) -> bool:
        """See `LabHandle`."""
        return self._keeper.alive

    @property
    def node(self) -> None:
        """See `LabHandle`."""
        return None


def order_of(
    request: LabRequest,
    paths: SearchPaths,
    number: int,
    command: str,
    seconds: float,
    cpus: Sequence[int],
    gpus: Sequence[str],
) -> RunOrder:
    """Return the order to run a command; see `LabHandle.run`."""
    cores = tuple(cpus) or tuple(sorted(os.sched_getaffinity(0)))
    path = f"{HOME}/bin:{paths.programs}"
    environment = base_environment(tmp=TMP, cpus=len(cores), path=path, seconds=seconds, gpus=gpus)
    environment |= {"BASH_ENV": PRELUDE, "PYTHONPATH": ":".join(filter(None, (MODULES, paths.packages)))}
    return RunOrder(number, command, {**environment, **request.environment}, cores, seconds)
