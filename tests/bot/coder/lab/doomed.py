"""The life of forty turns in a process of its own that kills itself: FOLDER BACK_END [MOMENT LABEL], as of tests.chaos.doomed."""

import asyncio
import sys
from pathlib import Path

from sandbox.leftovers import left_by_killed
from tests.bot.coder.lab.forty import forty_turns
from tests.chaos.doomed import Doom


async def main(folder: Path, name: str) -> None:
    """Live the lab to its end."""
    async with forty_turns(folder, name):
        pass


if __name__ == "__main__":
    place, name, *doom = sys.argv[1:]
    for left in left_by_killed(Path(place)):
        left.remove()
    if doom:
        Doom(*doom, 1)
    asyncio.run(main(Path(place), name))
