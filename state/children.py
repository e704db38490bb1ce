"""Ending a child process that was started in an event loop and answers over its pipes."""

import asyncio
import contextlib
import os
import signal


async def end_child(process: asyncio.subprocess.Process, *readers: "asyncio.Task[None]") -> None:
    """Kill a child and its group, which it leads, and return once it is gone and the readers of its pipes have ended.

    That takes a moment, and is done first if we are cancelled meanwhile: a loop that is closed before would leave the
    child unreaped and its pipes open.

    Raises:
        asyncio.CancelledError: at the end, if we were cancelled meanwhile.
    """
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            await process.wait()
            if readers:
                await asyncio.wait(readers)
            if process.stdout is not None:
                await process.stdout.read()
            break
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
