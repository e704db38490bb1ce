"""An OpenAI-compatible endpoint, spoken to over a real loopback connection."""

import asyncio
import logging
from functools import partial

import pytest

from bot.models import CallLimits, Completion, Usage
from bot.models.passing import PROBE
from bot.models.streamed_answer import error_in
from state.errors import (
    EmptyAnswer,
    EndpointBusy,
    EndpointSilent,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
    Unparsable,
)
from tests.bot.models.parts import GOOD, KEY, HurriedClock, Question, Value, model_at
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure


async def ask(endpoint: ScriptedEndpoint, clock: HurriedClock | None = None, **settings: float) -> Completion[Value]:
    limits = CallLimits(seconds=settings.pop("seconds", 60.0))
    async with model_at(endpoint.url, clock, **settings) as model:
        return await model.complete(Question(), role="coder", limits=limits)


async def test_answer_comes_with_its_text_tokens_and_cost() -> None:
    with ScriptedEndpoint([Reply(GOOD, prompt_tokens=1000, completion_tokens=100, cached_tokens=500)]) as endpoint:
        got = await ask(endpoint)
    assert got.answer == Value(value=7)
    assert (got.text, got.model, got.usage) == (GOOD, "gpt-x", Usage(1000, 100, 500))
    assert got.cost_usd == pytest.approx((500 * 1.0 + 500 * 0.1 + 100 * 10.0) / 1e6)


@pytest.mark.parametrize(
    ("named", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 40}}, 40),
        ({"prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 60}, 40),
        ({"cache_read_input_tokens": 40, "prompt_tokens_details": {"cached_tokens": None}}, 40),
        ({"cache_read_input_tokens": 0, "prompt_tokens_details": {"cached_tokens": 40}}, 40),
        ({"prompt_tokens_details": {"cached_tokens": 400}}, 100),
        ({"prompt_tokens_details": None}, 0),
    ],
    ids=["openai", "deepseek", "anthropic", "zero-under-one-name", "more-than-sent", "none"],
)
async def test_cached_tokens_are_read_under_each_name(named: dict[str, object], cached: int) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, **named}
    body = {"choices": [{"message": {"content": GOOD}}], "usage": usage}
    with ScriptedEndpoint([Reply(body=body)]) as endpoint:
        got = await ask(endpoint)
    assert got.usage == Usage(100, 20, cached)
    assert got.usage.new_tokens == 120 - cached


async def test_request_holds_model_and_messages_and_asks_for_a_stream_with_its_tokens() -> None:
    with ScriptedEndpoint([GOOD]) as endpoint:
        await ask(endpoint)
    sent = endpoint.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert set(sent.body) == {"model", "messages", "stream", "stream_options"}
    assert (sent.body["stream"], sent.body["stream_options"]) == (True, {"include_usage": True})
    assert [m["role"] for m in sent.body["messages"]] == ["system", "user"]
    assert sent.headers["authorization"] == f"Bearer {KEY}"


async def test_token_limit_is_sent_under_the_name_that_the_endpoint_knows() -> None:
    def script(request: Request) -> Reply:
        if "max_tokens" in request.body:
            return failure(400, "Unsupported parameter: use 'max_completion_tokens' instead.", "unsupported_parameter")
        return Reply(GOOD)

    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url, max_tokens=50) as model:
            for _ in range(2):
                await model.complete(Question(), role="coder", limits=CallLimits())
    assert ["max_completion_tokens" in r.body for r in endpoint.requests] == [False, True, True]
    assert endpoint.requests[2].body["max_completion_tokens"] == 50


TOO_MANY = {
    "openai": "max_tokens is too large: {n}. This model supports at most 9000 completion tokens, whereas you provided {n}.",
    "anthropic": "max_tokens: {n} > 9000, which is the maximum allowed number of output tokens for this model",
    "deepseek": "Invalid max_tokens value, the valid range of max_tokens is [1, 9000]",
    "groq": "`max_tokens` must be less than or equal to `9000`, the maximum value is less than the `context_window`",
    "without a number": "max_tokens is too large for model-4096",
}


@pytest.mark.parametrize("words", TOO_MANY.values(), ids=TOO_MANY)
async def test_a_longer_answer_than_the_model_writes_is_asked_for_as_long_as_it_may_be(words: str) -> None:
    def script(request: Request) -> Reply:
        most = request.body["max_tokens"]
        return failure(400, words.format(n=most), "invalid_value") if most > 9000 else Reply(GOOD)

    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url, max_tokens=32_000) as model:
            for _ in range(2):
                assert (await model.complete(Question(), role="coder", limits=CallLimits())).answer.value == 7
    lengths = [9_000] if "9000" in words else [16_000, 8_000]
    assert [r.body["max_tokens"] for r in endpoint.requests] == [32_000, *lengths, lengths[-1]]


async def test_a_prompt_that_leaves_too_little_of_the_context_shortens_no_later_answer() -> None:
    def script(request: Request) -> Reply:
        is_long = len(request.last) > 5_000 and request.body["max_tokens"] > 9000
        return failure(400, "the request exceeds the available context size") if is_long else Reply(GOOD)

    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url, max_tokens=32_000) as model:
            for text in ("x" * 9_000, "x"):
                await model.complete(Question(text), role="coder", limits=CallLimits())
    assert [r.body["max_tokens"] for r in endpoint.requests] == [32_000, 16_000, 8_000, 32_000]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_passing_failures_are_tried_again_after_growing_waits(status: int) -> None:
    clock = HurriedClock()
    with ScriptedEndpoint([failure(status, "busy"), failure(status, "busy"), Reply(GOOD)]) as endpoint:
        got = await ask(endpoint, clock)
    assert got.answer.value == 7
    assert 0.5 <= clock.slept[0] <= 1.0 <= clock.slept[1] <= 2.0


async def test_unavailable_once_the_retries_are_used_up() -> None:
    with ScriptedEndpoint([failure(503, "overloaded")]) as endpoint:
        with pytest.raises(ModelUnavailable, match=r"503 for gpt-x: overloaded \(attempts: 3\)"):
            await ask(endpoint)
        assert len(endpoint.requests) == 3


@pytest.mark.parametrize(("said", "least", "most"), [("7", 7.5, 8.0), ("86400", 60.5, 61.0), ("soon", 0.5, 1.0)])
async def test_retry_after_is_honoured_up_to_a_cap(said: str, least: float, most: float) -> None:
    clock = HurriedClock()
    with ScriptedEndpoint([failure(429, "slow down", retry_after=said), Reply(GOOD)]) as endpoint:
        await ask(endpoint, clock, seconds=600.0)
    assert least <= clock.slept[0] <= most


async def test_gives_up_at_once_where_the_wait_would_pass_the_time_limit() -> None:
    with ScriptedEndpoint([failure(429, "slow down", retry_after="50")]) as endpoint:
        with pytest.raises(ModelUnavailable, match="slow down"):
            await ask(endpoint, seconds=20.0)
        assert len(endpoint.requests) == 1


async def test_cut_connection_is_tried_again() -> None:
    with ScriptedEndpoint([Reply(GOOD, cut_after=40), Reply(GOOD)]) as endpoint:
        assert (await ask(endpoint)).answer.value == 7


async def test_body_cut_without_a_length_is_tried_again() -> None:
    with ScriptedEndpoint([Reply(body='{"choices": [{"mess'), Reply(GOOD)]) as endpoint:
        assert (await ask(endpoint)).answer.value == 7


async def test_silent_endpoint_is_given_up_and_not_asked_again_while_it_may_still_answer() -> None:
    with ScriptedEndpoint([Reply(GOOD, delay=30.0), Reply(GOOD)]) as endpoint:
        async with model_at(endpoint.url, timeout=0.4) as model:
            with pytest.raises(EndpointSilent, match=r"nothing for 0\.4 s"):
                await model.complete(Question(), role="coder", limits=CallLimits())
            with pytest.raises(EndpointSilent, match="may still answer"):
                await model.complete(Question(), role="coder", limits=CallLimits())
            assert len(endpoint.requests) == 1
            assert (await model.complete(Question("Another?"), role="coder", limits=CallLimits())).answer.value == 7
            await asyncio.sleep(0.4)
            assert (await model.complete(Question(), role="coder", limits=CallLimits())).answer.value == 7


async def test_silent_endpoint_is_given_up_after_the_time_limit_of_the_call() -> None:
    with (
        ScriptedEndpoint([Reply(GOOD, delay=30.0)]) as endpoint,
        pytest.raises(ModelUnavailable, match=r"did not answer within 0\.3 s"),
    ):
        await ask(endpoint, seconds=0.3)


async def test_nobody_listening_is_unavailable() -> None:
    with ScriptedEndpoint([GOOD]) as endpoint:
        url = endpoint.url
    async with model_at(url) as model:
        with pytest.raises(ModelUnavailable, match="could not connect to gpt-x's endpoint"):
            await model.complete(Question(), role="coder", limits=CallLimits())


@pytest.mark.parametrize(
    ("reply", "advice"),
    [
        (failure(401, "Incorrect API key provided"), "check OPENAI_API_KEY"),
        (failure(402, "Payment required"), "out of credit"),
        (failure(403, "Project has no access"), "check OPENAI_API_KEY"),
        (failure(404, "The model `gpt-x` does not exist", "model_not_found"), "check the model's name"),
        (failure(400, "Unknown model gpt-x", "model_not_found"), "and the model's name"),
        (failure(400, "Unsupported parameter: 'temperature'"), "check OPENAI_BASE_URL"),
        (failure(429, "You exceeded your current quota", "insufficient_quota"), "out of credit"),
        (Reply(body="<html>Welcome to nginx</html>"), "is not a chat completion"),
        (Reply(body={"hello": "world"}), "is not a chat completion"),
    ],
)
async def test_wrong_settings_stop_the_run_with_the_endpoints_words(reply: Reply, advice: str) -> None:
    with ScriptedEndpoint([reply]) as endpoint:
        with pytest.raises(ModelMisconfigured, match=advice) as caught:
            await ask(endpoint)
        assert [PROBE in str(one.body["messages"]) for one in endpoint.requests] == [False, True]
    if isinstance(reply.body, dict) and "error" in reply.body:
        assert reply.body["error"]["message"] in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
@pytest.mark.parametrize("first", [[], [Reply(GOOD)]])
async def test_a_prompt_that_is_answered_as_if_the_key_were_wrong_is_refused_where_others_are_answered(
    first: list[Reply], status: int
) -> None:
    script = [*first, failure(status, "no: 'Incorrect API key'"), Reply("Yes."), Reply(GOOD)]
    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url) as model:
            ask_it = partial(model.complete, Question("Incorrect API key"), role="coder", limits=CallLimits())
            for _ in first:
                await ask_it()
            with pytest.raises(ModelRefused) as caught:
                await ask_it()
            assert (await ask_it()).answer.value == 7
        asked = [str(one.body["messages"]) for one in endpoint.requests]
    assert ["Incorrect API key" in text for text in asked] == [*(True for _ in first), True, False, True]
    assert isinstance(caught.value.reply, Completion) and caught.value.reply.usage == Usage(100, 20)


@pytest.mark.parametrize(
    ("last", "usage"),
    [(failure(500, "internal error"), None), (Reply(GOOD), Usage(200, 40))],
    ids=["always", "for a while"],
)
async def test_a_prompt_at_which_an_endpoint_fails_is_asked_once_more_where_others_are_answered(
    last: Reply, usage: Usage | None
) -> None:
    down = failure(500, "internal error")
    with ScriptedEndpoint([down, down, Reply("Yes."), last]) as endpoint:
        if usage is None:
            with pytest.raises(EmptyAnswer, match="rejects only this one") as caught:
                await ask(endpoint, retries=1)
            assert isinstance(caught.value.reply, Completion) and caught.value.reply.usage == Usage(100, 20)
        else:
            assert (await ask(endpoint, retries=1)).usage == usage
        assert [PROBE in str(one.body) for one in endpoint.requests] == [False, False, True, False]


@pytest.mark.parametrize("status", [429, 503])
async def test_an_endpoint_that_is_busy_is_asked_no_plain_question(status: int) -> None:
    with ScriptedEndpoint([failure(status, "busy"), Reply("Yes.")]) as endpoint:
        with pytest.raises(EndpointBusy):
            await ask(endpoint, retries=0)
        assert len(endpoint.requests) == 1


async def test_a_key_that_is_withdrawn_meanwhile_stops_the_run() -> None:
    with ScriptedEndpoint([Reply(GOOD), failure(401, "Incorrect API key provided")]) as endpoint:
        async with model_at(endpoint.url) as model:
            ask_it = partial(model.complete, Question(), role="coder", limits=CallLimits())
            await ask_it()
            with pytest.raises(ModelMisconfigured, match="check OPENAI_API_KEY"):
                await ask_it()


async def test_an_error_that_repeats_the_prompt_lowers_no_token_limit() -> None:
    echo = failure(400, "no: 'max_tokens is too large'")
    with ScriptedEndpoint([echo, echo, echo, echo, Reply(GOOD)]) as endpoint:
        async with model_at(endpoint.url) as model:
            limits = CallLimits(max_tokens=4_000)
            with pytest.raises(ModelRefused):
                await model.complete(Question(), role="coder", limits=limits)
            sent = len(endpoint.requests)
            await model.complete(Question(), role="coder", limits=limits)
        assert endpoint.requests[sent].body["max_tokens"] == 4_000


@pytest.mark.parametrize(
    "reply",
    [
        failure(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded"),
        failure(400, "prompt is too long: 300000 tokens"),
        failure(400, "The response was filtered", "content_filter"),
        failure(403, "input was flagged by moderation"),
        failure(413, "Request too large"),
        failure(400, "Something about this prompt"),
        Reply("", finish="content_filter"),
        Reply("   "),
        Reply(None),
        Reply(body={"choices": [{"message": None, "finish_reason": "stop"}]}),
        Reply(body={"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}),
    ],
)
async def test_prompt_that_will_not_be_answered_is_refused(reply: Reply) -> None:
    with ScriptedEndpoint([reply]) as endpoint, pytest.raises(ModelRefused):
        await ask(endpoint)


async def test_empty_answer_is_asked_for_once_more_and_both_are_charged() -> None:
    with ScriptedEndpoint(["", Reply(GOOD)]) as endpoint:
        got = await ask(endpoint)
    assert got.answer.value == 7
    assert got.usage == Usage(200, 40)


async def test_two_empty_answers_are_refused_with_what_they_cost() -> None:
    with ScriptedEndpoint([""]) as endpoint:
        with pytest.raises(ModelRefused, match="empty") as caught:
            await ask(endpoint)
        assert len(endpoint.requests) == 2
    assert isinstance(caught.value.reply, Completion)
    assert caught.value.reply.usage == Usage(200, 40)


async def test_answer_at_the_token_limit_is_cut_off_even_if_it_could_be_read() -> None:
    with (
        ScriptedEndpoint([Reply(GOOD, finish="length")]) as endpoint,
        pytest.raises(Unparsable, match="cut off") as caught,
    ):
        await ask(endpoint)
    assert caught.value.reply == Completion(None, GOOD, Usage(100, 20), "gpt-x", pytest.approx(0.0003), cut=True)


async def test_unreadable_answer_carries_what_it_cost() -> None:
    with ScriptedEndpoint(["no JSON"]) as endpoint, pytest.raises(Unparsable) as caught:
        await ask(endpoint)
    assert isinstance(caught.value.reply, Completion)
    assert (caught.value.reply.text, caught.value.reply.usage) == ("no JSON", Usage(100, 20))


async def test_error_in_the_clothes_of_an_answer_has_the_class_of_its_code() -> None:
    busy, wrong = ({"error": {"message": "upstream", "code": code}} for code in (503, 401))
    with ScriptedEndpoint([Reply(body=busy), Reply(GOOD)]) as endpoint:
        assert (await ask(endpoint)).answer.value == 7
    with ScriptedEndpoint([Reply(body=wrong)]) as endpoint, pytest.raises(ModelMisconfigured):
        await ask(endpoint)


@pytest.mark.parametrize(
    "fields", [{"code": 200, "message": "ok"}, {"type": "ping", "status": "processing", "message": "queued"}]
)
def test_words_on_success_or_progress_are_no_error(fields: dict[str, object]) -> None:
    assert error_in(fields) is None


async def test_tokens_that_are_not_reported_are_estimated() -> None:
    body = {"choices": [{"message": {"content": GOOD}}]}
    with ScriptedEndpoint([Reply(body=body)]) as endpoint:
        got = await ask(endpoint)
    assert got.usage == Usage(4 + 4, 6)


@pytest.mark.parametrize("status", [401, 400, 503])
async def test_key_that_the_endpoint_echoes_is_in_no_error_and_no_log(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with (
        ScriptedEndpoint([failure(status, f"wrong key {KEY}, header Bearer {KEY}")]) as endpoint,
        pytest.raises(ModelError) as caught,
    ):
        await ask(endpoint, retries=0)
    assert KEY not in str(caught.value) + repr(caught.value.__cause__) + caplog.text


async def test_key_is_cut_out_of_messages_and_answers() -> None:
    with ScriptedEndpoint([f'{{"value": 7, "note": "{KEY}"}}']) as endpoint:
        async with model_at(endpoint.url) as model:
            got = await model.complete(Question(f"my key is {KEY}"), role="coder", limits=CallLimits())
    assert endpoint.requests[0].last == "my key is [secret]"
    assert KEY not in got.text
