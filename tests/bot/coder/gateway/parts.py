"""A gateway before a scripted upstream, and a client that speaks to it byte by byte."""

import asyncio
import contextlib
import json
import socket as sockets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.coder.gateway import DialectName, Gateway
from bot.models import CallLimits
from bot.models.ask import Asker
from bot.models.bounds import free
from bot.models.endpoint import Endpoint, OpenAIModel
from bot.models.pricing import Pricing
from bot.models.usefulness import Usefulness
from state.spending import Spending, read_spending
from state.steps import Steps
from state.store import Store
from tests.bot.models.parts import CUTOFF, KEY, PRICES, RUN, HurriedClock, open_run

MODEL = "gpt-x"
NODE = 3
PATHS: Mapping[DialectName, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
}


@dataclass(frozen=True)
class Came:
    """A request as the upstream got it."""

    line: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class Wire:
    """The upstream's end of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, content: bytes) -> None:
        self._writer.write(content)
        await self._writer.drain()

    async def answer(self, content: object, status: int = 200, kind: str = "application/json", **more: str) -> None:
        """Send a whole answer."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        await self.head(kind, status, Content_Length=str(len(body)), **more)
        await self.send(body)

    async def head(self, kind: str = "text/event-stream", status: int = 200, **more: str) -> None:
        """Begin an answer that ends with its connection, unless its length is given."""
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def event(self, data: object, name: str | None = None) -> None:
        """Send an event of a stream."""
        text = data if isinstance(data, str) else json.dumps(data)
        await self.send((f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode())


Script = Callable[[Came, Wire], Awaitable[None]]


@dataclass
class Upstream:
    """An endpoint on loopback that answers from a script."""

    script: Script
    came: list[Came] = field(default_factory=list)
    let_go: int = 0
    """Connections that were closed from the other end before the script was through."""
    url: str = ""
    _serving: set["asyncio.Task[None]"] = field(default_factory=set)

    async def close(self) -> None:
        """End what is still served."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        finally:
            writer.transport.abort() if asyncio.current_task().cancelling() else writer.close()  # type: ignore[union-attr]
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {k.lower(): v for k, _, v in (one.partition(": ") for one in head[1:] if one)}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.came.append(Came(head[0], headers, body))
            try:
                await self.script(self.came[-1], Wire(writer))
            except ConnectionError:
                self.let_go += 1


@dataclass
class Answer:
    """What the gateway answered."""

    status: int
    head: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The data of the events."""
        parts = [one for one in self.body.decode().split("\n\n") if one.strip()]
        texts = ["".join(x[6:] for x in part.split("\n") if x.startswith("data: ")) for part in parts]
        return [text if text in ("", "[DONE]") else json.loads(text) for text in texts]

    @property
    def error(self) -> str:
        """The sentence of an error, in whichever shape."""
        return str(self.json["error"]["message"])


@dataclass
class Scene:
    """A gateway with all that stands around it."""

    gateway: Gateway
    asker: Asker
    store: Store
    upstream: Upstream
    socket: Path
    dialect: DialectName
    budget: Level
    lines: list[str]

    @property
    def ledger(self) -> Spending:
        return read_spending(self.store, RUN).get("tokens", Spending())

    @property
    def cost(self) -> float:
        return self.ledger.cost_usd

    def counted(self, kind: Kind) -> float:
        return self.budget.amount_spent(kind)

    async def ask(self, body: object | None = None, **fields: object) -> Answer:
        """Send a request of the agent, by default a good one with further fields."""
        return await self.send(self.request(body, **fields))

    def request(self, body: object | None = None, **fields: object) -> bytes:
        """Return a request, as bytes."""
        content = json.dumps({**good(self.dialect), **fields} if body is None else body).encode()
        return http(PATHS[self.dialect], content)

    async def send(self, content: bytes) -> Answer:
        """Send bytes as they are, and return what is answered."""
        async with connected(self.socket) as client:
            loop = asyncio.get_running_loop()
            with contextlib.suppress(ConnectionError):
                await loop.sock_sendall(client, content)
            return await read(client)


def good(dialect: DialectName) -> dict[str, Any]:
    """Return a request as an agent makes it."""
    if dialect == "responses":
        return {"model": MODEL, "input": [{"role": "user", "content": "Which number?"}]}
    said = {"model": MODEL, "messages": [{"role": "user", "content": "Which number?"}]}
    return {**said, "max_tokens": 1000} if dialect == "messages" else said


def http(path: str, body: bytes, method: str = "POST", **headers: str) -> bytes:
    """Return a request."""
    own = {"Host": "127.0.0.1:18080", "Content-Length": str(len(body)), "Authorization": "Bearer none"}
    named = {**own, **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    return "\r\n".join(lines).encode() + body


@asynccontextmanager
async def connected(path: Path) -> AsyncIterator[sockets.socket]:
    while True:
        with sockets.socket(sockets.AF_UNIX) as client:
            client.setblocking(False)
            try:
                client.connect(str(path))
            except BlockingIOError:  # as many wait as may
                await asyncio.sleep(0.005)
                continue
            yield client
            return


async def read(client: sockets.socket) -> Answer:
    """Read an answer to its end."""
    content = b""
    with contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(20):
            while part := await asyncio.get_running_loop().sock_recv(client, 1 << 20):
                content += part
    head, _, body = content.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        body = unchunked(body)
    return Answer(int(head.split()[1]) if head else 0, head.decode(), body)


def unchunked(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        whole, body = whole + rest[:length], rest[length + 2 :]
        if length == 0:
            break
    return whole


@asynccontextmanager
async def scene(
    folder: Path,
    script: Script,
    *,
    dialect: DialectName = "chat",
    caps: Caps | None = None,
    timeout: float = 10.0,
    seconds: float = 60.0,
    retries: int = 0,
    store: Store | None = None,
    wrap: Callable[[OpenAIModel], Any] = lambda model: model,
    usefulness: Usefulness | None = None,
    **options: Any,
) -> AsyncIterator[Scene]:
    """Open a gateway before an upstream.

    Args:
        folder: of the store and the socket.
        script: the upstream's.
        dialect: the agent's.
        caps: of the run.
        timeout: longest silence (seconds).
        seconds: longest exchange.
        retries: of a request.
        store: that of an earlier gateway, in the same folder.
        wrap: returns what is asked in place of the model.
        usefulness: of an earlier gateway's answers in the same run.
        options: of the gateway.
    """
    async with AsyncExitStack() as stack:
        upstream = Upstream(script)
        server = await asyncio.start_server(upstream.accept, "127.0.0.1", 0)
        stack.push_async_callback(upstream.close)
        stack.callback(server.close)
        upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        held = stack.enter_context(open_run(folder)) if store is None else store
        endpoint = Endpoint(SecretStr(KEY), lambda role: MODEL, upstream.url, timeout, None, retries)
        model = OpenAIModel(endpoint, Pricing(PRICES, base_url=upstream.url), HurriedClock())
        stack.push_async_callback(model.aclose)
        before = read_spending(held, RUN).get("tokens", Spending())
        budget = Level("run", caps or Caps(), amounts={Kind.MONEY: before.cost_usd, Kind.TOKENS: before.new_tokens})
        asked = wrap(model)
        estimate = getattr(asked, "estimate", free)
        steps, limits = Steps(held, RUN), CallLimits(seconds)
        asker = Asker(
            asked,
            held,
            RUN,
            HurriedClock(CUTOFF),
            steps,
            budget=budget,
            estimate=estimate,
            limits=limits,
            usefulness=usefulness or Usefulness(held, RUN),
        )
        lines: list[str] = []
        path = folder / "lab3" / "socket" / "gateway"
        gateway = Gateway(path, asker, dialect=dialect, model=MODEL, node=NODE, say=lines.append, **options)
        await stack.enter_async_context(gateway)
        yield Scene(gateway, asker, held, upstream, path, dialect, budget, lines)
