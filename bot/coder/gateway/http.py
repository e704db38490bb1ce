"""HTTP on one connection of a lab: one request, one answer, and the end; whatever is unusual about a request is refused."""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass

import h11

from bot.coder.gateway.checks import GatewayRefusal
from bot.coder.gateway.exchange import Client
from bot.models.quoting import line
from sandbox.lab.lab_socket import receive

MOST_BYTES = 8 * 1024 * 1024
"""Of a request's body."""
_HEAD_BYTES, _CHUNK = 64 * 1024, 256 * 1024
_REQUEST_SECONDS, _SEND_SECONDS = 30.0, 30.0


@dataclass(frozen=True)
class Request:
    """A request; header names are in lower case, and of several with one name the last counts."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class Connection(Client):
    """One connection, which carries one request."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        self._bodiless = False
        self.gone = False
        """Whether the client has gone."""

    async def request(self) -> Request:
        """Return the request. Raises GatewayRefusal: it is not understood, is too long, or does not come in time."""
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await self._event()
                if not isinstance(head, h11.Request):
                    raise GatewayRefusal(400, "no request came")
                self._bodiless = head.method == b"HEAD"
                headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
                self._check(headers)
                if self._http.they_are_waiting_for_100_continue:
                    await self._write(h11.InformationalResponse(status_code=100, headers=[], reason="Continue"))
                body = bytearray()
                while isinstance(part := await self._event(), h11.Data):
                    body += part.data
                    if len(body) > MOST_BYTES:
                        raise _too_large()
                if not isinstance(part, h11.EndOfMessage):
                    raise GatewayRefusal(400, "the request was interrupted")
        except TimeoutError:
            raise GatewayRefusal(408, f"the request did not arrive within {_REQUEST_SECONDS:.0f} s") from None
        except h11.RemoteProtocolError as error:
            raise GatewayRefusal(400, f"the request is not valid HTTP: {line(error)}") from None
        path, _, query = head.target.decode("ascii").partition("?")
        return Request(head.method.decode("ascii"), path, query, headers, bytes(body))

    async def begin(self, status: int, kind: str) -> None:
        """Start the answer."""
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # the client has closed before its request
            self.gone = True
        headers = [("Content-Type", kind), ("Cache-Control", "no-store"), ("Connection", "close")]
        await self._write(h11.Response(status_code=status, headers=headers))

    async def send(self, content: bytes) -> None:
        """Send a part of the answer; if the client has gone, this is not an error."""
        if content and not self._bodiless:
            await self._write(h11.Data(data=content))

    async def end(self) -> None:
        """End the answer."""
        await self._write(h11.EndOfMessage())

    def _check(self, headers: Mapping[str, str]) -> None:
        if "transfer-encoding" in headers:
            raise GatewayRefusal(411, "send the request with a Content-Length instead of a Transfer-Encoding")
        if headers.get("content-encoding", "identity") != "identity":
            raise GatewayRefusal(415, "send the request without a Content-Encoding")
        if int(headers.get("content-length", "0")) > MOST_BYTES:
            raise _too_large()

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next part of the request."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await receive(self._socket, _CHUNK))
        return event

    async def _write(self, event: h11.Event) -> None:
        if self.gone or not (content := self._http.send(event)):
            return
        self.gone = True  # unless all of it is taken
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await asyncio.get_running_loop().sock_sendall(self._socket, content)
        except (OSError, TimeoutError):
            return
        self.gone = False


def _too_large() -> GatewayRefusal:
    return GatewayRefusal(413, f"the request is longer than the limit of {MOST_BYTES:,} bytes", "request_too_large")
