"""What a hostile program in a lab may send to the gateway: nothing of it gets past, and nothing is spent on it."""

import asyncio
import json
import socket as sockets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.budgets.kinds import Kind
from bot.budgets.settings import Caps
from bot.coder.gateway import DialectName
from bot.coder.gateway.http import MOST_BYTES
from tests.bot.coder.gateway.answers import answering, tokens, whole
from tests.bot.coder.gateway.parts import MODEL, PATHS, Came, Wire, connected, good, http, read, scene
from tests.bot.models.parts import KEY

CHAT = PATHS["chat"]
GOOD = json.dumps(good("chat")).encode()
IMAGE = {"type": "image_url", "image_url": {"url": "https://elsewhere.example/?labels=0110"}}


def raw(*lines: str, body: bytes = GOOD) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode() + body


def head(*lines: str, body: bytes = GOOD) -> bytes:
    return raw(f"POST {CHAT} HTTP/1.1", "Host: 127.0.0.1:18080", *lines, body=body)


def said(content: object, dialect: DialectName = "chat", **fields: object) -> bytes:
    request = {**good(dialect), **fields}
    request["input" if dialect == "responses" else "messages"] = [{"role": "user", "content": content}]
    return http(PATHS[dialect], json.dumps(request).encode())


def given(dialect: DialectName = "chat", **fields: object) -> bytes:
    return http(PATHS[dialect], json.dumps({**good(dialect), **fields}).encode())


LENGTH = f"Content-Length: {len(GOOD)}"
ATTEMPTS: dict[str, tuple[bytes, int, DialectName]] = {
    # other paths and methods
    "get": (http(CHAT, b"", "GET"), 405, "chat"),
    "delete": (http(CHAT, GOOD, "DELETE"), 405, "chat"),
    "connect to another host": (
        raw("CONNECT elsewhere.example:443 HTTP/1.1", "Host: 127.0.0.1", body=b""),
        404,
        "chat",
    ),
    "models": (http("/v1/models", b"", "GET"), 404, "chat"),
    "files": (http("/v1/files", GOOD), 404, "chat"),
    "embeddings": (http("/v1/embeddings", GOOD), 404, "chat"),
    "another dialect's path": (http(PATHS["responses"], GOOD), 404, "chat"),
    "a batch of messages": (http("/v1/messages/batches", GOOD), 404, "messages"),
    "up and out": (http("/v1/chat/completions/../../files", GOOD), 404, "chat"),
    "an encoded path": (http("/v1/chat%2fcompletions", GOOD), 404, "chat"),
    "a query": (http(f"{CHAT}?api-version=1&key=x", GOOD), 404, "chat"),
    # other hosts
    "another host": (http(CHAT, GOOD, Host="elsewhere.example"), 403, "chat"),
    "a host that begins like ours": (http(CHAT, GOOD, Host="127.0.0.1.elsewhere.example:18080"), 403, "chat"),
    "an absolute address": (http(f"http://elsewhere.example{CHAT}", GOOD), 404, "chat"),
    "no host": (raw(f"POST {CHAT} HTTP/1.1", LENGTH), 400, "chat"),
    "two hosts": (head("Host: elsewhere.example", LENGTH), 400, "chat"),
    # requests in requests
    "chunks": (head("Transfer-Encoding: chunked", body=b"0\r\n\r\n" + GOOD), 411, "chat"),
    "chunks and a length": (head("Transfer-Encoding: chunked", LENGTH, body=b"0\r\n\r\n" + GOOD), 411, "chat"),
    "two lengths": (head("Content-Length: 4", LENGTH), 400, "chat"),
    "a negative length": (head("Content-Length: -5"), 400, "chat"),
    "a length in words": (head("Content-Length: many"), 400, "chat"),
    "a space before the colon": (head("Transfer-Encoding : chunked", LENGTH), 400, "chat"),
    "a zero in a header": (head("X-Note: a\0b", LENGTH), 400, "chat"),
    "http 2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403, "chat"),
    "a handshake": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), 400, "chat"),
    "a head without end": (raw(f"POST {CHAT} HTTP/1.1", f"X: {'a' * 200_000}"), 400, "chat"),
    # too much
    "a long body by its length": (head(f"Content-Length: {1 << 40}"), 413, "chat"),
    "a long body": (http(CHAT, b" " * (MOST_BYTES + 1)), 413, "chat"),
    "a packed body": (head(LENGTH, "Content-Encoding: gzip"), 415, "chat"),
    "too many parts": (http(CHAT, b"[" + b"{}," * 300_000 + b"{}]"), 400, "chat"),
    # no requests
    "no JSON": (http(CHAT, b'{"model": "gpt-x", "messages": ['), 400, "chat"),
    "no text": (http(CHAT, b"\xff\xfe\x00"), 400, "chat"),
    "a list": (http(CHAT, b"[1]"), 400, "chat"),
    "nested without end": (http(CHAT, b'{"messages":' * 5000), 400, "chat"),
    "deep": (http(CHAT, b'{"model":"gpt-x","messages":' + b"[" * 800 + b"]" * 800 + b"}"), 400, "chat"),
    "not a number": (http(CHAT, GOOD[:-1] + b', "temperature": NaN}'), 400, "chat"),
    "no messages": (given(messages=[]), 400, "chat"),
    "messages that are none": (given(messages="hello"), 400, "chat"),
    "an item that is none": (given("responses", input=[1]), 400, "responses"),
    # other models, more answers
    "another model": (given(model="gpt-dear"), 404, "chat"),
    "a model and a half": (given(model=[MODEL]), 404, "chat"),
    "no model": (given(model=None), 404, "chat"),
    "a hundred answers": (given(n=100), 400, "chat"),
    "fewer than no tokens": (given(max_tokens=-1), 400, "chat"),
    "true tokens": (given(max_tokens=True), 400, "chat"),
    "half a stream": (given(stream="yes"), 400, "chat"),
    # through the endpoint to elsewhere
    "an image by address": (said([IMAGE]), 400, "chat"),
    "an image by a list of addresses": (said([{"type": "image_url", "image_url": {"url": ["http://x"]}}]), 400, "chat"),
    "a video by another name": (said([{"type": "media", "mediaUri": "gs://elsewhere/labels"}]), 400, "chat"),
    "a file by its id": (said([{"type": "file", "file": {"file_id": "file-1"}}]), 400, "chat"),
    "an image by address in an item": (
        said([{"type": "input_image", "image_url": " https://elsewhere.example"}], "responses"),
        400,
        "responses",
    ),
    "a file by address": (
        said([{"type": "input_file", "file_url": "https://elsewhere.example"}], "responses"),
        400,
        "responses",
    ),
    "a video by addresses": (said([{"type": "video", "video": ["https://elsewhere.example/1.png"]}]), 400, "chat"),
    "an image by another list": (said([{"type": "image", "image_urls": ["https://elsewhere.example"]}]), 400, "chat"),
    "a sound that the endpoint keeps": (
        given(messages=[{"role": "assistant", "audio": {"id": "audio_1"}}, {"role": "user", "content": "x"}]),
        400,
        "chat",
    ),
    "an image that the endpoint keeps": (
        given("responses", input=[{"type": "image_generation_call", "id": "ig_1"}]),
        400,
        "responses",
    ),
    "an item that the endpoint keeps": (
        given("responses", input=[{"type": "item_reference", "id": "msg_1"}]),
        400,
        "responses",
    ),
    "an answer that the endpoint keeps": (given("responses", previous_response_id="resp_1"), 400, "responses"),
    "a conversation that the endpoint keeps": (given("responses", conversation="conv_1"), 400, "responses"),
    "a prompt that the endpoint keeps": (given("responses", prompt={"id": "pmpt_1"}), 400, "responses"),
    "a document by address": (
        said([{"type": "document", "source": {"type": "url", "url": "https://elsewhere.example"}}], "messages"),
        400,
        "messages",
    ),
    "an image by address in what a tool printed": (
        said(
            [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "source": {"url": "ftp://x"}}]}],
            "messages",
        ),
        400,
        "messages",
    ),
    **{
        f"an address in place of data: {part}": (said([part]), 400, "chat")
        for part in (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "https://elsewhere.example/a.pdf"}},
            {"type": "file", "file": "https://elsewhere.example/a.pdf"},
            {"type": "input_audio", "input_audio": {"data": "https://elsewhere.example/a.wav", "format": "wav"}},
            {"type": "input_audio", "input_audio": "https://elsewhere.example/a.wav"},
            {"type": "image", "image": "file:/etc/passwd"},
            {"type": "document", "document": "gs://elsewhere/a"},
            {"type": "image", "source": "https://elsewhere.example/a.png"},
            {"type": "file", "file": {"fileId": "file-1"}},
            {"type": "image_embeds", "image_embeds": "gASVCg=="},
            {"image_embeds": "gASVCg=="},
            {"type": "text", "text": "a", "uuid": "picture-of-another", "audio_embeds": {"a": "gASVCg=="}},
            {"type": "image_url", "image_url": None, "uuid": "picture-of-another"},
            {"type": "image", "image": "/root/a.png"},
            {"type": "image", "image": "//elsewhere.example/a"},
            {"type": "video", "video": ["QUJD", r"\\elsewhere\a"]},
            {"type": "input_audio", "input_audio": {"data": "~/a", "format": "wav"}},
        )
    },
    **{
        f"{kind} that the endpoint keeps": (
            given("responses", input=[{"type": kind, "id": "x_1", "status": "completed", **more}]),
            400,
            "responses",
        )
        for kind, more in (
            ("reasoning", {"summary": []}),
            ("mcp_call", {}),
            ("code_interpreter_call", {}),
            ("Item_Reference", {}),
            ("item_reference", {"role": "user", "content": "a"}),
        )
    },
    "calls within calls": (
        given(messages=[{"role": "assistant", "tool_calls": [{"arguments": json.dumps("[" * 600 + "]" * 600)}]}]),
        400,
        "chat",
    ),
    "a header with two lines": (http(PATHS["messages"], b"{}", anthropic_beta="a\tb"), 400, "messages"),
}


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_it_is_refused_with_a_sentence_and_nothing_is_sent_or_spent(tmp_path: Path, name: str) -> None:
    content, status, dialect = ATTEMPTS[name]
    async with scene(tmp_path, answering, dialect=dialect) as it:
        got = await it.send(content)
        assert got.status == status, got
        assert len(got.error) > 10 and (got.json.get("type") == "error") == (dialect == "messages")
        assert KEY not in got.head + got.body.decode()
        assert it.upstream.came == [] and it.ledger.entries == 0
        assert it.gateway.over is None, "the next one is served as ever"


async def test_a_question_whether_it_is_there_is_answered_without_a_body(tmp_path: Path) -> None:
    async with scene(tmp_path, answering, dialect="messages") as it:
        got = await it.send(raw("HEAD / HTTP/1.1", "Host: 127.0.0.1:18080", body=b""))
        assert (got.status, got.body) == (404, b"")


HOSTED: dict[str, tuple[DialectName, list[dict[str, Any]]]] = {
    "chat": (
        "chat",
        [
            {"type": "web_search"},
            {"type": "mcp", "server_url": "https://elsewhere.example"},
            {"type": ["function"]},
            {"type": "function", "function": {"name": "sh"}},
        ],
    ),
    "responses": (
        "responses",
        [
            *({"type": kind} for kind in ("web_search", "web_search_preview", "file_search", "image_generation")),
            {"type": "code_interpreter", "container": {"type": "auto"}},
            {"type": "mcp", "server_label": "x", "server_url": "https://elsewhere.example"},
            {"type": "shell", "environment": {"type": "container_auto"}},
            {"type": "namespace", "name": "n", "tools": [{"type": "web_search"}]},
            {"type": "function", "name": "sh"},
        ],
    ),
    "messages": (
        "messages",
        [
            {"type": "web_search_20250305", "name": "web_search"},
            {"type": "web_fetch_20250910", "name": "web_fetch"},
            {"type": "code_execution_20250825", "name": "code_execution"},
            {"type": "mcp_toolset", "mcp_server_name": "x"},
            {"name": "sh", "input_schema": {"type": "object"}},
        ],
    ),
}


@pytest.mark.parametrize("name", HOSTED)
async def test_tools_that_the_endpoint_would_run_do_not_reach_it(tmp_path: Path, name: str) -> None:
    dialect, tools = HOSTED[name]
    async with scene(tmp_path, answering, dialect=dialect) as it:
        assert (await it.ask(tools=tools)).status == 200
        assert (await it.ask(tools=tools[:2], tool_choice="auto")).status == 200
        assert (await it.ask(tools="web_search")).status == 200
    first, *others = [came.body for came in it.upstream.came]
    inner = [{**tool, "tools": []} for tool in tools if tool.get("type") == "namespace"]
    assert first["tools"] == [*inner, tools[-1]]
    assert all("tools" not in one and "tool_choice" not in one for one in others)


async def test_fields_that_are_not_known_do_not_reach_the_endpoint(tmp_path: Path) -> None:
    fields = {
        "web_search_options": {},
        "plugins": [{"id": "web"}],
        "models": ["gpt-dear"],
        "provider": {"order": ["x"]},
        "route": "fallback",
        "service_tier": "priority",
        "store": True,
        "metadata": {"labels": "0110"},
        "user": "labels:0110",
        "background": True,
        "mcp_servers": [{"url": "https://elsewhere.example"}],
        "container": "c",
        "callback_url": "https://elsewhere.example",
        "extra_headers": {"X-Labels": "0110"},
    }
    dialects: tuple[DialectName, ...] = ("chat", "responses", "messages")
    for dialect in dialects:
        async with scene(tmp_path / dialect, answering, dialect=dialect) as it:
            assert (await it.ask(**fields)).status == 200
        own = {"store"} if dialect == "responses" else set()
        assert set(it.upstream.came[0].body) == {*good(dialect), *own}
        assert it.upstream.came[0].body.get("store", False) is False


async def test_headers_do_not_reach_the_endpoint_but_for_two_that_are_looked_at(tmp_path: Path) -> None:
    smuggled = {
        "X_Api_Key": "sk-mine",
        "Cookie": "labels=0110",
        "OpenAI_Organization": "org-1",
        "X_Forwarded_Host": "elsewhere.example",
        "Proxy_Authorization": "Basic eDp5",
        "X_Labels": "0110",
        "anthropic_beta": "fine-grained-2025-05-14,other-1",
    }
    async with scene(tmp_path, answering, dialect="messages") as it:
        assert (await it.send(http(PATHS["messages"], json.dumps(good("messages")).encode(), **smuggled))).status == 200
    headers = it.upstream.came[0].headers
    assert headers["x-api-key"] == KEY and headers["anthropic-beta"] == smuggled["anthropic_beta"]
    ours = {"host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length"}
    assert set(headers) == {*ours, "x-api-key", "anthropic-version", "anthropic-beta"}
    assert "0110" not in str(headers) and "elsewhere" not in str(headers)


async def test_of_two_requests_on_a_connection_the_second_is_not_seen(tmp_path: Path) -> None:
    second = http("/v1/files", GOOD)
    async with scene(tmp_path, answering) as it:
        got = await it.send(http(CHAT, GOOD) + second)
        assert got.status == 200 and got.body.count(b"choices") == 1
        assert len(it.upstream.came) == 1
        inside = GOOD[:-1] + b', "note": "\\r\\n\\r\\nPOST /v1/files HTTP/1.1\\r\\n\\r\\n"}'
        assert (await it.send(http(CHAT, inside))).status == 200
    assert [came.line for came in it.upstream.came] == [f"POST {CHAT} HTTP/1.1"] * 2


async def test_what_was_checked_is_what_is_sent_though_a_key_stand_there_twice(tmp_path: Path) -> None:
    twice = b'{"messages": [{"role": "user", "content": "hi"}], "model": "gpt-dear", "n": 9, "n": 1, "model": "gpt-x"}'
    async with scene(tmp_path, answering) as it:
        assert (await it.send(http(CHAT, twice))).status == 200
    assert it.upstream.came[0].body == {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}


async def test_a_key_that_is_in_a_request_is_not_sent(tmp_path: Path) -> None:
    async with scene(tmp_path, answering) as it:
        await it.ask(messages=[{"role": "user", "content": f"is {KEY} right?"}])
    assert it.upstream.came[0].body["messages"][0]["content"] == "is [secret] right?"


# many at a time, and those that go


def dear(length: int = 2_000) -> Callable[[Came, Wire], Any]:
    """Return a script whose answers are as long as they may be, and count their prompt in bytes."""

    async def answer(came: Came, wire: Wire) -> None:
        await asyncio.sleep(0.01)
        usage = {"prompt_tokens": 100, "completion_tokens": came.body["max_tokens"]}
        await wire.answer(whole("chat", usage=usage))

    return answer


async def test_a_flood_spends_no_more_than_the_cap_and_ends_with_a_sentence(tmp_path: Path) -> None:
    async with scene(tmp_path, dear(), caps=Caps(money=0.5)) as it:
        answers = await asyncio.gather(*(it.ask() for _ in range(60)))
        assert {one.status for one in answers} == {200, 403}
        refused = [one for one in answers if one.status == 403]
        assert all("cap on money has been reached" in one.error for one in refused)
        assert it.cost <= 0.5 and it.counted(Kind.MONEY) == pytest.approx(it.cost)
        assert it.ledger.entries == len(it.upstream.came) == 60 - len(refused)
        assert it.budget.amount_reserved(Kind.MONEY) == 0
        sent = len(it.upstream.came)
        assert (await it.ask()).status == 403 and len(it.upstream.came) == sent, "nothing more is sent"


@pytest.mark.integration
async def test_few_requests_of_a_lab_are_under_way_at_a_time(tmp_path: Path) -> None:
    running = most = 0
    four = asyncio.Event()

    async def count(came: Came, wire: Wire) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 4:
            four.set()
        await asyncio.wait_for(four.wait(), 60)
        await asyncio.sleep(0.05)  # for a fifth to come
        running -= 1
        await wire.answer(whole("chat"))

    async with scene(tmp_path, count) as it:
        await asyncio.gather(*(it.ask() for _ in range(20)))
    assert most == 4, "the run's other calls have places of their own"


async def test_whoever_hangs_up_pays_for_the_whole_answer(tmp_path: Path) -> None:
    go_on, through = asyncio.Event(), asyncio.Event()

    async def slowly(came: Came, wire: Wire) -> None:
        await wire.head()
        await wire.event({"choices": [{"delta": {"content": "first"}}]})
        await asyncio.wait_for(go_on.wait(), 60)
        for _ in range(50):
            await wire.event({"choices": [{"delta": {"content": "more" * 1000}}]})
        await wire.event({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": tokens("chat")})
        through.set()

    async with scene(tmp_path, slowly) as it:
        async with connected(it.socket) as client:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(client, it.request(stream=True))
            seen = b""
            while b"first" not in seen:
                seen += await loop.sock_recv(client, 65536)
        go_on.set()
        await asyncio.wait_for(through.wait(), 60)
        async with asyncio.timeout(20):
            while it.ledger.entries == 0:
                await asyncio.sleep(0.01)
        assert it.cost == pytest.approx((600 + 40 + 1000) / 1e6) and it.upstream.let_go == 0


async def test_whoever_hangs_up_at_once_pays_as_well(tmp_path: Path) -> None:
    async with scene(tmp_path, answering) as it:
        async with connected(it.socket) as client:
            await asyncio.get_running_loop().sock_sendall(client, it.request())
        async with asyncio.timeout(20):
            while it.ledger.entries == 0:
                await asyncio.sleep(0.01)
        assert it.ledger.completion_tokens == 100


async def test_connections_that_say_nothing_keep_nobody_out_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.coder.gateway.http._REQUEST_SECONDS", 0.3)
    async with scene(tmp_path, answering) as it:
        loop = asyncio.get_running_loop()
        async with connected(it.socket) as silent, connected(it.socket) as slow:
            await loop.sock_sendall(slow, http(CHAT, GOOD)[:-5])
            for one in (silent, slow):
                assert (await read(one)).status == 408
        assert (await it.ask()).status == 200


@pytest.mark.parametrize("content", [b"", b"POST ", http(CHAT, GOOD)[:-5], http(CHAT, b"{")])
async def test_whoever_goes_before_it_has_asked_leaves_no_trace(tmp_path: Path, content: bytes) -> None:
    faults: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: faults.append(context))
    async with scene(tmp_path, answering) as it:
        for end in (sockets.SHUT_WR, sockets.SHUT_RDWR):
            async with connected(it.socket) as client:
                await loop.sock_sendall(client, content)
                client.shutdown(end)
                await read(client)
        assert (await it.ask()).status == 200
    assert faults == []
