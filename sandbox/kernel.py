"""The host's end of a live kernel: messages over unix sockets, bounded in size, read as JSON and nothing else."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from queue import Empty
from typing import Any

import zmq
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.session import Session as Wire

from sandbox.output import CappedOutput

__all__ = ["CHANNELS", "Heard", "KernelClient"]

CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
"""Their sockets are numbered from 1 in this order."""

_MESSAGE_BYTES = 2 * 1024**2
"""A larger message ends the connection; the kernel's program cuts its texts below that."""
_WAITING = 20
"""Messages that may wait in our memory on each channel; more wait in the kernel's, or are dropped there."""
_FREELY = 1_000
"""Messages of a cell that are read as fast as they come."""
_DISPLAYS = 30
_DISPLAY_CHARACTERS = 20_000
_ERROR_CHARACTERS = 10_000
_LAST_WORDS = 1.0
"""Seconds for what a cell printed to arrive after its reply."""
_BEAT = 1.0
_SILENCE = 3.5
"""Seconds without a heartbeat, twice in a row, after which a kernel is dead: below ten in all."""
_SHOWN = ("text/plain", "text/html", "text/markdown", "text/latex")
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""What reading a message raises that no honest kernel would send; it is passed over."""


@dataclass
class Heard:
    """What a cell has shown so far."""

    output: CappedOutput
    displays: list[dict[str, str]] = field(default_factory=list)
    error: str | None = None
    messages: int = 0
    replied: bool = False
    """Whether it has ended, so that little can follow."""

    @property
    def enough(self) -> bool:
        """Whether nobody keeps what still comes: a cell that only prints must not keep us busy."""
        return not self.replied and (self.output.overflowing or self.messages > _FREELY)

    def take(self, kind: str, content: Mapping[str, Any]) -> None:
        """Take in one message that the cell has caused."""
        if kind == "stream":
            self.output.add(str(content["text"]).encode("utf-8", "replace"))
        elif kind in {"display_data", "execute_result"} and len(self.displays) < _DISPLAYS:
            shown = {str(mime): _display(str(mime), data) for mime, data in list(content["data"].items())[:8]}
            self.displays.append({mime: text for mime, text in shown.items() if text})
        elif kind == "error":
            text = _ANSI.sub("", "\n".join(map(str, content["traceback"][-200:]))).strip()
            self.error = _cut(text or f"{content['ename']}: {content['evalue']}", _ERROR_CHARACTERS)


class KernelClient:
    """Talks with one kernel whose sockets listen.

    It connects once and never again: whoever runs inside could put a link to another socket of the host in their place.
    """

    def __init__(self, folder: str, key: str) -> None:
        """Connect.

        Args:
            folder: Where the sockets lie, short enough for the address of a socket.
            key: The kernel's key.
        """
        self._context = zmq.asyncio.Context()
        for option, value in (
            (zmq.MAXMSGSIZE, _MESSAGE_BYTES),
            (zmq.RCVHWM, _WAITING),
            (zmq.RECONNECT_IVL, -1),
            (zmq.LINGER, 0),
        ):
            self._context.setsockopt(option, value)
        wire = Wire(key=key.encode(), packer="json", unpacker="json")
        ports: Any = {f"{channel}_port": number for number, channel in enumerate(CHANNELS, 1)}
        self._client = AsyncKernelClient(
            context=self._context, session=wire, transport="ipc", ip=f"{folder}/s", **ports
        )
        self._client.start_channels(stdin=False, hb=False)
        self._heart = self._context.socket(zmq.DEALER)  # jupyter_client's own would block a thread, and reconnect
        self._heart.connect(f"ipc://{folder}/s-{CHANNELS.index('hb') + 1}")

    async def ready(self) -> None:
        """Return once each channel has been heard."""
        client = self._client
        while not await self._beats():
            pass
        await self._reply(client.shell_channel, client.kernel_info())
        request = client.session.msg("kernel_info_request")
        client.control_channel.send(request)
        await self._reply(client.control_channel, request["header"]["msg_id"])
        while await _next(client.iopub_channel, 1.0) is None:
            client.kernel_info()

    async def execute(self, cell: str, heard: Heard) -> None:
        """Run a cell to its end, whatever that is; what it shows goes into `heard` as it comes.

        Raises:
            ConnectionError: What it shows does not arrive any more.
        """
        client = self._client
        cell_id = client.execute(cell, allow_stdin=False)
        listening = asyncio.create_task(self._listen(cell_id, heard))
        try:
            await self._reply(client.shell_channel, cell_id)
            heard.replied = True
            await asyncio.wait({listening}, timeout=_LAST_WORDS)
            in_full = listening.done()
        finally:
            listening.cancel()
            await asyncio.wait({listening})
        if not in_full:  # too much at once, of which the kernel has dropped a part; or the connection is gone
            client.kernel_info()
            if await _next(client.iopub_channel, _LAST_WORDS) is None:
                raise ConnectionError("What the kernel shows does not arrive any more.")

    def interrupt(self) -> None:
        """Ask the kernel to interrupt the running cell, as Ctrl-C does."""
        self._client.control_channel.send(self._client.session.msg("interrupt_request"))

    def terminate(self) -> None:
        """Ask the kernel to end what the cell has started, and itself."""
        self._client.shutdown()

    async def death(self) -> None:
        """Return once the kernel does not answer any more, though its process may live; a busy one does answer."""
        while await self._beats() or await self._beats():
            await asyncio.sleep(_BEAT)

    async def _beats(self) -> bool:
        try:
            await self._heart.send(b"beat", zmq.NOBLOCK)
        except zmq.Again:
            await asyncio.sleep(0.05)
            return False  # nobody is connected any more
        heard = bool(await self._heart.poll(int(_SILENCE * 1000)))
        for _ in range(_WAITING):  # and not for as long as it sends
            if await self._heart.poll(0):
                await self._heart.recv()
        return heard

    def close(self) -> None:
        """Give up all sockets."""
        self._heart.close()
        self._client.stop_channels()
        self._context.destroy()

    async def _listen(self, cell_id: str, heard: Heard) -> None:
        while True:
            message = await _next(self._client.iopub_channel, None)
            heard.messages += 1
            if heard.enough:
                await asyncio.sleep(0.005)
            if message is None or message["parent_header"].get("msg_id") != cell_id:
                continue
            if message["msg_type"] == "status" and message["content"].get("execution_state") == "idle":
                return
            try:
                heard.take(str(message["msg_type"]), message["content"])
            except _MALFORMED:
                continue

    async def _reply(self, channel: AsyncZMQSocketChannel, to: str) -> Mapping[str, Any]:
        while True:
            message = await _next(channel, None)
            if message is not None and message["parent_header"].get("msg_id") == to:
                return message


async def _next(channel: AsyncZMQSocketChannel, seconds: float | None) -> Mapping[str, Any] | None:
    """Return the channel's next message; none if there is none in time, or if it is not one."""
    await asyncio.sleep(0)  # a message that is there already is had without a pause, and others want their turn
    try:
        message = await channel.get_msg(seconds)
    except (Empty, *_MALFORMED):
        return None
    parts = (message.get("parent_header"), message.get("content"))
    return message if all(isinstance(part, dict) for part in parts) and "msg_type" in message else None


def _display(mime: str, data: object) -> str:
    if mime.startswith("image/"):
        return f"{mime[:40]}, {str(data)[:40]}"
    return _cut(_ANSI.sub("", str(data)), _DISPLAY_CHARACTERS) if mime in _SHOWN else ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}\n[... cut ...]\n{text[-(most // 2) :]}"
