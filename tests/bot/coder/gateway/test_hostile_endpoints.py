"""What an endpoint may do to the gateway: nothing of it takes the run past its cap, or hangs it, or brings a key into the lab."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.budgets.settings import Caps
from bot.coder.gateway import DialectName
from tests.bot.coder.gateway.answers import PIECES, TEXT, USAGE, answering, begin, end, piece, tokens, whole
from tests.bot.coder.gateway.parts import Came, Upstream, Wire, connected, scene
from tests.bot.models.parts import KEY

ALL: tuple[DialectName, ...] = get_args(DialectName)
Endless = Callable[[DialectName, Wire], Awaitable[None]]


# answers without an end


async def words(dialect: DialectName, wire: Wire) -> None:
    await begin(dialect, wire)
    while True:
        await piece(dialect, wire, "and on " * 200)


async def comments(dialect: DialectName, wire: Wire) -> None:
    await begin(dialect, wire)
    await piece(dialect, wire, "x")
    while True:
        await wire.send(b": still there" + b"." * 1_000_000 + b"\n\n")


async def one_event(dialect: DialectName, wire: Wire) -> None:
    await begin(dialect, wire)
    await piece(dialect, wire, "x")
    while True:
        await wire.send(b"data: " + b"x" * 100_000)


async def silence(dialect: DialectName, wire: Wire) -> None:
    await begin(dialect, wire)
    await piece(dialect, wire, "x")
    await asyncio.sleep(60)


async def drip(dialect: DialectName, wire: Wire) -> None:
    await begin(dialect, wire)
    while True:
        await piece(dialect, wire, "x")
        await asyncio.sleep(0.02)


ENDLESS = [*((words, one) for one in ALL), *((one, ALL[0]) for one in (comments, one_event, silence, drip))]


@pytest.mark.integration
@pytest.mark.parametrize(("endless", "dialect"), ENDLESS)
async def test_a_stream_without_end_is_ended_with_an_error_and_paid_within_the_cap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: DialectName, endless: Endless
) -> None:
    monkeypatch.setattr("bot.models.passing.MOST_OF_STREAM", 6_000_000)

    async def script(came: Came, wire: Wire) -> None:
        await endless(dialect, wire)

    async with scene(tmp_path, script, dialect=dialect, caps=Caps(money=0.2), timeout=1.0, seconds=3.0) as it:
        got = await it.ask(stream=True)
        assert got.status == 200 and "error" in str(got.events[-1])
        assert 0 < it.cost <= 0.2 and it.ledger.entries == 1
        # 8,000 tokens are asked for at the most, and one event more may come.
        assert it.ledger.completion_tokens <= 1.5 * 8_000 + 400
        assert it.budget.amount_spent(next(iter(it.budget.usage))) == pytest.approx(it.cost)


@pytest.mark.parametrize("dialect", ALL)
async def test_an_endpoint_that_does_not_hang_up_keeps_nobody_waiting(tmp_path: Path, dialect: DialectName) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await begin(dialect, wire)
        await piece(dialect, wire, TEXT)
        await end(dialect, wire)
        await asyncio.sleep(60)

    async with scene(tmp_path, script, dialect=dialect, timeout=60) as it:
        got = await it.ask(stream=True)
        assert "error" not in str(got.events[-1]) and it.ledger.completion_tokens == USAGE.completion_tokens


async def test_a_stream_may_take_longer_than_the_time_out_while_it_comes(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await begin("chat", wire)
        for _ in range(12):
            await piece("chat", wire, "x")
            await asyncio.sleep(0.08)
        await end("chat", wire)

    async with scene(tmp_path, script, timeout=0.7) as it:
        got = await it.ask(stream=True)
        assert "error" not in str(got.events[-1]) and it.ledger.completion_tokens == USAGE.completion_tokens


async def test_a_body_without_end_is_given_up(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await wire.head("application/json", Content_Length=str(1 << 40))
        while True:
            await wire.send(b" " * 1_000_000)

    async with scene(tmp_path, script) as it:
        got = await it.ask()
        assert got.status == 503 and "longer than" in got.error
        async with asyncio.timeout(20):
            while not it.upstream.let_go:
                await asyncio.sleep(0.01)


async def test_a_head_without_end_is_given_up(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await wire.send(b"X-More: " + b"x" * 10_000 + b"\r\n")

    async with scene(tmp_path, script) as it:
        assert (await it.ask()).status == 503


async def test_silence_is_given_up(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await asyncio.sleep(60)

    async with scene(tmp_path, script, timeout=1) as it:
        got = await it.ask()
        assert got.status == 503 and "sent nothing" in got.error and it.cost == 0


async def test_a_slow_body_is_given_up(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await wire.head("application/json", Content_Length="1000")
        for _ in range(1000):
            await wire.send(b" ")
            await asyncio.sleep(0.05)

    async with scene(tmp_path, script, seconds=0.3) as it:
        assert (await it.ask()).status == 503


# answers that break off


@pytest.mark.parametrize("dialect", ALL)
async def test_what_came_of_a_stream_that_died_is_paid_and_the_agent_sees_that_it_died(
    tmp_path: Path, dialect: DialectName
) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await begin(dialect, wire)
        for text in PIECES:
            await piece(dialect, wire, text)

    async with scene(tmp_path, script, dialect=dialect, retries=3) as it:
        got = await it.ask(stream=True)
        assert "was interrupted" in str(got.events[-1]) and all(text in got.body.decode() for text in PIECES)
        assert len(it.upstream.came) == 1, "it is not asked for twice once it has begun"
        assert it.ledger.completion_tokens == -(-len(TEXT) // 4)
        # One dialect reports the tokens of a prompt first.
        sent = it.ledger.prompt_tokens
        assert sent == USAGE.prompt_tokens if dialect == "messages" else 5 <= sent <= 60
        assert "estimated" in it.lines[0]


async def test_an_error_midway_reaches_the_agent_and_what_came_is_paid(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await begin("messages", wire)
        await piece("messages", wire, TEXT)
        await wire.event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")

    async with scene(tmp_path, script, dialect="messages", retries=3) as it:
        got = await it.ask(stream=True)
        assert "Overloaded" in got.body.decode() and len(it.upstream.came) == 1
        assert it.ledger.completion_tokens == -(-len(TEXT) // 4) and it.ledger.cached_tokens == USAGE.cached_tokens


@pytest.mark.parametrize("stream", [False, True])
async def test_an_endpoint_that_hangs_up_at_once_is_asked_again_and_then_given_up(tmp_path: Path, stream: bool) -> None:
    async def script(came: Came, wire: Wire) -> None:
        if stream:
            await wire.head()

    async with scene(tmp_path, script, retries=2) as it:
        got = await it.ask(stream=stream)
        assert got.status == 503 and it.cost == 0
        assert len(it.upstream.came) == 4, "the last is the engine's own question"
        assert it.gateway.over is None


# keys


async def elsewhere(came: Came, wire: Wire) -> None:
    raise AssertionError("a redirect was followed")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(tmp_path: Path, status: int) -> None:
    other = Upstream(elsewhere)
    server = await asyncio.start_server(other.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def script(came: Came, wire: Wire) -> None:
        await wire.answer({}, status=status, Location=f"http://127.0.0.1:{port}/v1/chat/completions")

    async with server, scene(tmp_path, script, retries=2) as it:
        got = await it.ask()
        assert got.status == 403 and "the bot does not follow redirects" in got.error
    assert other.came == []


def in_json(came: Came, text: str) -> bytes:
    return json.dumps(whole("chat", text)).encode()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_key_that_comes_back_does_not_reach_the_lab(tmp_path: Path, stream: bool) -> None:
    async def script(came: Came, wire: Wire) -> None:
        said = f"your key is {came.headers['authorization']}, {KEY}!"
        if not stream:
            await wire.answer(whole("chat", said), X_Key=KEY, Set_Cookie=f"key={KEY}")
            return
        await wire.head(X_Key=KEY)
        event = json.dumps({"choices": [{"delta": {"content": said}}]})
        # In pieces, as the network may cut it anywhere.
        for part in ("data: ", event[:50], event[50:70], event[70:], "\n\n"):
            await wire.send(part.encode())
            await asyncio.sleep(0.01)
        await end("chat", wire)

    async with scene(tmp_path, script) as it:
        got = await it.ask(stream=stream)
        assert got.status == 200 and "[secret]" in got.body.decode()
        assert KEY not in got.head + got.body.decode() and KEY[5:20] not in got.body.decode()
        assert "x-key" not in got.head.lower() and "cookie" not in got.head.lower()


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_a_key_in_an_error_does_not_reach_the_lab(tmp_path: Path, status: int) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await wire.answer({"error": {"message": f"wrong: {came.headers['authorization']}"}}, status=status)

    async with scene(tmp_path, script) as it:
        got = await it.ask()
        assert got.status in (400, 403, 503) and "[secret]" in got.error and KEY not in got.error


# tokens


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_dearer_than_all_that_is_left_is_charged_and_is_the_last(tmp_path: Path, stream: bool) -> None:
    dear = {"prompt_tokens": 1000, "completion_tokens": 5_000_000}

    async def script(came: Came, wire: Wire) -> None:
        if not stream:
            await wire.answer(whole("chat", usage=dear))
            return
        await wire.head()
        await piece("chat", wire, "x")
        await wire.event({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": dear})

    async with scene(tmp_path, script, caps=Caps(money=1.0)) as it:
        assert (await it.ask(stream=stream)).status == 200
        assert it.cost == pytest.approx(50.001), "the endpoint will ask for what it counted"
        again = await it.ask(stream=stream)
        assert again.status == 403 and "50.0010 USD of 1.0000 USD" in again.error
        assert len(it.upstream.came) == 1 and it.gateway.ended.is_set()


WRONG: list[Any] = [
    {"prompt_tokens": -1, "completion_tokens": -1},
    {"prompt_tokens": 10**30, "completion_tokens": 10**30},
    {"prompt_tokens": "many", "completion_tokens": None},
    {"prompt_tokens": 1.5, "completion_tokens": {}},
    [1, 2],
    "none",
    None,
]


@pytest.mark.parametrize("dialect", ALL)
async def test_tokens_that_cannot_be_are_estimated(tmp_path: Path, dialect: DialectName) -> None:
    reports = iter(WRONG)

    async def script(came: Came, wire: Wire) -> None:
        usage = next(reports)
        if isinstance(usage, dict) and dialect != "chat":
            usage = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}
        await wire.answer({**whole(dialect), "usage": usage})

    async with scene(tmp_path, script, dialect=dialect) as it:
        for number in range(1, len(WRONG) + 1):
            assert (await it.ask()).status == 200
            assert it.ledger.completion_tokens == number * -(-len(TEXT) // 4)
            assert 5 * number <= it.ledger.prompt_tokens <= 60 * number
        assert "estimated" in it.lines[0]


# what is no answer


async def page(came: Came, wire: Wire) -> None:
    await wire.answer(b"<html><title>Log in</title></html>", kind="text/html")


async def packed(came: Came, wire: Wire) -> None:
    await wire.answer(gzip.compress(b" " * 5_000_000), Content_Encoding="gzip")


async def nested(came: Came, wire: Wire) -> None:
    await wire.answer(b'{"choices":' * 20_000)


async def many_parts(came: Came, wire: Wire) -> None:
    await wire.answer(b'{"choices": [' + b"{}," * 300_000 + b"{}]}")


async def unasked(came: Came, wire: Wire) -> None:
    await begin("chat", wire)
    await end("chat", wire)


async def another_dialect(came: Came, wire: Wire) -> None:
    await wire.answer(whole("messages"))


async def no_choice(came: Came, wire: Wire) -> None:
    await wire.answer({"choices": []})


async def an_error_as_an_answer(came: Came, wire: Wire) -> None:
    await wire.answer({"error": {"message": "no", "code": 500}})


async def another_protocol(came: Came, wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + b"x" * 100)


async def nothing(came: Came, wire: Wire) -> None:
    await wire.send(b"HTTP/1.1 204 No Content\r\n\r\n")


async def noise(came: Came, wire: Wire) -> None:
    await wire.send(b"\x00\x01\x02" * 1000)


NO_ANSWERS = [
    page,
    packed,
    nested,
    many_parts,
    unasked,
    another_dialect,
    no_choice,
    an_error_as_an_answer,
    another_protocol,
    nothing,
    noise,
]


@pytest.mark.parametrize("script", NO_ANSWERS, ids=lambda one: one.__name__)
async def test_what_is_no_answer_is_an_error_and_costs_nothing(tmp_path: Path, script: Any) -> None:
    async with scene(tmp_path, script) as it:
        got = await it.ask()
        assert got.status in (403, 503) and len(got.error) > 10, got
        assert it.cost == 0 and it.gateway.exchanges == 0


async def test_events_that_make_no_sense_do_no_harm(tmp_path: Path) -> None:
    strange = ["[" * 100_000, "{", "[1, 2]", '"x"', '{"choices": 7}', '{"choices": [{"delta": [1]}]}', '{"usage": [1]}']

    async def script(came: Came, wire: Wire) -> None:
        await begin("chat", wire)
        for text in strange:
            await wire.event(text)
        await wire.send(b"event: x\r\ndata: 1\r\n\r\n\n\n\r\r: note\n\n\xff\xfe\n\n")
        await wire.event({"choices": [{"delta": {"tool_calls": [{"function": {"name": 7, "arguments": {}}}, 3]}}]})
        await piece("chat", wire, TEXT)
        await end("chat", wire)

    async with scene(tmp_path, script) as it:
        got = await it.ask(stream=True)
        assert got.body.endswith(b"data: [DONE]\n\n") and b'"choices": 7' in got.body
        assert it.ledger.completion_tokens == USAGE.completion_tokens and tokens("chat")


async def test_the_whole_of_an_answer_that_nobody_reads_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.coder.gateway.http._SEND_SECONDS", 0.2)

    async def script(came: Came, wire: Wire) -> None:
        await begin("chat", wire)
        for _ in range(40):
            await piece("chat", wire, "x" * 100_000)
        await end("chat", wire)

    async with scene(tmp_path, script) as it, connected(it.socket) as client:
        await asyncio.get_running_loop().sock_sendall(client, it.request(stream=True))
        async with asyncio.timeout(20):
            while it.ledger.entries == 0:
                await asyncio.sleep(0.02)
        assert it.ledger.completion_tokens == USAGE.completion_tokens


async def test_a_stream_that_is_answered_whole_is_passed_on_whole(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await answering(Came(came.line, came.headers, {}), wire)

    async with scene(tmp_path, script) as it:
        got = await it.ask(stream=True)
        assert got.json == whole("chat") and it.ledger.prompt_tokens == USAGE.prompt_tokens
