"""Streamed answers: put together, timed by their silence, read whole where an endpoint does not stream, charged when broken."""

import asyncio
import gzip
import json
from typing import Any

import pytest

from bot.models import CallLimits, Completion, Usage
from state.errors import (
    BrokenOff,
    EndpointBusy,
    EndpointSilent,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
)
from tests.bot.models.parts import GOOD, KEY, Question, Turn, Value, model_at
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, chunk, failure

DONE = "data: [DONE]\n\n"
HALF = [chunk({"content": GOOD[:10]}), chunk({"content": GOOD[10:20]})]
TOKENS = {"prompt_tokens": 50, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 30}}


async def ask(endpoint: ScriptedEndpoint, *, seconds: float = 60.0, **settings: Any) -> Completion[Value]:
    async with model_at(endpoint.url, **settings) as model:
        return await model.complete(Question(), role="coder", limits=CallLimits(seconds=seconds))


async def said(*events: object) -> Completion[Value]:
    """Return what is read from a stream of these events."""
    with ScriptedEndpoint([Reply(events=events)]) as endpoint:
        return await ask(endpoint)


async def turn(*events: object) -> Completion[str | None]:
    """Return a turn of a conversation that a stream of these events holds."""
    with ScriptedEndpoint([Reply(events=events)]) as endpoint:
        async with model_at(endpoint.url) as model:
            return await model.complete(Turn(), role="coder", limits=CallLimits())


def call(index: int | None, *, id: str | None = None, name: str | None = None, arguments: object = "") -> object:
    piece = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return chunk({"tool_calls": [{key: value for key, value in piece.items() if value is not None}]})


async def test_an_answer_may_take_longer_than_the_time_out_while_it_comes() -> None:
    with ScriptedEndpoint([Reply(GOOD, thoughts="Hm, " * 9, pause=0.09)]) as endpoint:
        got = await ask(endpoint, timeout=0.8)
        assert len(endpoint.requests) == 1
    assert (got.text, got.usage) == (GOOD, Usage(100, 20))


async def test_comments_and_single_bytes_break_the_silence() -> None:
    waiting = [": waiting\n\n"] * 6
    with ScriptedEndpoint([Reply(events=[*waiting, chunk({"content": GOOD}, "stop")], pause=0.1)]) as endpoint:
        assert (await ask(endpoint, timeout=0.4)).text == GOOD
    with ScriptedEndpoint([Reply(events=[chunk({"content": GOOD}, "stop"), DONE], drip=0.005)]) as endpoint:
        assert (await ask(endpoint, timeout=0.5)).text == GOOD


async def test_the_callers_limit_ends_even_an_answer_that_comes_and_what_came_is_charged() -> None:
    endless = Reply(events=[chunk({"content": "x" * 40})] * 900, pause=0.05)
    with ScriptedEndpoint([Reply(GOOD), endless]) as endpoint:
        async with model_at(endpoint.url) as model:
            await model.complete(Question(), role="coder", limits=CallLimits())
            with pytest.raises(BrokenOff, match="took too long") as caught:
                await model.complete(Question(), role="coder", limits=CallLimits(0.5))
        assert len(endpoint.requests) == 2
    assert isinstance(caught.value.reply, Completion)
    assert caught.value.reply.usage.completion_tokens >= 10


async def test_tokens_come_in_the_last_event_or_are_estimated_with_the_thoughts() -> None:
    thought = chunk({"reasoning_content": "x" * 40})
    got = await said(thought, chunk({"content": GOOD}), chunk({}, "stop"), {"choices": [], "usage": TOKENS}, DONE)
    assert got.usage == Usage(50, 9, 30)
    got = await said(thought, chunk({"content": GOOD}, "stop"), DONE)
    assert (got.text, got.usage) == (GOOD, Usage(8, 10 + 6))


async def test_reasoning_is_no_part_of_the_answer_under_either_name() -> None:
    for name in ("reasoning_content", "reasoning"):
        assert (await said(chunk({name: "Seven?"}), chunk({"content": GOOD}, "stop"), DONE)).text == GOOD


async def test_further_choices_odd_fields_and_parts_are_read_as_in_a_whole_answer() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}}]}
    parts = chunk({"content": [{"type": "text", "text": GOOD}, {"type": "thinking", "text": None}]})
    odd = [{"choices": None}, {"choices": [{"delta": None}]}, [1], "event: ping\ndata:\n\n", "id: 3\nretry: 9\n\n"]
    got = await said(*odd, parts, other, chunk({"role": "assistant", "tool_calls": None}, "stop"))
    assert got.text == GOOD


async def test_an_end_without_the_connections_end_or_before_an_error_is_an_end() -> None:
    events = [chunk({"content": GOOD}, "stop"), {"choices": [], "usage": TOKENS}, DONE]
    with ScriptedEndpoint([Reply(events=[*events, ": over\n\n"], silent_after=3)]) as endpoint:
        async with asyncio.timeout(5):
            assert (await ask(endpoint)).usage == Usage(50, 9, 30)
    got = await said(chunk({"content": GOOD}, "stop"), {"error": {"message": "too late"}})
    assert got.text == GOOD


@pytest.mark.parametrize(
    "pieces",
    [
        [call(0, id="a", name="bash"), call(0, arguments='{"comma'), call(0, arguments='nd": "ls"}')],
        [call(0, id="a", name="bash", arguments='{"comma'), call(0, id="a", name="bash", arguments='nd": "ls"}')],
        [call(0, id="a", name="bash", arguments='{"comma'), call(0, id="b", arguments='nd": "ls"}')],
        [call(None, id="a", name="bash", arguments='{"comma'), call(None, arguments='nd": "ls"}')],
        [call(0, id="a", name="bash", arguments={"command": "ls"})],
        [call(0, id="a", name="bash", arguments='{"comma'), call(None, arguments='nd": "ls"}')],
        [call(0, name="bash", arguments='{"comma'), call(0, id="a", arguments='nd": "ls"}')],
        [call(0, id="a", name="bash", arguments="{}"), call(0, arguments='{"command": "ls"}')],
        [call(0, id="a", name="bash", arguments='{"command": "ls"}')] * 2,
        [chunk({"tool_calls": [{"id": "a", "name": "bash", "input": {"command": "ls"}}]})],
        [
            chunk({"function_call": {"name": "bash", "arguments": '{"comma'}}),
            chunk({"function_call": {"arguments": 'nd": "ls"}'}}),
        ],
        [chunk({"content": [{"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}}]})],
        [
            chunk(
                {"tool_calls": {"index": 0, "id": "a", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}}
            )
        ],
        [call(0, id="a", name="bash", arguments='```json\n{"command": "ls"}\n```')],
    ],
    ids=[
        "as OpenAI",
        "with its name each time",
        "with a new id each time",
        "without a number",
        "as an object",
        "numbered once",
        "with a late id",
        "after an empty object",
        "sent twice",
        "without its function",
        "as functions were called before",
        "as a part of the text",
        "without a list",
        "in a fence",
    ],
)
async def test_a_tool_call_in_pieces_is_one_command(pieces: list[object]) -> None:
    got = await turn(chunk({"content": "Look:"}), *pieces, chunk({}, "tool_calls"), DONE)
    assert (got.answer, got.text) == ("ls", "Look:\n\n```sh\nls\n```")


@pytest.mark.parametrize(
    "pieces",
    [
        [call(n, id=f"c{n}", name="bash", arguments=json.dumps({"command": f"ls {n}"})) for n in range(2)],
        [call(0, id=f"c{n}", name="bash", arguments=json.dumps({"command": f"ls {n}"})) for n in range(2)],
        [call(None, name="bash", arguments=json.dumps({"command": f"ls {n}"})) for n in range(2)],
    ],
    ids=["numbered", "all numbered 0", "not numbered"],
)
async def test_several_tool_calls_stay_apart(pieces: list[object]) -> None:
    assert (await turn(*pieces, chunk({}, "tool_calls"), DONE)).answer == "ls 0\nls 1"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_plain_answer_to_a_request_for_a_stream_is_read(kind: str) -> None:
    with ScriptedEndpoint([Reply(GOOD, plain=True, headers={"Content-Type": kind})]) as endpoint:
        got = await ask(endpoint)
        assert len(endpoint.requests) == 1
    assert (got.text, got.usage) == (GOOD, Usage(100, 20))


@pytest.mark.parametrize(
    ("refusal", "asked"),
    [
        (failure(400, "Unrecognized request argument supplied: stream_options"), [True, True, True]),
        (failure(422, "streaming is not supported by this model"), [True, True, False, False]),
        (failure(500, "Cannot use tools with stream"), [True, True, False, False]),
    ],
    ids=["of its options", "of the stream", "as llama.cpp"],
)
async def test_what_an_endpoint_refuses_of_streams_is_asked_for_once(refusal: Reply, asked: list[bool]) -> None:
    def script(request: Request) -> Reply:
        refused = "stream_options" if "stream_options" in json.dumps(refusal.body) else "stream"
        return refusal if refused in request.body else Reply(GOOD, prompt_tokens=8, completion_tokens=6)

    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url) as model:
            for _ in range(2):
                got = await model.complete(Question(), role="coder", limits=CallLimits())
                assert (got.answer.value, got.usage) == (7, Usage(8, 6))
    assert ["stream" in request.body for request in endpoint.requests] == asked
    assert ["stream_options" in request.body for request in endpoint.requests].count(True) == 1


@pytest.mark.parametrize("error", [failure(502, "upstream broke"), failure(500, "stream error: reset by peer")])
async def test_an_error_that_only_sounds_alike_is_no_refusal_of_streams(error: Reply) -> None:
    with ScriptedEndpoint([error, Reply(GOOD)]) as endpoint:
        await ask(endpoint)
    assert all("stream_options" in request.body for request in endpoint.requests)


BROKEN = {
    "it just ends": Reply(events=HALF),
    "the connection breaks": Reply(events=[*HALF, chunk({}, "stop")], cut_after=len(json.dumps(HALF[0])) * 2 + 40),
    "silence": Reply(events=[*HALF, DONE], silent_after=2),
    "an error": Reply(events=[*HALF, {"error": {"message": "overloaded", "code": 503}}]),
    "an error of the choice": Reply(events=[*HALF, {"choices": [{"finish_reason": "error", "delta": {}}]}, DONE]),
    "a part that is no JSON": Reply(events=[*HALF, "data: {no\n\n", chunk({}, "stop"), DONE]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
async def test_an_answer_that_breaks_off_is_asked_for_once_more_and_both_are_charged(broken: Reply) -> None:
    with ScriptedEndpoint([broken, Reply(GOOD)]) as endpoint:
        got = await ask(endpoint, timeout=0.5)
        assert len(endpoint.requests) == 2
    assert (got.answer.value, got.usage) == (7, Usage(100 + 8, 20 + 5))


async def test_an_answer_that_breaks_off_twice_is_an_error_of_its_own_with_the_cost_of_both() -> None:
    with ScriptedEndpoint([Reply(events=HALF)]) as endpoint:
        with pytest.raises(BrokenOff, match="the answer from gpt-x was interrupted") as caught:
            await ask(endpoint)
        assert len(endpoint.requests) == 2
    cost = pytest.approx((16 * 1.0 + 10 * 10.0) / 1e6)
    assert caught.value.reply == Completion(None, GOOD[:20], Usage(16, 10), "gpt-x", cost)


async def test_never_more_than_two_answers_are_paid_for() -> None:
    with ScriptedEndpoint([Reply(events=HALF), Reply(""), Reply(GOOD)]) as endpoint:
        with pytest.raises(ModelError):
            await ask(endpoint)
        assert len(endpoint.requests) == 2


async def test_tokens_that_were_reported_midway_do_not_hide_what_came_after() -> None:
    early = {"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 1}}
    with ScriptedEndpoint([Reply(events=[early, *HALF])]) as endpoint, pytest.raises(BrokenOff) as caught:
        await ask(endpoint)
    assert isinstance(caught.value.reply, Completion)
    assert caught.value.reply.usage == Usage(2 * 50, 2 * 5)


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([{"error": {"message": "no such key", "code": 401}}], ModelMisconfigured),
        ([{"error": {"message": "overloaded", "code": 503}}], ModelUnavailable),
        ([{"object": "error", "message": "no such model", "code": 404}], ModelMisconfigured),
        ([json.dumps({"error": {"message": "no such key", "status": 401}})], ModelMisconfigured),
        ([[{"error": {"message": "no such key", "code": 401}}]], ModelMisconfigured),
        (['event: error\ndata: {"message": "no such key", "code": 401}\n\n'], ModelMisconfigured),
        (["event: error\ndata: timed out\n\n"], ModelUnavailable),
        (['error: {"code": 400, "message": "no such model"}\n\n'], ModelMisconfigured),
        ([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}], EndpointBusy),
        (
            [{"choices": None, "base_resp": {"status_code": 1004, "status_msg": "login fail: no API secret key"}}],
            ModelMisconfigured,
        ),
        ([{"code": "Throttling", "message": "Requests are throttled"}], EndpointBusy),
        ([{"error": "Unexpected endpoint or method. (POST /chat/completions)"}], ModelMisconfigured),
        ([chunk({"role": "assistant", "content": ""})], ModelUnavailable),
        ([DONE], ModelUnavailable),
        ([], ModelUnavailable),
    ],
)
async def test_a_stream_that_holds_nothing_is_the_error_that_a_whole_answer_would_be(
    events: list[object], error: type[ModelError]
) -> None:
    with ScriptedEndpoint([Reply(events=events)]) as endpoint, pytest.raises(error) as caught:
        await ask(endpoint, retries=0)
    assert not isinstance(caught.value, BrokenOff)


async def test_silence_before_the_first_word_is_not_asked_again() -> None:
    with ScriptedEndpoint([Reply(GOOD, silent_after=2)]) as endpoint:
        with pytest.raises(EndpointSilent):
            await ask(endpoint, timeout=0.3)
        assert len(endpoint.requests) == 1


async def test_a_stream_without_end_is_given_up_at_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.models.chat.MOST_OF_STREAM", 1 << 20)
    with (
        ScriptedEndpoint([Reply(events=[": " + "x" * 65536 + "\n"], endless=True)]) as endpoint,
        pytest.raises(ModelUnavailable, match="more than 1,048,576 bytes"),
    ):
        await ask(endpoint, retries=0)


async def test_an_event_without_end_is_given_up_at_its_bound() -> None:
    with (
        ScriptedEndpoint([Reply(events=["data: " + "x" * 65536], endless=True)]) as endpoint,
        pytest.raises(ModelUnavailable, match="4194304 byte limit"),
    ):
        await ask(endpoint, retries=0)


async def test_a_packed_stream_is_unpacked() -> None:
    body = gzip.compress(f"data: {json.dumps(chunk({'content': GOOD}, 'stop'))}\n\n".encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}
    with ScriptedEndpoint([Reply(body=body, headers=headers)]) as endpoint:
        assert (await ask(endpoint)).text == GOOD


async def test_a_key_is_cut_out_though_it_comes_in_pieces() -> None:
    text = f'{{"value": 7, "note": "{KEY}"}}'
    got = await said(*(chunk({"content": letter}) for letter in text), chunk({}, "stop"), DONE)
    assert got.answer.value == 7
    assert KEY not in got.text


@pytest.mark.parametrize("start", ["", ": waiting\n\n", "id: 1\n", "retry: 9\n"])
@pytest.mark.parametrize("form", ["data: {}\n\n", "data:{}\n\n", "data: {}\r\n\r\n", "event: chunk\ndata: {}\n\n"])
async def test_a_stream_under_another_content_type_is_read(start: str, form: str) -> None:
    events = [*HALF, chunk({"content": GOOD[20:]}, "stop")]
    body = start + "".join(form.replace("{}", json.dumps(event)) for event in events) + DONE
    with ScriptedEndpoint([Reply(body=body)]) as endpoint:
        assert (await ask(endpoint)).text == GOOD


FIRST, SECOND = (
    f"data: {json.dumps(event)}\n" for event in (chunk({"content": GOOD[:9]}), chunk({"content": GOOD[9:]}, "stop"))
)


@pytest.mark.parametrize(
    "stream",
    [
        f"\ufeff{FIRST}\n{SECOND}\n{DONE}",
        f"{FIRST}{SECOND}data: [DONE]",
        f"data: keep-alive\n\n{FIRST}\ndata: null\n\n{SECOND}\n{DONE}",
        f"{FIRST}\n{SECOND}\n{DONE}{FIRST}\n",
    ],
    ids=["with a mark of its byte order", "without empty lines", "with other words", "with more after its end"],
)
async def test_a_stream_is_read_as_servers_write_it(stream: str) -> None:
    assert (await said(stream)).text == GOOD


async def test_a_reason_that_says_null_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.models.chat._AFTER_END", 0.2)
    events = [
        chunk({"content": GOOD[:10]}, "null"),
        *[chunk({"content": ""}, "null")] * 3,
        chunk({"content": GOOD[10:]}, "stop"),
    ]
    with ScriptedEndpoint([Reply(events=events, pause=0.1)]) as endpoint:
        assert (await ask(endpoint)).text == GOOD
        assert len(endpoint.requests) == 1


WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": GOOD}, "finish_reason": "stop"}]}


async def test_a_stream_of_one_whole_answer_is_read() -> None:
    assert (await said(WHOLE, DONE)).text == GOOD


async def test_an_answer_that_the_last_event_repeats_is_read_once() -> None:
    assert (await said(*HALF, chunk({"content": GOOD[20:]}), WHOLE, DONE)).text == GOOD


@pytest.mark.parametrize("content", [[GOOD], {"type": "text", "text": GOOD}])
async def test_content_in_other_forms_is_read_in_streams_and_whole_answers(content: object) -> None:
    assert (await said(chunk({"content": content}, "stop"), DONE)).text == GOOD
    other = {"index": 1, "message": {"content": "no"}}
    whole = {"choices": [other, {"index": 0, "message": {"content": content}, "finish_reason": {"type": "stop"}}]}
    with ScriptedEndpoint([Reply(body="\ufeff" + json.dumps(whole))]) as endpoint:
        assert (await ask(endpoint)).text == GOOD


@pytest.mark.parametrize(
    "form",
    [
        [WHOLE],
        {"code": 0, "msg": "ok", "data": WHOLE},
        {"choices": [{"index": "0", "message": GOOD, "finish_reason": "stop"}]},
    ],
    ids=["in a list", "in an object", "as a text"],
)
async def test_a_whole_answer_is_read_as_gateways_wrap_it(form: object) -> None:
    with ScriptedEndpoint([Reply(body=form)]) as endpoint:
        assert (await ask(endpoint)).text == GOOD


async def test_a_refusal_among_the_parts_is_one() -> None:
    with pytest.raises(ModelRefused, match="it refused: no"):
        await said(chunk({"content": [{"type": "refusal", "refusal": "no"}]}, "stop"))


async def test_an_endpoint_that_only_streams_is_asked_for_streams_alone() -> None:
    def script(request: Request) -> Reply:
        return Reply(GOOD) if request.body.get("stream") else failure(400, "This model only support stream mode")

    with ScriptedEndpoint(script) as endpoint:
        assert (await ask(endpoint)).text == GOOD
        assert len(endpoint.requests) == 1
