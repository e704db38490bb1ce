"""A coding agent's requests on their way to an endpoint and back, counted as the endpoint counts them."""

from pathlib import Path

import pytest

from bot.models import Usage
from tests.bot.coder.gateway.parts import Came, Wire, scene


async def chat(came: Came, wire: Wire) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 500}}
    message = {"role": "assistant", "content": "Seven."}
    await wire.answer({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


async def test_it_works(tmp_path: Path) -> None:
    async with scene(tmp_path, chat) as it:
        got = await it.ask()
        assert got.json["choices"][0]["message"]["content"] == "Seven."
        assert it.cost == pytest.approx((500 * 1.0 + 500 * 0.1 + 100 * 10.0) / 1e6)
        assert it.asker.totals.calls == 1
        assert Usage
