"""A gateway in a process of its own, before an endpoint that never ends its answer: FOLDER STREAM."""

import asyncio
import sys
from pathlib import Path

from bot.budgets.settings import Caps
from tests.bot.coder.gateway.answers import begin, piece
from tests.bot.coder.gateway.parts import Came, Wire, scene


async def main(folder: Path, stream: bool) -> None:
    """Serve one request until somebody ends the process."""

    async def script(came: Came, wire: Wire) -> None:
        if stream:
            await begin("chat", wire)
            await piece("chat", wire, "It is")
        print("sent", flush=True)
        await asyncio.sleep(60)

    async with scene(folder, script, caps=Caps(money=1.0), timeout=60) as it:
        await it.ask(stream=stream)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2] == "True"))
