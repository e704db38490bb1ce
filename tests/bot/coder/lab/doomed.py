"""A run with one lab in a process of its own, which a test kills: python -m tests.bot.coder.lab.doomed FOLDER."""

import asyncio
import sys
from pathlib import Path

from tests.bot.coder.lab.scripted import OUT_OF_FOLD, SOLUTION, Scripted, lived, sh, written

REPLIES = [
    sh("echo 1 >> turns.txt; ls data"),
    written("oof.py", OUT_OF_FOLD, "echo 2 >> turns.txt; python oof.py && lab log one --oof oof.csv", 0.1),
    written("solution.py", SOLUTION, "echo 3 >> turns.txt; lab score solution.py --note one", 0.1),
    "I think.",
    sh("echo 5 >> turns.txt; sleep 1; sleep 60 & echo begun"),
    written("solution.py", SOLUTION, "echo 6 >> turns.txt; lab score solution.py --note two", 0.5),
    written("solution.py", SOLUTION, "echo 7 >> turns.txt; lab score solution.py --note three", 2.0),
    sh("echo 8 >> turns.txt; sleep 1; lab board"),
]


async def main(folder: Path) -> None:
    """Live the lab to its end, and say so."""
    async with lived(folder, Scripted(REPLIES)):
        (folder / "ended").touch()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
