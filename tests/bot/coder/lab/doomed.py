"""Lives of forty turns in processes of their own: FOLDER BACK_END LIFE..., each `ended` or `MOMENT LABEL`, where it kills itself.

The boundaries are those of `tests.chaos.doomed`. A life that ends otherwise is the last.
"""

import asyncio
import signal
import sys
from functools import partial
from pathlib import Path

from sandbox.leftovers import find_orphaned_resources
from tests.bot.coder.lab.forty import forty_turns
from tests.chaos.doomed import Doom, forked
from tests.warm_workers import warm_workers


async def _live(folder: Path, name: str) -> None:
    async with forty_turns(folder, name):
        pass


def _begin(folder: Path, name: str, life: str) -> None:
    for left in find_orphaned_resources(folder):
        left.remove()
    moment, _, boundary = life.partition(" ")
    if boundary:
        Doom(moment, boundary, 1)
    asyncio.run(_live(folder, name))


if __name__ == "__main__":
    place, name, *lives = sys.argv[1:]
    with warm_workers(at_once=True):
        for life in lives:
            status = forked(partial(_begin, Path(place), name, life))
            if status != (-signal.SIGKILL if " " in life else 0):
                sys.exit(f"{life}: its exit status is {status}")
