"""The engine's end of a lab's socket.

A connection carries one call: a line of JSON (`{"command": "score", "arguments": {...}, "bytes": N}`), N bytes of a file,
and back a line of JSON (`{"status": 0, "text": "..."}`). All that comes in is foreign: it is bounded before it is read.
"""

import asyncio
import contextlib
import io
import json
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from bot.coder.lab.calls import (
    Arguments,
    Board,
    Done,
    Handler,
    Ideas,
    LabAnswer,
    LabCall,
    Log,
    Note,
    Score,
    Status,
    Wait,
)
from bot.models.quoting import clean, line
from sandbox.lab.listening import Listener, receive

__all__ = ["LabServer"]

_CONNECTIONS, _AT_A_TIME = 16, 4
_HEADER_BYTES, _SCRIPT_BYTES, _FILE_BYTES = 64 * 1024, 100_000, 200_000_000
_ANSWER_CHARACTERS = 48_000
"""A character takes at most four bytes in a line of JSON, once control characters are gone: the line is below 200 kB."""
_CHUNK = 256 * 1024
_HEADER_SECONDS, _BODY_SECONDS, _ANSWER_SECONDS = 5.0, 10.0, 10.0
_BYTES_A_SECOND = 2_000_000
"""After its first seconds a file must come as fast as this."""
_MOST_NEWS = 20


class _Header(BaseModel):
    """The first line of a call."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: Annotated[str, Field(max_length=20)]
    arguments: dict[str, JsonValue]
    bytes: Annotated[int, Field(ge=0)]


_COMMANDS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(kind)
    for name, kind in {
        "status": Status,
        "board": Board,
        "score": Score,
        "wait": Wait,
        "log": Log,
        "ideas": Ideas,
        "note": Note,
        "done": Done,
    }.items()
}


class _Refused(Exception):
    """A call that is not handed on; the text is a sentence for whoever made it."""

    def __init__(self, text: str, status: int = 2) -> None:
        super().__init__(text)
        self.status = status


class LabServer:
    """Serves one lab's socket while its context is open; leaving cancels what still runs.

    A call that was taken in is handled to its end, though its client be gone.
    """

    def __init__(self, path: Path, handle: Handler) -> None:
        """Remember what to serve.

        Args:
            path: The socket, in a folder of its own that the lab sees; another user runs the lab, so whoever may reach the
                folder can call: a folder above it must be closed to all but the bot's user. A file that is handed over
                lies meanwhile in `spool`, beside the folder.
            handle: Answers the calls, four at a time. The answer to `lab score` whose client has gone becomes news.
        """
        self._listener = Listener(path, self._serve, most=_CONNECTIONS)
        self._spool = path.parent.parent / "spool"
        self._handle = handle
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def __aenter__(self) -> Self:
        """Open the socket.

        Raises:
            OSError: The folders cannot be made or the socket cannot be opened.
        """
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
        answer = LabAnswer(1, "the engine failed over this call, which says nothing of what was sent")
        arguments: Arguments | None = None
        try:
            arguments, size, begun = await _header(connection)
            async with self._turns, self._call(connection, arguments, size, begun) as call:
                answer = await self._handle(call)
        except _Refused as refusal:
            arguments, answer = None, LabAnswer(refusal.status, str(refusal))
        except asyncio.CancelledError:
            answer = LabAnswer(1, "the lab has ended")
            raise
        finally:
            text = _bounded(answer.text)
            told = await _tell(connection, answer.status, text)
        news = self._handle.news
        if isinstance(arguments, Score) and not told and text not in news and len(news) < _MOST_NEWS:
            news.append(text)

    @contextlib.asynccontextmanager
    async def _call(
        self, connection: socket.socket, arguments: Arguments, size: int, begun: bytes
    ) -> AsyncIterator[LabCall]:
        """Read what comes after the header.

        Raises:
            _Refused: It is not what was announced, or no script.
        """
        if isinstance(arguments, Score):
            text = io.BytesIO()
            await _body(connection, size, begun, text)
            first = len(text.getvalue()) - arguments.infer_bytes
            try:
                script, infer = (part.decode() for part in (text.getvalue()[:first], text.getvalue()[first:]))
            except UnicodeDecodeError as error:
                raise _Refused(f"the script is not UTF-8 text: byte {error.start} is none of it") from None
            yield LabCall(arguments, script=script, infer=infer or None)
        elif isinstance(arguments, Log):
            with tempfile.NamedTemporaryFile(dir=self._spool, suffix=".csv", buffering=0) as file:
                await _body(connection, size, begun, file)
                yield LabCall(arguments, file=Path(file.name))
        else:
            yield LabCall(arguments)


async def _header(connection: socket.socket) -> tuple[Arguments, int, bytes]:
    """Read the first line.

    Returns:
        The arguments, the size of the file that follows (bytes), and what of it was read already.

    Raises:
        _Refused: It did not come in time, or is no known call.
    """
    read, part = bytearray(), b""
    try:
        async with asyncio.timeout(_HEADER_SECONDS):
            while b"\n" not in part:
                if len(read) >= _HEADER_BYTES:
                    raise _Refused(f"the call's first line is longer than {_HEADER_BYTES} bytes")
                part = await receive(connection, _HEADER_BYTES - len(read))
                if not part:
                    raise _Refused("the call ended within its first line")
                read += part
    except TimeoutError:
        raise _Refused(f"the call's first line did not come within {_HEADER_SECONDS:.0f} s") from None
    first, _, begun = bytes(read).partition(b"\n")
    try:
        header = _Header.model_validate_json(first)
    except ValidationError as error:
        raise _Refused(f"the call's first line is wrong: {_wrong(error)}") from None
    if (kind := _COMMANDS.get(header.command)) is None:
        raise _Refused(f"there is no command {line(header.command)!r}; there are {', '.join(_COMMANDS)}")
    try:
        arguments: Arguments = kind.validate_python(header.arguments)
    except ValidationError as error:
        raise _Refused(f"lab {header.command}: {_wrong(error)}") from None
    _check_size(arguments, header.bytes)
    return arguments, header.bytes, begun


def _check_size(arguments: Arguments, size: int) -> None:
    if isinstance(arguments, Score | Log):
        most = _SCRIPT_BYTES if isinstance(arguments, Score) else _FILE_BYTES
        if isinstance(arguments, Score):
            if arguments.infer_bytes > most:
                raise _Refused(f"the second script has {arguments.infer_bytes} bytes, and {most} are the most")
            size -= arguments.infer_bytes
        if size <= 0:
            raise _Refused("the file is empty")
        if size > most:
            raise _Refused(f"the file has {size} bytes, and {most} are the most")
    elif size:
        raise _Refused("this command takes no file")


def _wrong(error: ValidationError) -> str:
    """Return the first thing that is wrong, as one bounded line."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    what = first["msg"].removeprefix("Value error, ")
    return line(f"{where}: {what}" if where else what)


async def _body(connection: socket.socket, size: int, begun: bytes, file: IO[bytes]) -> None:
    """Write the file that follows the header into another.

    Raises:
        _Refused: It is shorter or longer, did not come in time, or cannot be written.
    """
    if len(begun) > size:
        raise _Refused(f"more than the announced {size} bytes came")
    left = size - len(begun)
    try:
        end = asyncio.get_running_loop().time() + _BODY_SECONDS
        async with asyncio.timeout_at(end) as limit:
            await asyncio.to_thread(_write, file, begun)
            while left:
                limit.reschedule(end + (size - left) / _BYTES_A_SECOND)
                part = await receive(connection, min(left, _CHUNK))
                if not part:
                    raise _Refused(f"the file ended {left} bytes before the announced {size}")
                # The disk may make us wait, which must not stop the run's other work.
                await asyncio.to_thread(_write, file, part)
                left -= len(part)
    except TimeoutError:
        raise _Refused(f"the file did not come in time: {left} of {size} bytes are missing") from None
    except OSError as error:
        raise _Refused(f"the engine cannot keep the file, which says nothing of it: {error.strerror}", 1) from None


def _write(file: IO[bytes], content: bytes) -> None:
    """Write all of it; a file without a buffer, whose end cannot fail once more, may take less at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def _bounded(text: str) -> str:
    text = clean(text)
    more = len(text) - _ANSWER_CHARACTERS
    return text if more <= 0 else f"{text[:_ANSWER_CHARACTERS]}\n[{more} more characters left out]"


async def _tell(connection: socket.socket, status: int, text: str) -> bool:
    """Send an answer; return whether somebody was there to take it."""
    content = json.dumps({"status": status, "text": text}, ensure_ascii=False).encode() + b"\n"
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            await asyncio.get_running_loop().sock_sendall(connection, content)
    except (OSError, TimeoutError):
        return False
    return True
