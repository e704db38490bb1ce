"""Serves the page until it is stopped; clients that are slow or silent, or too many, are disconnected."""

import asyncio
import socket
from collections.abc import Callable

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from bot.configuration.web import WebSettings
from bot.web.app import Application
from bot.web.form_actions import FormActions
from bot.web.guard import Guard, Keys
from bot.web.sources import Sources
from bot.web.token import address_of
from bot.web.views import Views
from sandbox.gpu import Gpus, open_gpus
from state.errors import UsageError

FIRST_REQUEST = 10.0
"""Seconds within which a connection must have sent a whole request."""
_MOST_CONNECTIONS = 64
_LONGEST_HEAD = 16_384
"""Bytes of a request's headers."""
_KEEP_ALIVE = 10
_LAST_ANSWERS = 1
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


class _Protocol(H11Protocol):
    """Ends a connection whose request does not arrive in time: uvicorn waits for it as long as it takes."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        """Set the limit when a request begins, and lift it once its headers are there; the guard limits its body."""
        if self.conn.their_state is not h11.IDLE:
            if self._limit is not None:
                self._limit.cancel()
            self._limit = None
        elif self._limit is None:
            self._limit = self.loop.call_later(FIRST_REQUEST, self.transport.close)


def serve(sources: Sources, settings: WebSettings, token: str, on_start: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C or SIGTERM; `on_start` is called with the address once a browser can open it.

    Raises UsageError: the port is in use, or may not be used.
    """
    with _listening(settings) as listening, open_gpus() as gpus:
        port = listening.getsockname()[1]
        config = uvicorn.Config(
            guarded(sources, settings, Keys(token, port), gpus),
            http=_Protocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            server_header=False,
            access_log=False,
            log_config=None,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_LAST_ANSWERS,
        )
        host = settings.listen if settings.listen not in ("0.0.0.0", "::") else "127.0.0.1"  # noqa: S104
        on_start(address_of(host, port, token))
        asyncio.run(uvicorn.Server(config).serve([listening]))


def guarded(sources: Sources, settings: WebSettings, keys: Keys, gpus: Gpus) -> Guard:
    """Return the application behind its guard."""
    application = Application(Views(sources, gpus, keys.csrf), FormActions(sources), keys)
    return Guard(application.starlette, keys, hosts_of(settings, keys.port))


def hosts_of(settings: WebSettings, port: int) -> frozenset[str]:
    """Return the values of the Host header that are the page's: those of this machine, and those that are configured."""
    own_hosts = {f"{name}:{port}" for name in (*_LOCAL, settings.listen)}
    return frozenset(host.lower() for host in (*own_hosts, *settings.hosts))


def _listening(settings: WebSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.listen else socket.AF_INET
    # By its protocol asyncio knows a TCP socket, and sends what is small at once.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.listen, settings.port))
        listening.listen(_MOST_CONNECTIONS)
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        raise UsageError(
            f"cannot listen on {settings.listen}:{settings.port} ({reason}): choose another port with --port"
        ) from error
    return listening
