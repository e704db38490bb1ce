"""The channel to a lab's agent, seen from outside: what comes over it is untrusted."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, ValidationError

from sandbox.lab import agent
from state.closed_model import ClosedModel


class NotUnderstood(Exception):
    """The agent sent what it would never send; its text says what."""


@dataclass(frozen=True)
class Frame:
    """One message of the agent."""

    kind: int
    number: int
    content: bytes


class CommandExit(ClosedModel, strict=True):
    """How a command ended."""

    code: int = Field(ge=0, le=255)
    jobs: int = Field(ge=0, le=1_000_000)
    running: list[Annotated[str, Field(max_length=agent.NAME + 30)]] = Field(max_length=agent.NAMES)


def encode_order(do: str, **details: Any) -> bytes:
    """Return an order to the agent."""
    content = json.dumps({"do": do, **details}).encode()
    return agent.LENGTH.pack(len(content)) + content


class FrameReader:
    """Splits received bytes into frames; holds no more than one."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete now. Raises NotUnderstood: this is no frame."""
        self._received += chunk
        start = 0
        while len(self._received) >= start + agent.HEADER.size:
            kind, number, length = agent.HEADER.unpack_from(self._received, start)
            if kind not in range(agent.ENDED + 1) or length > agent.CHUNK:
                raise NotUnderstood(f"an invalid frame of kind {kind} with {length} bytes")
            end = start + agent.HEADER.size + length
            if len(self._received) < end:
                break
            yield Frame(kind, number, bytes(self._received[end - length : end]))
            start = end
        del self._received[:start]


def read_exit(content: bytes) -> CommandExit:
    """Read how a command ended; raises NotUnderstood."""
    try:
        return CommandExit.model_validate_json(content)
    except ValidationError as error:
        raise NotUnderstood(f"{error.error_count()} errors in the exit record of a command") from None


def read_count(content: bytes) -> int:
    """Read a number of bytes; raises NotUnderstood."""
    if not content.isdigit() or len(content) > 18:
        raise NotUnderstood("an invalid count")
    return int(content)
