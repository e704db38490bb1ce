"""The channel to a lab's agent, seen from outside: what comes over it is foreign."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sandbox.lab import agent


class NotUnderstood(Exception):
    """The agent sent what it would never send; its text says what."""


@dataclass(frozen=True)
class Frame:
    """One piece of news."""

    kind: int
    number: int
    content: bytes


class Exited(BaseModel):
    """How a command ended."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    code: int = Field(ge=0, le=255)
    jobs: int = Field(ge=0, le=1_000_000)
    running: list[Annotated[str, Field(max_length=agent.NAME + 30)]] = Field(max_length=agent.NAMES)


def order(do: str, **details: Any) -> bytes:
    """Return an order to the agent."""
    content = json.dumps({"do": do, **details}).encode()
    return agent.LENGTH.pack(len(content)) + content


def run_order(
    number: int, command: str, environment: Mapping[str, str], cpus: list[int], keep: int, file_bytes: int | None
) -> bytes:
    """Return the order to run a command, of whose output `keep` bytes are wanted before its end.

    Its files may have `file_bytes` at the most; None: what the lab's files may have.
    """
    readable = command.encode(errors="replace").decode()
    details = {"environment": dict(environment), "cpus": cpus, "keep": keep, "file_bytes": file_bytes}
    return order("run", number=number, command=readable, **details)


class FrameReader:
    """Cuts what comes into frames; holds no more than one."""

    def __init__(self) -> None:
        self._received = bytearray()

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete now. Raises NotUnderstood: this is no frame."""
        self._received += chunk
        start = 0
        while len(self._received) >= start + agent.HEADER.size:
            kind, number, length = agent.HEADER.unpack_from(self._received, start)
            if kind not in range(agent.ENDED + 1) or length > agent.CHUNK:
                raise NotUnderstood(f"a frame of kind {kind} and {length} bytes")
            end = start + agent.HEADER.size + length
            if len(self._received) < end:
                break
            yield Frame(kind, number, bytes(self._received[end - length : end]))
            start = end
        del self._received[:start]


def read_exited(content: bytes) -> Exited:
    """Read how a command ended; raises NotUnderstood."""
    try:
        return Exited.model_validate_json(content)
    except ValidationError as error:
        raise NotUnderstood(f"{error.error_count()} mistakes in how a command ended") from None


def read_count(content: bytes) -> int:
    """Read a number of bytes; raises NotUnderstood."""
    if not content.isdigit() or len(content) > 18:
        raise NotUnderstood("an invalid count")
    return int(content)
