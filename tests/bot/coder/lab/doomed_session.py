"""A life of the tiny agent in a process that kills itself once its first experiment is logged: FOLDER."""

import asyncio
import sys
from pathlib import Path

from bot.simulator.scripted_model import ScriptedModel
from tests.bot.coder.lab.owned import tiny, worked
from tests.bot.coder.lab.scripted import logged
from tests.chaos.doomed import Doom


async def main(folder: Path) -> None:
    """Live until the experiment is there."""
    note = "echo begun before the kill > notes.txt"
    async with worked(folder, tiny(), ScriptedModel([note, logged("weak", 0.2)])):
        pass


if __name__ == "__main__":
    Doom("after", "experiment.logged", 1)
    asyncio.run(main(Path(sys.argv[1])))
