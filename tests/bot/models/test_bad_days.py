"""Bad days of an endpoint, over a real connection: each ends within its bounds, in the right class, with a clear text."""

import gzip
import json
import tracemalloc

import pytest

from bot.models import CallLimits, Completion, Usage
from bot.models.failures import MOST_BYTES, MOST_OF_ERROR
from state.errors import EmptyAnswer, ModelMisconfigured, ModelUnavailable
from tests.bot.models.parts import GOOD, HurriedClock, Question, Value, model_at
from tests.scripted_endpoint import Reply, ScriptedEndpoint, failure

PAGE = "<html><head><title>502 Bad\n Gateway</title><style>p {}</style></head><body>nginx</body></html>"
GEMINI = [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota. " * 20}}]
GEMINI[0]["error"]["message"] += "Please retry in 41.9s."


async def ask(endpoint: ScriptedEndpoint, clock: HurriedClock | None = None, **settings: float) -> Completion[Value]:
    limits = CallLimits(seconds=settings.pop("seconds", 60.0))
    async with model_at(endpoint.url, clock, **settings) as model:
        return await model.complete(Question(), role="coder", limits=limits)


def answer(usage: object = None, **choice: object) -> Reply:
    return Reply(body={"choices": [{"message": {"content": GOOD}, **choice}], "usage": usage})


@pytest.mark.parametrize(
    "bad",
    [
        failure(429, "slow down", retry_after="99999999999999999999999"),
        failure(429, "slow down", retry_after="Fri, 20 Nov 99999999999999999999 12:00:20 GMT"),
        failure(429, "slow down", retry_after="Fri, 31 Dec 9999 23:59:59 GMT"),
        Reply(status=429, body=GEMINI),
        Reply(status=502, body=PAGE),
        Reply(status=500, body="[" * 200_000),
        Reply(body="{" + '"a":{' * 200_000),
        Reply(body=""),
        Reply(body=" \n\n \n"),
        Reply(body=" \n\n ", headers={"Content-Length": "4000"}),
        Reply(body='{"choices": [{"message": {"content": "Here" it is}}]}'),
        Reply(body={"choices": None}),
        Reply(body={"choices": [], "usage": None}),
        answer(finish_reason="error"),
        answer(finish_reason="insufficient_system_resource"),
        answer(finish_reason="abort"),
        Reply(body={"object": "error", "message": "the engine died", "code": 500}),
        answer(error={"code": 502, "message": "upstream went away"}),
        Reply(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
        Reply(GOOD, cut_after=0),
    ],
)
async def test_a_passing_trouble_is_tried_again(bad: Reply) -> None:
    clock = HurriedClock()
    with ScriptedEndpoint([bad, Reply(GOOD)]) as endpoint:
        got = await ask(endpoint, clock, seconds=600.0)
        assert len(endpoint.requests) == 2
    assert (got.answer.value, got.usage) == (7, Usage(100, 20)), "only the answer is charged"
    assert clock.slept[0] <= 61.0


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (failure(400, "Your credit balance is too low to access the API."), "out of credit"),
        (failure(403, "Your team has used all available credits."), "out of credit"),
        (Reply(body={"error": {"message": "there is none such", "code": "model_not_found"}}), "and the model's name"),
        (Reply(body={"object": "error", "message": "there is none such", "code": 404}), "the model's name"),
        (answer(error={"code": 401, "message": "upstream key"}), "check OPENAI_API_KEY"),
        (Reply(body=PAGE), "'502 Bad Gateway'; check OPENAI_BASE_URL"),
        (Reply(body=["a", "list"]), "not a chat completion"),
        (Reply(body="null"), "not a chat completion"),
    ],
)
async def test_what_will_not_pass_is_not_tried_again(bad: Reply, words: str) -> None:
    with ScriptedEndpoint([bad]) as endpoint:
        with pytest.raises(ModelMisconfigured, match=words):
            await ask(endpoint)
        assert len(endpoint.requests) == 2, "the second is the engine's own question"


async def test_a_page_in_place_of_an_answer_passes_where_there_were_answers_before() -> None:
    with ScriptedEndpoint([Reply(GOOD), Reply(body=PAGE), Reply(GOOD)]) as endpoint:
        async with model_at(endpoint.url) as model:
            got = [await model.complete(Question(), role="coder", limits=CallLimits()) for _ in range(2)]
        assert len(endpoint.requests) == 3
    assert [one.usage for one in got] == [Usage(100, 20)] * 2


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "many", "completion_tokens": 20},
        {"prompt_tokens": 8.5, "completion_tokens": 6},
        {"prompt_tokens": 8, "completion_tokens": 10**30},
        {"prompt_tokens": -8, "completion_tokens": 6},
        {"prompt_tokens": 8, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": "none"}},
        "eight",
    ],
)
async def test_tokens_that_cannot_be_do_not_lose_the_answer_and_are_estimated(usage: object) -> None:
    with ScriptedEndpoint([answer(usage)]) as endpoint:
        got = await ask(endpoint)
    assert (got.answer.value, got.usage) == (7, Usage(8, 6))


async def test_parts_without_text_are_left_out() -> None:
    parts = [{"type": "reasoning", "text": None}, {"type": "text", "text": GOOD}]
    with ScriptedEndpoint([Reply(body={"choices": [{"message": {"content": parts}}]})]) as endpoint:
        assert (await ask(endpoint)).text == GOOD


async def test_a_byte_now_and_then_does_not_stretch_the_time_limit_of_the_call() -> None:
    with (
        ScriptedEndpoint([Reply(GOOD, drip=0.05)]) as endpoint,
        pytest.raises(ModelUnavailable, match=r"did not answer within 0\.5 s"),
    ):
        await ask(endpoint, seconds=0.5)


@pytest.mark.parametrize(("status", "most"), [(200, MOST_BYTES), (500, MOST_OF_ERROR)])
async def test_a_body_without_end_is_given_up_at_its_bound(status: int, most: int) -> None:
    with (
        ScriptedEndpoint([Reply(status=status, body=b" " * 65536, endless=True)]) as endpoint,
        pytest.raises(ModelUnavailable, match=f"its body has more than {most:,} bytes"),
    ):
        await ask(endpoint, retries=0)


@pytest.mark.integration
async def test_a_small_body_that_unpacks_without_end_is_given_up_at_its_bound() -> None:
    packed = gzip.compress(b" " * (1 << 28))
    assert len(packed) < 1 << 20
    reply = Reply(body=packed, headers={"Content-Encoding": "gzip"})
    with ScriptedEndpoint([reply]) as endpoint:
        tracemalloc.start()
        try:
            with pytest.raises(ModelUnavailable, match="its body has more than"):
                await ask(endpoint, retries=0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1 << 28


async def test_a_packed_answer_is_unpacked() -> None:
    body = gzip.compress(json.dumps({"choices": [{"message": {"content": GOOD}}]}).encode())
    with ScriptedEndpoint([Reply(body=body, headers={"Content-Encoding": "gzip"})]) as endpoint:
        assert (await ask(endpoint)).text == GOOD


@pytest.mark.parametrize("charset", ["base64", "utf-16", "no-such-thing"])
async def test_an_answer_is_utf8_whatever_its_header_says(charset: str) -> None:
    headers = {"Content-Type": f"application/json; charset={charset}"}
    with ScriptedEndpoint([Reply(GOOD, headers=headers, plain=True)]) as endpoint:
        assert (await ask(endpoint)).text == GOOD
    with ScriptedEndpoint([Reply(GOOD, headers={"Content-Type": f"text/event-stream; charset={charset}"})]) as endpoint:
        assert (await ask(endpoint)).text == GOOD
    with (
        ScriptedEndpoint([Reply(status=500, body={"error": "busy"}, headers=headers)]) as endpoint,
        pytest.raises(ModelUnavailable, match="500 for gpt-x: busy"),
    ):
        await ask(endpoint, retries=0)


async def test_a_host_that_has_no_address_is_unavailable() -> None:
    async with model_at("http://nowhere.invalid/v1", retries=1) as model:
        with pytest.raises(ModelUnavailable, match=r"could not connect to gpt-x's endpoint.*: .+ \(attempts: 2\)"):
            await model.complete(Question(), role="coder", limits=CallLimits())


async def test_two_empty_answers_say_so_by_their_class_and_are_charged() -> None:
    with ScriptedEndpoint([""]) as endpoint, pytest.raises(EmptyAnswer) as caught:
        await ask(endpoint)
    assert caught.value.reply == Completion(None, "", Usage(200, 40), "gpt-x", pytest.approx(0.0006))


@pytest.mark.integration
@pytest.mark.parametrize("then", [failure(503, "down"), failure(401, "no"), Reply(GOOD, delay=30.0)])
async def test_an_empty_answer_is_charged_though_nothing_comes_after_it(then: Reply) -> None:
    with ScriptedEndpoint([Reply(""), then]) as endpoint, pytest.raises(EmptyAnswer) as caught:
        await ask(endpoint, seconds=4.0, retries=0)
    assert caught.value.reply == Completion(None, "", Usage(100, 20), "gpt-x", pytest.approx(0.0003))
