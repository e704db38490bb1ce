"""The gateway: the one way from a lab to a model, for coding agents that speak to an endpoint themselves."""

import asyncio
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bot.coder.gateway.checks import HEADER, GatewayRefusal, checked
from bot.coder.gateway.dialects import DIALECTS, Json
from bot.coder.gateway.dialects import Name as DialectName
from bot.coder.gateway.exchange import Exchange
from bot.coder.gateway.http import Connection, Request
from bot.coder.gateway.ledger import Exchanges
from bot.models import Item
from bot.models.ask import Asker
from sandbox.lab.forwarder import PORT
from sandbox.lab.lab_socket import Listener
from state.errors import BotError, BudgetExceeded, ModelMisconfigured, ModelUnavailable

__all__ = ["DialectName", "Gateway"]

_CONNECTIONS, _AT_A_TIME = 16, 4
_MOST_REFUSED = 5
"""Requests in a row that the endpoint refuses, after which the lab ends."""
_HOSTS = ("127.0.0.1", "localhost")
_QUERIES = ("", "beta=true")
"""The second is Claude Code's, which means what its headers say as well."""
_PASSED_HEADERS = ("anthropic-version", "anthropic-beta")
_NO_KEY = "none"
"""Agents insist on a key; it is ignored."""


class Gateway:
    """Serves the agent of one lab while its context is open; on exit, open exchanges are ended and settled."""

    def __init__(
        self,
        path: Path,
        asker: Asker,
        *,
        dialect: DialectName,
        model: str,
        node: int,
        say: Callable[[str], None],
        turns: int | None = None,
        also: Sequence[str] = (),
        items: Callable[[], Sequence[Item]] = tuple,
        notice: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Remember what to serve.

        Args:
            path: the socket, in a folder of its own that the lab sees (see `Listener`).
            asker: of the run.
            dialect: the agent's, which the endpoint must speak, too.
            model: the model's name that the agent asks for: what the run has configured for the role `coder`.
            node: the lab's number.
            say: shows one line of progress.
            turns: most requests of the lab to its model; None: as many as it likes.
            also: further names that it may ask for; the configured model answers all the same.
            items: returns what the agent can have read so far.
            notice: returns a text that is added to the agent's next request, as if its user had said it.
        """
        self.exchanges = 0
        """Answers that were passed on in this start of the bot."""
        self.over: BotError | None = None
        """Why nothing more will be answered in this run."""
        self.closed: str | None = None
        """Why nothing more will be answered in this lab."""
        self.ended = asyncio.Event()
        """Set once there is one of these reasons."""
        self._listener = Listener(path, self._serve, limit=_CONNECTIONS)
        self._exchanges = Exchanges(asker, node, model)
        self._turns = turns
        self.turns_taken = self._exchanges.booked
        """Requests to the model, whatever came of them."""
        self._refused_in_a_row = 0
        self._redactor = asker.calls.store.redactor
        self._dialect = DIALECTS[dialect]
        self._models = (model, *also)
        self._say = say
        self._items = items
        self._notice = notice
        self._under_way = asyncio.Semaphore(_AT_A_TIME)
        self._checking = asyncio.Lock()
        self._open: dict[Exchange, asyncio.Event] = {}
        """Open exchanges, each with an event that is set at its end."""
        self._is_told_of_estimates = False

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which an agent finds the gateway."""
        address = f"http://127.0.0.1:{PORT}"
        if self._dialect is DIALECTS["messages"]:
            return {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": _NO_KEY}
        return {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_BASE": f"{address}/v1", "OPENAI_API_KEY": _NO_KEY}

    async def __aenter__(self) -> Self:
        """Settle what a killed engine had under way, and open the socket. Raises OSError: the socket cannot be opened."""
        await self._exchanges.settle()
        await self._listener.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the socket: streams end where they are; exchanges without an answer are charged at their reservations."""
        begun_exchanges = {exchange: end_event for exchange, end_event in self._open.items() if exchange.begun}
        for exchange, end_event in begun_exchanges.items():
            exchange.stop()
            await end_event.wait()
        await self._listener.__aexit__(kind, error, trace)
        await self._exchanges.settle()

    async def _serve(self, accepted: socket.socket) -> None:
        """Serve one connection."""
        connection = Connection(accepted)
        try:
            request = await connection.request()
            async with self._under_way:
                if request.method == "POST" and request.path == f"/v1{self._dialect.path}":
                    self._take_turn()
                # In a thread, and one after the other: large ones take a while, in which the run's other work goes on.
                async with self._checking:
                    body, headers = await asyncio.to_thread(self._checked, request)
                if (notice := self._notice()) is not None:
                    body = self._dialect.with_notice(body, notice)
                items = self._items()
                await self._pass_on(await asyncio.to_thread(Exchange, self._dialect, body, headers, items, connection))
        except GatewayRefusal as refusal:
            await self._refuse(connection, refusal)

    def _take_turn(self) -> None:
        """Count a request before it is processed; raises GatewayRefusal if no turn is left."""
        if self.closed is None and self.turns_taken == self._turns:
            self._close(f"all of its {self._turns} requests have been used")
        if self.closed is not None:
            raise GatewayRefusal(403, f"this lab gets no more answers: {self.closed}", "insufficient_quota")
        self.turns_taken += 1

    def _checked(self, request: Request) -> tuple[Json, Mapping[str, str]]:
        """Return the body and the headers that may be passed on; raises GatewayRefusal."""
        if request.headers.get("host", "").partition(":")[0] not in _HOSTS:
            raise GatewayRefusal(403, "this gateway accepts only its own host name", "permission_error")
        if request.path != f"/v1{self._dialect.path}" or request.query not in _QUERIES:
            raise GatewayRefusal(404, f"only POST /v1{self._dialect.path} is available here", "not_found_error")
        if request.method != "POST":
            raise GatewayRefusal(405, f"only POST /v1{self._dialect.path} is available here")
        headers = {name: request.headers[name] for name in _PASSED_HEADERS if name in request.headers}
        if wrong := [name for name, value in headers.items() if not HEADER.fullmatch(value)]:
            raise GatewayRefusal(400, f"the header {wrong[0]} has an invalid value")
        return checked(self._redactor.own_bytes(request.body), self._dialect, self._models), headers

    async def _pass_on(self, exchange: Exchange) -> None:
        """Pass a request on; where nothing of an answer was passed back, raise GatewayRefusal."""
        if self.over is not None:
            raise _refusal(self.over)
        self._open[exchange] = end_event = asyncio.Event()
        try:
            outcome = await self._exchanges.make(exchange)
        except BotError as error:
            self._end(error)
            raise _refusal(error) from None
        finally:
            del self._open[exchange]
            end_event.set()
        if exchange.estimated and not self._is_told_of_estimates:
            self._is_told_of_estimates = True
            self._say("the endpoint does not report all of a coding agent's tokens, so their number is estimated")
        if exchange.begun:
            self.exchanges += 1
            self._refused_in_a_row = 0
        elif outcome.error is not None:
            # A request of the engine's own failed likewise, or a refusal would have come in its place.
            if isinstance(outcome.error, ModelMisconfigured):
                self._end(outcome.error)
            raise _refusal(outcome.error)
        else:
            self._refused_in_a_row += 1
            if self._refused_in_a_row == _MOST_REFUSED:
                self._close(f"the endpoint refused {_MOST_REFUSED} consecutive requests")
            raise GatewayRefusal(400, outcome.refusal or "no model for coding agents is configured")

    async def _refuse(self, connection: Connection, refusal: GatewayRefusal) -> None:
        body = self._dialect.error(refusal.kind, str(refusal))
        await connection.begin(refusal.status, "application/json")
        await connection.send(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
        await connection.end()

    def _end(self, error: BotError) -> None:
        self.over = self.over or error
        self.ended.set()

    def _close(self, reason: str) -> None:
        self.closed = self.closed or reason
        self.ended.set()


def _refusal(error: BotError) -> GatewayRefusal:
    """Return the refusal of a request by the run's own error; agents try again after 503 alone."""
    if isinstance(error, ModelUnavailable):
        return GatewayRefusal(503, str(error), "overloaded_error")
    kind = "insufficient_quota" if isinstance(error, BudgetExceeded) else "permission_error"
    return GatewayRefusal(403, str(error), kind)
