"""A coding agent's requests on their way to an endpoint and back, counted as the endpoint counts them."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from sqlmodel import select

from bot.budgets.kinds import Kind
from bot.budgets.settings import Caps
from bot.coder.gateway import DialectName
from bot.models import Item, Usage
from bot.models.endpoint import OpenAIModel
from bot.report.export import calls
from state.errors import ModelMisconfigured
from state.tables import ModelCall
from tests.bot.coder.gateway.answers import PIECES, TEXT, USAGE, answering, begin, dialect_of, end, piece, whole
from tests.bot.coder.gateway.parts import MODEL, NODE, PATHS, Came, Wire, connected, good, http, read, scene
from tests.bot.models.parts import CUTOFF, EARLIER, KEY, PRICES, RUN

ALL: tuple[DialectName, ...] = get_args(DialectName)
COST = (600 * 1.0 + 400 * 0.1 + 100 * 10.0) / 1e6


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_answer_comes_back_as_it_was_sent_and_costs_what_the_endpoint_counted(
    tmp_path: Path, dialect: DialectName, stream: bool
) -> None:
    async with scene(tmp_path, answering, dialect=dialect) as it:
        got = await it.ask(stream=stream)
        again = await it.ask(stream=stream)
        assert got.status == again.status == 200 and got.body == again.body
        if stream:
            assert got.body.decode().count("data: ") >= len(PIECES) + 1
            assert all(text in got.body.decode() for text in PIECES)
        else:
            assert got.json == whole(dialect)
        ledger = it.ledger
        assert (ledger.entries, ledger.prompt_tokens, ledger.completion_tokens, ledger.cached_tokens) == (
            2,
            2000,
            200,
            800,
        )
        assert ledger.cost_usd == pytest.approx(2 * COST)
        assert it.counted(Kind.MONEY) == pytest.approx(2 * COST) and it.counted(Kind.TOKENS) == 2 * USAGE.new_tokens
        assert it.asker.totals.cost_usd == pytest.approx(2 * COST)
        assert it.gateway.exchanges == 2 and it.lines == []


@pytest.mark.parametrize("dialect", ALL)
async def test_the_endpoint_gets_the_key_and_the_configured_model_and_the_agent_neither(
    tmp_path: Path, dialect: DialectName
) -> None:
    async with scene(tmp_path, answering, dialect=dialect, also=("small-one",)) as it:
        got = await it.ask(model="small-one")
    came = it.upstream.came[0]
    assert came.line == f"POST /v1/{ {'chat': 'chat/completions'}.get(dialect, dialect) } HTTP/1.1"
    assert came.body["model"] == MODEL
    given = (
        came.headers["x-api-key"] if dialect == "messages" else came.headers["authorization"].removeprefix("Bearer ")
    )
    assert given == KEY and KEY not in got.head + got.body.decode()
    assert all(KEY not in value for value in it.gateway.environment.values())


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_tokens_that_are_not_reported_are_estimated_and_that_is_said(
    tmp_path: Path, dialect: DialectName, stream: bool
) -> None:
    async def silent(came: Came, wire: Wire) -> None:
        if not stream:
            await wire.answer(whole(dialect, usage={}))
            return
        await wire.head()
        for text in PIECES:
            await piece(dialect, wire, text)
        await end(dialect, wire, None)

    async with scene(tmp_path, silent, dialect=dialect) as it:
        assert (await it.ask(stream=stream)).status == 200
        await it.ask(stream=stream)
        assert it.ledger.completion_tokens == 2 * -(-len(TEXT) // 4)
        assert 2 * 5 <= it.ledger.prompt_tokens <= 2 * 60
        assert len(it.lines) == 1 and "their number is estimated" in it.lines[0]
        events = [one for one in it.store.export_events(RUN) if one["type"] == "gateway.estimated"]
        assert len(events) == 2


@pytest.mark.parametrize("dialect", ALL)
async def test_every_exchange_is_in_the_log_whole_with_what_the_agent_may_have_read(
    tmp_path: Path, dialect: DialectName
) -> None:
    items = (Item("message/1", EARLIER),)
    table = "rows:\nid7,0.25\nid8,0.5"
    async with scene(tmp_path, answering, dialect=dialect, items=lambda: items) as it:
        body = conversation(dialect, table)
        assert (await it.ask(**body)).status == 200
        (call,) = calls(it.store, RUN)
    assert (call["prompt"], call["role"], call["node"], call["step"]) == ("gateway", "coder", NODE, f"{NODE}/gateway/1")
    assert call["items"] == [{"id": "message/1", "time": "2017-10-01T00:00:00Z"}]
    assert call["answer"] == TEXT
    text = "\n".join(one["content"] for one in call["messages"])
    for part in ("Work in the shell.", "look around", table, "a tool of the agent"):
        assert part in text, f"{part!r} is not in the log of {dialect}"
    roles = [one["role"] for one in call["messages"]]
    assert roles[:2] == ["system", "system"] and roles[-1] == "user" and "assistant" in roles


def conversation(dialect: DialectName, seen: str) -> dict[str, Any]:
    """Return a conversation with a tool and what it printed."""
    schema = {"type": "object", "properties": {"url": {"type": "string"}}}
    about = {"name": "sh", "description": "a tool of the agent"}
    asked = {"command": "look around", "url": "http://elsewhere"}
    if dialect == "chat":
        call = {"id": "1", "type": "function", "function": {"name": "sh", "arguments": json.dumps(asked)}}
        return {
            "messages": [
                {"role": "system", "content": "Work in the shell."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": seen},
            ],
            "tools": [{"type": "function", "function": {**about, "parameters": schema}}],
        }
    if dialect == "responses":
        return {
            "instructions": "Work in the shell.",
            "input": [
                {"type": "function_call", "call_id": "1", "name": "sh", "arguments": json.dumps(asked)},
                {"type": "function_call_output", "call_id": "1", "output": seen},
            ],
            "tools": [{"type": "function", **about, "parameters": schema}],
        }
    return {
        "system": [{"type": "text", "text": "Work in the shell.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "sh", "input": asked}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": seen}]},
        ],
        "tools": [{**about, "input_schema": schema}],
    }


async def test_an_exchange_that_shows_something_newer_than_the_clock_is_not_sent(tmp_path: Path) -> None:
    late = Item("message/2", CUTOFF + timedelta(days=1))
    async with scene(tmp_path, answering, items=lambda: (late,)) as it:
        got = await it.ask()
        assert got.status == 403 and "after the current clock time" in got.error
        assert it.upstream.came == [] and it.gateway.ended.is_set()


@pytest.mark.parametrize("dialect", ALL)
async def test_a_notice_is_added_to_the_next_request_as_the_users_words(tmp_path: Path, dialect: DialectName) -> None:
    notices = iter(["five minutes are left"])
    async with scene(tmp_path, answering, dialect=dialect, notice=lambda: next(notices, None)) as it:
        await it.ask()
        await it.ask()
    said = [came.body["input" if dialect == "responses" else "messages"] for came in it.upstream.came]
    assert said[0][-1] == {"role": "user", "content": "five minutes are left"} and len(said[0]) == 2
    assert said[1] == list(good(dialect).values())[1]


@pytest.mark.parametrize("dialect", ALL)
async def test_a_request_under_a_cap_is_sent_with_the_longest_answer_that_fits(
    tmp_path: Path, dialect: DialectName
) -> None:
    limit = {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}[dialect]
    async with scene(tmp_path, answering, dialect=dialect, caps=Caps(money=0.2)) as it:
        await it.ask(**{limit: 50_000})
        await it.ask(**{limit: 300})
        await it.ask(**({} if dialect == "messages" else {limit: None}))
    sent = [came.body[limit] for came in it.upstream.came]
    # Twice 6,250 tokens at 10 USD a million fit into 0.2 USD, twice 12,500 do not; a coder's longest answer is 32,000.
    assert sent == [6_250, 300, 1_000 if dialect == "messages" else 8_000]


async def test_a_limit_is_named_as_the_endpoint_names_it_and_no_higher_than_it_takes(tmp_path: Path) -> None:
    async def particular(came: Came, wire: Wire) -> None:
        if "max_tokens" in came.body:
            words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            await wire.answer({"error": {"message": words}}, status=400)
        elif came.body["max_completion_tokens"] > 5_000:
            await wire.answer({"error": {"message": "max_completion_tokens is too large: at most 5000"}}, status=400)
        else:
            await answering(came, wire)

    async with scene(tmp_path, particular, caps=Caps(money=0.2)) as it:
        assert (await it.ask()).status == 200
        assert it.ledger.entries == 1
    limits = [came.body.get("max_tokens") or came.body["max_completion_tokens"] for came in it.upstream.came]
    assert limits == [8_000, 8_000, 5_000]


@pytest.mark.parametrize(("text", "said"), [("x" * 40_000, 1), ("data:image/png;base64," + "x" * 40_000, 0), ("x", 0)])
async def test_an_endpoint_that_cuts_an_agents_prompt_without_a_word_is_told_of(
    tmp_path: Path, text: str, said: int
) -> None:
    lines: list[str] = []

    def with_lines(model: OpenAIModel) -> OpenAIModel:
        model._say = lines.append
        return model

    async with scene(tmp_path, answering, wrap=with_lines) as it:
        for _ in range(2):
            await it.ask(messages=[{"role": "user", "content": text}])
    assert len(lines) == said and all("num_ctx" in line for line in lines)


async def test_thoughts_have_room_in_an_answer_that_was_made_shorter(tmp_path: Path) -> None:
    async with scene(tmp_path, answering, dialect="messages", caps=Caps(money=0.2)) as it:
        await it.ask(max_tokens=32_000, thinking={"type": "enabled", "budget_tokens": 31_999})
    sent = it.upstream.came[0].body
    assert sent["max_tokens"] == 8_000 and sent["thinking"] == {"type": "enabled", "budget_tokens": 4_000}


async def test_the_tokens_of_a_chat_stream_are_shown_only_to_an_agent_that_asks(tmp_path: Path) -> None:
    async with scene(tmp_path, answering) as it:
        plain = await it.ask(stream=True)
        asked = await it.ask(stream=True, stream_options={"include_usage": True})
        assert [came.body["stream_options"] for came in it.upstream.came] == [{"include_usage": True}] * 2
        assert it.ledger.prompt_tokens == 2 * USAGE.prompt_tokens
    assert [one for one in plain.events if one != "[DONE]" and not one["choices"]] == []
    assert [one["usage"]["prompt_tokens"] for one in asked.events if one != "[DONE]" and not one["choices"]] == [1000]


async def test_a_stream_is_passed_on_as_it_comes(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def slowly(came: Came, wire: Wire) -> None:
        await begin("chat", wire)
        await piece("chat", wire, "first")
        await asyncio.wait_for(go_on.wait(), 60)
        await end("chat", wire)

    async with scene(tmp_path, slowly) as it, connected(it.socket) as client:
        loop, seen = asyncio.get_running_loop(), b""
        await loop.sock_sendall(client, it.request(stream=True))
        async with asyncio.timeout(20):
            while b"first" not in seen:
                seen += await loop.sock_recv(client, 65536)
        go_on.set()
        async with asyncio.timeout(20):
            while part := await loop.sock_recv(client, 65536):
                seen += part
        assert b"[DONE]" in seen


async def test_a_passing_failure_is_tried_again_and_nothing_is_charged_for_it(tmp_path: Path) -> None:
    async def second(came: Came, wire: Wire) -> None:
        if len(it.upstream.came) == 1:
            await wire.answer({"error": {"message": "busy"}}, status=503)
        elif len(it.upstream.came) == 2:
            await wire.head()
            await wire.event({"error": {"message": "overloaded", "code": 529}})
        else:
            await answering(came, wire)

    async with scene(tmp_path, second, retries=2) as it:
        got = await it.ask(stream=True)
        assert got.status == 200 and "[DONE]" in got.events
        assert it.ledger.prompt_tokens == USAGE.prompt_tokens and len(it.upstream.came) == 3


@pytest.mark.parametrize("dialect", ALL)
async def test_a_refusal_of_the_endpoint_reaches_the_agent_in_its_own_shape(
    tmp_path: Path, dialect: DialectName
) -> None:
    async def refuse(came: Came, wire: Wire) -> None:
        await wire.answer({"error": {"message": "the context length is exceeded"}}, status=400)

    async with scene(tmp_path, refuse, dialect=dialect) as it:
        got = await it.ask(stream=True)
        assert got.status == 400 and "the context length is exceeded" in got.error
        assert (got.json.get("type") == "error") == (dialect == "messages")
        assert it.gateway.over is None and it.cost == 0 and it.gateway.exchanges == 0


async def test_a_wrong_key_ends_it_for_good(tmp_path: Path) -> None:
    async def wrong(came: Came, wire: Wire) -> None:
        await wire.answer({"error": {"message": "Incorrect API key provided"}}, status=401)

    async with scene(tmp_path, wrong) as it:
        got = await it.ask()
        again = await it.ask()
        assert got.status == again.status == 403 and "check OPENAI_API_KEY" in got.error
        assert it.gateway.ended.is_set() and isinstance(it.gateway.over, ModelMisconfigured)
    (first, own) = it.upstream.came
    assert "Which number?" in str(first.body) and "Which number?" not in str(own.body), "its own failed likewise"


async def test_a_price_is_that_of_the_configured_model(tmp_path: Path) -> None:
    async with scene(tmp_path, answering) as it:
        await it.ask()
        with it.store.read() as session:
            call = session.exec(select(ModelCall).where(ModelCall.run_id == RUN)).one()
    assert call.model == MODEL
    assert call.cost_usd == pytest.approx(PRICES[MODEL].cost(Usage(1000, 100, 400)))
    assert dialect_of(it.upstream.came[0]) == "chat"


async def test_a_client_that_asks_before_it_sends_its_body_is_answered(tmp_path: Path) -> None:
    whole_request = http(PATHS["chat"], json.dumps(good("chat")).encode(), Expect="100-continue")
    head, _, body = whole_request.partition(b"\r\n\r\n")
    async with scene(tmp_path, answering) as it, connected(it.socket) as client:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(client, head + b"\r\n\r\n")
        async with asyncio.timeout(20):
            assert (await loop.sock_recv(client, 1000)).startswith(b"HTTP/1.1 100 ")
        await loop.sock_sendall(client, body)
        assert (await read(client)).status == 200


@pytest.mark.parametrize("dialect", ALL)
async def test_data_in_its_own_text_is_passed_on(tmp_path: Path, dialect: DialectName) -> None:
    picture = "data:image/png;base64,iVBORw0KGgo="
    parts = {
        "chat": {"type": "image_url", "image_url": {"url": picture}},
        "responses": {"type": "input_image", "image_url": picture},
        "messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    }
    more: dict[DialectName, list[dict[str, Any]]] = {
        "chat": [{"type": "input_audio", "input_audio": {"data": "//uQxAAAAAA=", "format": "mp3"}}],
        "responses": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}],
        "messages": [
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "see http://x"}},
            {"type": "search_result", "source": "https://x", "title": "x", "content": [{"type": "text", "text": "x"}]},
        ],
    }
    said = [{"role": "user", "content": [parts[dialect], *more[dialect]]}]
    async with scene(tmp_path, answering, dialect=dialect) as it:
        assert (await it.ask(**{"input" if dialect == "responses" else "messages": said})).status == 200
    assert it.upstream.came[0].body["input" if dialect == "responses" else "messages"] == said
