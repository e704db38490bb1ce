"""A child process that answers lines: of the cleaners, and of embeddings."""

import asyncio
import os
from collections.abc import Mapping, Sequence

from state.children import end_child

_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
"""Variables that a `LineChild` inherits; it never gets keys and tokens."""


class LineChild:
    """A child that answers each line with a line; it starts with the first one, and again if it has ended since."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], longest: int) -> None:
        """Prepare; an answer has at most `longest` bytes."""
        self._command, self._environment, self._longest = command, environment, longest
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; None: it does not live."""
        alive = self._process is not None and self._process.returncode is None
        return self._process.pid if self._process is not None and alive else None

    async def exchange(self, line: bytes) -> bytes:
        """Send a line, and read the answer; where that fails or is cancelled the child ends.

        Raises OSError, EOFError: it cannot be started, or died.
        """
        if self.pid is None:
            await self.stop()
            inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                limit=self._longest,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={**inherited, **self._environment},
                start_new_session=True,
            )
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise ConnectionError("the process did not start")
        try:
            process.stdin.write(line + b"\n")
            await process.stdin.drain()
            return await process.stdout.readuntil(b"\n")
        except BaseException:
            # The next answer would not be the next line's.
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the child, if it lives."""
        process, self._process = self._process, None
        if process is not None:
            await end_child(process)
