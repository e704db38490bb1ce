"""Frames: how texts go to a cleaner and come back: a JSON list that tells of each, and the bodies as they are."""

import asyncio
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Frame:
    """What one message holds: of each body what is told of it, in order."""

    told: list[dict[str, Any]]
    bodies: list[bytes]


def packed(told: Sequence[dict[str, Any]], bodies: Sequence[bytes]) -> list[bytes]:
    """Return a message's pieces: the header's length, the header, the bodies."""
    entries = [one | {"size": len(body)} for one, body in zip(told, bodies, strict=True)]
    header = json.dumps(entries).encode()
    return [_LENGTH.pack(len(header)) + header, *bodies]


async def unpacked(stream: asyncio.StreamReader) -> Frame:
    """Read one message.

    Raises:
        asyncio.IncompleteReadError: the stream ended.
    """
    (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    told = json.loads(await stream.readexactly(length))
    return Frame(told, [await stream.readexactly(one["size"]) for one in told])


def read_frame(file: BinaryIO) -> Frame | None:
    """Read one message from a pipe, None at its end."""
    start = file.read(_LENGTH.size)
    if len(start) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(start)
    told = json.loads(file.read(length))
    return Frame(told, [file.read(one["size"]) for one in told])
