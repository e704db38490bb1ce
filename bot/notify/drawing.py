"""Draws a notice's plots in a process of its own: the bot's never imports matplotlib, and no secret is in that one."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from bot.notify import Plot

__all__ = ["draw"]

_VARIABLES = ("PATH", "PYTHONPATH", "LANG", "TMPDIR", "SYSTEMROOT")


async def draw(plots: Sequence[Plot], seconds: float) -> list[bytes]:
    """Return a PNG of each plot; none at all where that fails or takes too long, as the text says the same."""
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="bot-plot-") as folder:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot.notify.pictures",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**environment, "MPLCONFIGDIR": folder},
        )
        try:
            async with asyncio.timeout(seconds):
                out, _ = await child.communicate(json.dumps([plot.to_json() for plot in plots]).encode())
        except TimeoutError:
            return []
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    child.kill()
                await child.wait()
    return _split(out) if child.returncode == 0 else []


def _split(out: bytes) -> list[bytes]:
    """Read pictures, each after its length on a line."""
    found = []
    while out:
        length, _, out = out.partition(b"\n")
        found.append(out[: int(length)])
        out = out[int(length) :]
    return found
