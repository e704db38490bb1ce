"""The engine's end of a lab's socket.

A connection carries one call: a line of JSON (`{"command": "log", "arguments": {...}, "files": [{"role": "oof", "name":
"oof.npy", "bytes": N}, ...]}`), the files' bytes one after the other, and back a line of JSON (`{"status": 0, "text": "...",
"data": {...}}`, the last where there is any). All that comes in is foreign: it is bounded before it is read.
"""

import asyncio
import json
import math
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from bot.coder.lab.call_header import HEADER_BYTES, Announced, NotTaken, announced, check_script
from bot.coder.lab.calls import Arguments, FileRole, LabAnswer, LabCall, LabCallHandler, Log, LogScore, ScoreCommand
from bot.models.quoting import clean, line
from sandbox.lab.lab_socket import Listener, receive

__all__ = ["LabServer"]

_CONNECTIONS, _AT_A_TIME = 16, 4
_ANSWER_CHARACTERS = 48_000
"""A character takes at most four bytes in a line of JSON, once control characters are gone: the line is below 200 kB."""
_CHUNK = 256 * 1024
_HEADER_SECONDS, _BODY_SECONDS, _ANSWER_SECONDS = 5.0, 10.0, 10.0
_BYTES_A_SECOND = 2_000_000
"""After the first seconds files must come as fast as this."""
_MOST_NEWS = 20


class LabServer:
    """Serves one lab's socket while its context is open; leaving cancels what still runs.

    A call that was taken in is handled to its end, though its client be gone.
    """

    def __init__(self, path: Path, handle: LabCallHandler) -> None:
        """Remember what to serve.

        Args:
            path: The socket, in a folder of its own that the lab sees; another user runs the lab, so whoever may reach the
                folder can call: a folder above it must be closed to all but the bot's user. Files that are handed over
                lie meanwhile in `spool`, beside the folder.
            handle: Answers the calls, four at a time. The answer to `lab log` or `lab score` whose client has gone becomes
                news.
        """
        self._listener = Listener(path, self._serve, limit=_CONNECTIONS)
        self._spool = path.parent.parent / "spool"
        self._handle = handle
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def __aenter__(self) -> Self:
        """Open the socket. Raises OSError: the folders cannot be made or the socket cannot be opened."""
        shutil.rmtree(self._spool, ignore_errors=True)
        self._spool.mkdir(parents=True, mode=0o700)
        await self._listener.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the socket and end all calls."""
        await self._listener.__aexit__(kind, error, trace)
        shutil.rmtree(self._spool, ignore_errors=True)

    async def _serve(self, connection: socket.socket) -> None:
        """Serve one connection."""
        answer = LabAnswer(1, "the engine failed on this call; your input may be fine")
        arguments: Arguments | None = None
        try:
            arguments, files, body_start = await _header(connection)
            async with self._turns, self._call(connection, arguments, files, body_start) as call:
                answer = await self._handle(call)
        except NotTaken as refusal:
            arguments, answer = None, LabAnswer(refusal.status, str(refusal))
        except asyncio.CancelledError:
            answer = LabAnswer(1, "the lab has ended")
            raise
        finally:
            text = _within_limit(answer.text)
            is_sent = await _tell(connection, answer.status, text, answer.data)
        news = self._handle.news
        if isinstance(arguments, Log | ScoreCommand) and not is_sent and text not in news and len(news) < _MOST_NEWS:
            news.append(text)

    @asynccontextmanager
    async def _call(
        self, connection: socket.socket, arguments: Arguments, announced: tuple[Announced, ...], body_start: bytes
    ) -> AsyncIterator[LabCall]:
        """Read the files that come after the header into a folder that is removed at the end.

        Raises:
            NotTaken: They are not what was announced, or no script.
        """
        if not announced:
            if body_start:
                raise NotTaken("received more than the announced 0 bytes")
            yield LabCall(arguments)
            return
        try:
            folder = tempfile.TemporaryDirectory(dir=self._spool, ignore_cleanup_errors=True)
        except OSError as error:
            raise _no_room(error) from None
        with folder as place:
            body = _Body(connection, sum(file.bytes for file in announced), body_start)
            files: dict[FileRole, Path] = {}
            sources: dict[str, Path] = {}
            for number, file in enumerate(announced):
                # Named by us: what they are called inside is no path of ours.
                path = Path(place) / f"{number}{Path(file.name).suffix}"
                await body.save(path, file)
                if file.role == "source":
                    sources[file.name] = path
                else:
                    files[file.role] = path
            if isinstance(arguments, ScoreCommand):
                await asyncio.to_thread(check_script, sources)
            yield LabCall(arguments, files, sources)


async def _header(connection: socket.socket) -> tuple[Arguments, tuple[Announced, ...], bytes]:
    """Read the first line.

    Returns:
        The arguments, the files that follow, and what of them was read already.

    Raises:
        NotTaken: It did not come in time, or is no known call.
    """
    read, part = bytearray(), b""
    try:
        async with asyncio.timeout(_HEADER_SECONDS):
            while b"\n" not in part:
                if len(read) >= HEADER_BYTES:
                    raise NotTaken(f"the first line of the call is longer than {HEADER_BYTES} bytes")
                part = await receive(connection, HEADER_BYTES - len(read))
                if not part:
                    raise NotTaken("the call ended in the middle of its first line")
                read += part
    except TimeoutError:
        raise NotTaken(f"the first line of the call did not arrive within {_HEADER_SECONDS:.0f} s") from None
    first, _, body_start = bytes(read).partition(b"\n")
    return *announced(first), body_start


class _Body:
    """The bytes of all files of a call, as they come."""

    def __init__(self, connection: socket.socket, size: int, body_start: bytes) -> None:
        """Start the clock. Raises NotTaken: more has come already than was announced."""
        if len(body_start) > size:
            raise NotTaken(f"received more than the announced {size} bytes")
        self._connection, self._size, self._begun = connection, size, body_start
        self._came = 0
        self._end = asyncio.get_running_loop().time() + _BODY_SECONDS

    async def save(self, path: Path, announced: Announced) -> None:
        """Write the next file. Raises NotTaken: it is shorter, did not come in time, or cannot be written."""
        bytes_left = announced.bytes
        try:
            # Without a buffer, whose end could fail once more.
            with path.open("wb", buffering=0) as file:
                async with asyncio.timeout(None) as limit:
                    while bytes_left:
                        limit.reschedule(self._end + self._came / _BYTES_A_SECOND)
                        part = await self._next(min(bytes_left, _CHUNK))
                        if not part:
                            missing = self._size - self._came
                            raise NotTaken(
                                f"{line(announced.name)} is {bytes_left} bytes short: {missing} of the "
                                f"{self._size} bytes announced for all files are missing"
                            )
                        # The disk may make us wait, which must not stop the run's other work.
                        await asyncio.to_thread(_write, file, part)
                        bytes_left -= len(part)
                        self._came += len(part)
        except TimeoutError:
            missing = self._size - self._came
            raise NotTaken(f"the files did not arrive in time: {missing} of {self._size} bytes are missing") from None
        except OSError as error:
            raise _no_room(error) from None

    async def _next(self, max_bytes: int) -> bytes:
        """Return what has come, first of what came with the header; nothing at its end."""
        if self._begun:
            part, self._begun = self._begun[:max_bytes], self._begun[max_bytes:]
            return part
        return await receive(self._connection, max_bytes)


def _no_room(error: OSError) -> NotTaken:
    return NotTaken(f"the engine failed to store the files (your call is fine): {error.strerror}", 1)


def _write(file: IO[bytes], content: bytes) -> None:
    """Write all of it; a file without a buffer may take less at a time."""
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[file.write(unwritten) :]


def _within_limit(text: str) -> str:
    text = clean(text)
    over = len(text) - _ANSWER_CHARACTERS
    return text if over <= 0 else f"{text[:_ANSWER_CHARACTERS]}\n[{over} more characters left out]"


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return line(value) if isinstance(value, str) else value


async def _tell(connection: socket.socket, status: int, text: str, data: LogScore | None) -> bool:
    """Send an answer; return whether the client was still there."""
    answer: dict[str, Any] = {"status": status, "text": text}
    if data is not None:
        answer["data"] = {name: _plain(value) for name, value in asdict(data).items()}
    content = json.dumps(answer, ensure_ascii=False).encode() + b"\n"
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            await asyncio.get_running_loop().sock_sendall(connection, content)
    except (OSError, TimeoutError):
        return False
    return True
