"""A life of the tiny agent in a process that kills itself once its first script has a score: FOLDER."""

import asyncio
import sys
from pathlib import Path

from tests.bot.coder.lab.owned import Remembering, scored, tiny, worked
from tests.chaos.doomed import Doom


async def main(folder: Path) -> None:
    """Live until the node has ended."""
    note = "echo begun before the kill > notes.txt"
    async with worked(folder, tiny(), Remembering([note, scored(0.2)])):
        pass


if __name__ == "__main__":
    Doom("after", "node.ended", 2)  # the first is the baseline
    asyncio.run(main(Path(sys.argv[1])))
