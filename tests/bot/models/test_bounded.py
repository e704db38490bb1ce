"""What a hostile endpoint may send: packed many times over, a bomb, a million parts, or a way to another host."""

import gzip
import json
from collections.abc import Callable

import pytest

from bot.models import CallLimits, Completion
from state.errors import ModelError, ModelMisconfigured, ModelUnavailable
from tests.bot.models.parts import GOOD, Question, Value, model_at
from tests.scripted_endpoint import Reply, ScriptedEndpoint
from tests.ticking import standstill

LONGEST_STANDSTILL = 2.0
"""Seconds of the processor; without bounds these answers take 10 to 30."""
GIGABYTE = 1 << 30


async def ask(endpoint: ScriptedEndpoint) -> Completion[Value]:
    async with model_at(endpoint.url, retries=0) as model:
        return await model.complete(Question("a secret plan"), role="coder", limits=CallLimits())


def packed(times: int, size: int = GIGABYTE) -> bytes:
    """Return so many zeros, packed as often as said."""
    body = gzip.compress(bytes(1 << 20)) * (size >> 20)
    for _ in range(times - 1):
        body = gzip.compress(body)
    return body


def encoded(body: bytes, coding: str) -> Reply:
    return Reply(body=body, headers={"Content-Encoding": coding})


MANY_PARTS = b"[" + b"[]," * 5_000_000 + b"[]]"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (lambda: encoded(packed(4), "gzip, gzip, gzip, gzip"), "encoded as 'gzip, gzip, gzip, gzip'"),
        (lambda: encoded(packed(2), "gzip,gzip"), "encoded as 'gzip, gzip'"),
        (lambda: encoded(packed(1), "br"), "encoded as 'br'"),
        (lambda: encoded(packed(1), "deflate"), "encoded as 'deflate'"),
        (lambda: encoded(gzip.compress(bytes(1 << 28)), "gzip"), "more than 16,777,216 bytes"),
        (lambda: encoded(b"no gzip", "gzip"), "incorrect header"),
        (lambda: encoded(gzip.compress(MANY_PARTS), "gzip"), "is not a chat completion"),
        (lambda: Reply(status=500, body=MANY_PARTS), "more than 262,144 bytes"),
        (lambda: Reply(status=500, body=MANY_PARTS[:250_000]), "status 500"),
        (lambda: Reply(body=b'{"choices":' * 100_000), "cut off"),
    ],
    ids=[
        "four times",
        "twice",
        "brotli",
        "deflate",
        "bomb",
        "no gzip",
        "many parts",
        "a large error",
        "many parts of an error",
        "deep",
    ],
)
async def test_the_loop_goes_on_whatever_an_answer_unpacks_to(reply: Callable[[], Reply], said: str) -> None:
    with ScriptedEndpoint([reply()]) as endpoint:
        async with standstill() as found:
            with pytest.raises(ModelError, match=said):
                await ask(endpoint)
    assert found.seconds < LONGEST_STANDSTILL


async def test_an_answer_that_is_packed_once_as_was_asked_for_is_read() -> None:
    body = json.dumps({"choices": [{"message": {"content": GOOD}}]}).encode()
    with ScriptedEndpoint([encoded(gzip.compress(body), "GZIP")]) as endpoint:
        assert (await ask(endpoint)).answer.value == 7
    assert endpoint.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_prompt_does_not_follow_to_another_host(status: int) -> None:
    with ScriptedEndpoint([GOOD]) as other:
        address = other.url.replace("127.0.0.1", "localhost") + "/chat/completions"
        with (
            ScriptedEndpoint([Reply(status=status, headers={"Location": address})]) as endpoint,
            pytest.raises(
                ModelMisconfigured, match=rf"returned status {status} .*redirects to http://localhost:\d+, but"
            ),
        ):
            await ask(endpoint)
    assert other.requests == []


@pytest.mark.parametrize("location", ["http://[", "//", "http://127.0.0.1:99999/", "ftp://127.0.0.1/x", "\x00"])
async def test_a_redirect_to_no_address_is_an_error_of_ours(location: str) -> None:
    with (
        ScriptedEndpoint([Reply(status=307, headers={"Location": location})]) as endpoint,
        pytest.raises((ModelMisconfigured, ModelUnavailable)),
    ):
        await ask(endpoint)
