"""Health: whether what every script needs is there still; what is not is told to the owner, once."""

import asyncio

from bot.live.shared import Shared
from bot.notify.events.base import Event
from bot.notify.events.trouble import DockerGone, GpuGone
from bot.status.problems import begin, end
from sandbox.docker import DockerSandbox
from sandbox.gpu import open_gpus

__all__ = ["check_health"]


async def check_health(shared: Shared) -> None:
    """Look at the engine and the GPUs that scripts run on.

    Raises:
        StateUnavailable: what was found cannot be written down.
    """
    now = shared.clock.now()
    sandbox = shared.machinery.sandbox
    if isinstance(sandbox, DockerSandbox):
        problem = await asyncio.to_thread(sandbox.problem)
        _tell(shared, "docker", problem, DockerGone(now, problem or ""))
    if shared.gpus:
        seen = await asyncio.to_thread(_gpus)
        missing = None if seen >= shared.gpus else f"{seen} GPUs are seen, and a script holds {shared.gpus}"
        _tell(shared, "gpu", missing, GpuGone(now, "GPU", missing or ""))


def _tell(shared: Shared, key: str, problem: str | None, event: Event) -> None:
    with shared.store.write(durable=False) as tx:
        if problem is None:
            end(tx, key)
        else:
            begin(tx, key, problem, event)


def _gpus() -> int:
    with open_gpus() as gpus:
        return len(gpus.all())
