"""The page beside the daemon: a process of its own, without its secrets, started again when it ends."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from sandbox.launch import ended_with_us
from state.clock import back_off

_ENVIRONMENT = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "PYTHONPATH"),
    *("STATE_DIRECTORY", "XDG_STATE_HOME", "CUDA_VISIBLE_DEVICES"),
)
"""Variables that it is given: keys are not among them."""
_INITIAL_PAUSE, _MAX_PAUSE = 2.0, 600.0
"""Seconds before it is started again, twice as many each time."""
_HEALTHY = 60.0
"""Seconds after which a page that ended was no failure."""
_GRACE = 3.0


async def keep_page(file: Path | None, say: Callable[[str], None]) -> None:
    """Keep the page of a bot.toml going until cancelled; that it fails touches nothing else."""
    config = [] if file is None else ["--config", str(file)]
    command = ended_with_us([sys.executable, "-m", "bot", "web", *config])
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    failures, loop = 0, asyncio.get_running_loop()
    while True:
        start = loop.time()
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL
        )
        say("the web dashboard is running; `bot web --address` prints its address, including the token")
        try:
            status = await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), _GRACE)
                except TimeoutError:
                    process.kill()
                    await process.wait()
        failures = 1 if loop.time() - start > _HEALTHY else failures + 1
        pause = back_off(failures, _INITIAL_PAUSE, _MAX_PAUSE)
        say(f"the web dashboard exited with status {status}; restarting in {pause:.0f} s")
        await asyncio.sleep(pause)
