"""Exchanges that the engine does not see to their end: none of them is free."""

import asyncio
import signal
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.budgets.kinds import Kind
from bot.budgets.settings import Caps
from bot.models.endpoint import Endpoint, OpenAIModel
from bot.models.fallback import Answerer, FallbackModel
from bot.models.pricing import Price, Pricing
from bot.models.recordings import RecordedModel
from bot.report.export import calls
from state.store import Store
from tests.bot.coder.gateway.answers import TEXT, answering, begin, piece
from tests.bot.coder.gateway.parts import NODE, Came, Upstream, Wire, connected, good, scene
from tests.bot.models.parts import KEY, RUN, HurriedClock
from tests.source_tree import ROOT


@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.integration)])
async def test_a_killed_engine_leaves_what_it_had_booked_and_the_next_one_charges_it_once(
    tmp_path: Path, stream: bool
) -> None:
    command = [sys.executable, "-m", "tests.bot.coder.gateway.doomed", str(tmp_path), str(stream)]
    doomed = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert doomed.stdout is not None and doomed.stdout.readline() == "sent\n"
    doomed.send_signal(signal.SIGKILL)
    doomed.wait()
    doomed.stdout.close()
    with Store.open(tmp_path / "state.db", HurriedClock()) as store:
        for _ in range(2):
            async with scene(tmp_path, answering, store=store, caps=Caps(money=1.0)) as it:
                ledger = it.ledger
                assert (ledger.entries, ledger.completion_tokens) == (1, 32_000)
                assert 0 < ledger.prompt_tokens < 1_000
                assert ledger.cost_usd == pytest.approx(ledger.prompt_tokens / 1e6 + 0.32)
                assert it.counted(Kind.MONEY) == pytest.approx(ledger.cost_usd)
                assert it.asker.totals.cost_usd == pytest.approx(ledger.cost_usd)
        async with scene(tmp_path, answering, store=store) as it:
            assert (await it.ask()).status == 200
        lost, answered = calls(store, RUN)
    assert (lost["step"], answered["step"]) == (f"{NODE}/gateway/1", f"{NODE}/gateway/2")
    assert lost["messages"][-1] == answered["messages"][-1] == good("chat")["messages"][0]
    assert (lost["answer"], answered["answer"]) == ("", TEXT)


async def test_a_stream_under_way_as_the_lab_ends_is_charged_for_what_came(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await begin("chat", wire)
        await piece("chat", wire, TEXT)
        await asyncio.sleep(60)

    async with scene(tmp_path, script, timeout=60) as it, connected(it.socket) as client:
        loop, seen = asyncio.get_running_loop(), b""
        await loop.sock_sendall(client, it.request(stream=True))
        while TEXT.encode() not in seen:
            seen += await loop.sock_recv(client, 65536)
        await it.gateway.__aexit__(None, None, None)
        while part := await loop.sock_recv(client, 65536):
            seen += part
        assert b"the lab has ended" in seen and it.upstream.let_go == 0
        assert (it.ledger.entries, it.ledger.completion_tokens) == (1, -(-len(TEXT) // 4))


async def test_what_is_not_answered_as_the_lab_ends_is_charged_as_it_was_booked(tmp_path: Path) -> None:
    sent = asyncio.Event()

    async def script(came: Came, wire: Wire) -> None:
        sent.set()
        await asyncio.sleep(60)

    async with scene(tmp_path, script, timeout=60) as it, connected(it.socket) as client:
        await asyncio.get_running_loop().sock_sendall(client, it.request(max_tokens=500))
        await asyncio.wait_for(sent.wait(), 60)
        await it.gateway.__aexit__(None, None, None)
        assert (it.ledger.entries, it.ledger.completion_tokens) == (1, 500)
        assert it.budget.amount_reserved(Kind.MONEY) == 0 and it.counted(Kind.MONEY) == pytest.approx(it.cost)


async def test_what_was_never_sent_costs_nothing_as_the_lab_ends(tmp_path: Path) -> None:
    async def script(came: Came, wire: Wire) -> None:
        await asyncio.sleep(60)

    # One request holds all of the cap, so that the others wait for what is left of it.
    async with scene(tmp_path, script, caps=Caps(money=0.09), timeout=60) as it:
        asking = [asyncio.create_task(it.ask()) for _ in range(3)]
        async with asyncio.timeout(20):
            while not it.upstream.came:
                await asyncio.sleep(0.01)
        await it.gateway.__aexit__(None, None, None)
        await asyncio.gather(*asking)
        assert len(it.upstream.came) == it.ledger.entries == 1


async def test_a_cap_on_tokens_counts_new_ones_and_lets_a_cached_conversation_grow(tmp_path: Path) -> None:
    long = "a word " * 3_000
    said = [{"role": "user", "content": long}]
    async with scene(tmp_path, answering, caps=Caps(tokens=60_000)) as it:
        for turn in range(6):
            assert (await it.ask(messages=said, max_tokens=1_000)).status == 200, turn
            said = [*said, {"role": "assistant", "content": TEXT}, {"role": "user", "content": "on"}]
        assert it.counted(Kind.TOKENS) == 6 * 700
        got = await it.ask(messages=[{"role": "user", "content": long * 2}], max_tokens=1_000)
        assert got.status == 403 and "cap on tokens" in got.error


async def test_an_endpoint_that_fails_is_followed_by_the_next_with_its_own_key_model_and_price(tmp_path: Path) -> None:
    second = Upstream(answering)
    server = await asyncio.start_server(second.accept, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    other = "sk-other-9876543210fedcba"
    endpoint = Endpoint(
        SecretStr(other), lambda role: "large", url, 10.0, None, 0, other_keys={"OPENAI_API_KEY": SecretStr(KEY)}
    )

    async def script(came: Came, wire: Wire) -> None:
        if came.body.get("stream"):
            await begin("chat", wire)
            await piece("chat", wire, "a")
        else:
            await wire.answer({"error": {"message": "down"}}, status=503)

    pricing = Pricing({"large": Price(input=2.0, output=20.0)}, base_url=url)
    async with server, aclosing(OpenAIModel(endpoint, pricing, HurriedClock())) as next_one:

        def both(first: OpenAIModel) -> FallbackModel:
            answerers = [Answerer("first", first, first.estimate), Answerer("second", next_one, next_one.estimate)]
            return FallbackModel(answerers, HurriedClock())

        async with scene(tmp_path, script, wrap=both) as it:
            begun = await it.ask(stream=True)
            assert "was interrupted" in begun.body.decode() and second.came == [], "what was begun is not begun anew"
            assert (await it.ask()).status == 200
            assert it.cost == pytest.approx((6 + 4) / 1e6 + (1000 * 2.0 + 100 * 20.0) / 1e6, abs=3e-5)
        await second.close()
    (came,) = second.came
    assert came.headers["authorization"] == f"Bearer {other}" and came.body["model"] == "large"


async def test_a_model_that_is_no_endpoint_answers_no_agent_and_that_is_said(tmp_path: Path) -> None:
    async with scene(tmp_path, answering, wrap=lambda first: RecordedModel(tmp_path)) as it:
        got = await it.ask()
        assert got.status == 403 and "no answer for step" in got.error
