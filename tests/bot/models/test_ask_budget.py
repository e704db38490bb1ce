"""Asking within a budget: parallel coders never overshoot, whatever the answers cost, and none is refused too early."""

import asyncio
import threading
from pathlib import Path

import pytest

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.models import CallLimits, Message, Usage
from bot.models.ask import Asker
from bot.models.bounds import LEAST_ANSWER_TOKENS, MOST_ANSWER_TOKENS, PromptTokenBound, bounds, most_sent
from bot.models.endpoint import OpenAIModel
from state.errors import BudgetExceeded, ModelRefused, UsageError
from state.spending import read_spending
from state.steps import Steps
from state.store import Store
from tests.bot.models.parts import GOOD, RUN, HurriedClock, Question, Turn, model_at, open_run
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint

CODERS = 8
TEXT = "x" * 3_000


def asker_within(model: OpenAIModel, store: Store, level: Level, in_flight: int = CODERS) -> Asker:
    clock, steps = HurriedClock(), Steps(store, RUN)
    return Asker(model, store, RUN, clock, steps, budget=level, estimate=model.estimate, in_flight=in_flight)


class Greedy:
    """Answers as long as it may, every third time after an empty answer that is charged too, slowly enough to overlap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests = self.in_flight = self.most_in_flight = 0

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self.requests += 1
            empty = self.requests % 3 == 0
        sent = sum(len(m["content"].encode()) for m in request.body["messages"])
        text = "" if empty else GOOD
        return Reply(text, prompt_tokens=sent, completion_tokens=int(request.body["max_tokens"]), delay=0.02)


async def code(asker: Asker, coder: int) -> str:
    """Ask until the budget refuses, and return why."""
    for call in range(1_000):
        try:
            await asker.ask(Question(TEXT), role="coder", name=f"call:{call}", node=coder)
        except BudgetExceeded as error:
            return str(error)
        except ModelRefused:
            continue  # three empty answers in a row fell to this coder, and were charged
    raise AssertionError("nothing ever refused")


async def test_eight_parallel_coders_end_at_no_more_than_a_dollar_and_near_to_it(tmp_path: Path) -> None:
    level = Level("run", Caps(money=1.0))
    with ScriptedEndpoint(Greedy()) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_within(model, store, level)
            reasons = await asyncio.gather(*(code(asker, coder) for coder in range(1, CODERS + 1)))
        ledger = read_spending(store, RUN)["tokens"]
    assert ledger.cost_usd <= 1.0
    assert level.usage[Kind.MONEY] == pytest.approx(ledger.cost_usd)
    # Until two of the shortest answers no longer fit.
    assert ledger.cost_usd > 1.0 - 2 * (6_000 / 1e6 + LEAST_ANSWER_TOKENS * 10 / 1e6)
    assert all("USD of 1.0000 USD spent" in reason for reason in reasons)
    assert level.amount_reserved(Kind.MONEY) == 0
    assert ledger.entries == level.usage[Kind.CALLS]


async def test_cheap_answers_are_not_refused_because_of_dear_reservations_in_flight(tmp_path: Path) -> None:
    # A reservation takes the whole cap, an answer a hundredth of it: one after another, all eight are answered.
    level = Level("run", Caps(money=0.1))
    with ScriptedEndpoint([Reply(GOOD, completion_tokens=50, delay=0.01)]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_within(model, store, level)
            asked = (asker.ask(Question(), role="coder", name="a", node=n) for n in range(1, CODERS + 1))
            answers = await asyncio.gather(*asked)
    assert len(answers) == CODERS
    assert level.usage[Kind.MONEY] == pytest.approx(CODERS * 0.0006)


async def test_calls_in_flight_are_bounded_over_the_whole_run(tmp_path: Path) -> None:
    lock, counts = threading.Lock(), {"now": 0, "most": 0}
    meet = threading.Barrier(3)

    def script(request: Request) -> Reply:
        with lock:
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
        meet.wait(20)  # three come together
        with lock:
            counts["now"] -= 1
        return Reply(GOOD)

    with ScriptedEndpoint(script) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_within(model, store, Level("run", Caps()), in_flight=3)
            await asyncio.gather(*(asker.ask(Question(), role="coder", name="a", node=n) for n in range(1, 10)))
    assert counts["most"] == 3


async def test_an_answer_is_bounded_only_where_a_cap_needs_it(tmp_path: Path) -> None:
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            for node, caps in enumerate((Caps(), Caps(calls=5), Caps(money=1), Caps(tokens=100_000)), 1):
                await asker_within(model, store, Level("run", caps)).ask(Question(), role="c", name="a", node=node)
    assert [r.body.get("max_tokens") for r in endpoint.requests] == [None, None, MOST_ANSWER_TOKENS, MOST_ANSWER_TOKENS]


async def test_a_cap_of_the_day_refuses_an_unknown_price_too(tmp_path: Path) -> None:
    run = Level("run", Caps(), around=Level("day", Caps(money=5)))
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url, name="made-up") as model:
            with pytest.raises(UsageError, match="price of the model for coder is unknown"):
                await asker_within(model, store, run).ask(Question(), role="coder", name="a")
        assert endpoint.requests == []


async def test_a_call_that_failed_counts_as_a_call_and_gives_its_money_back(tmp_path: Path) -> None:
    level = Level("run", Caps(money=1, calls=1))
    with ScriptedEndpoint([Reply(status=503, body={"error": "no"})]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url, retries=0) as model:
            asker = asker_within(model, store, level)
            with pytest.raises(Exception, match="503"):
                await asker.ask(Question(), role="coder", name="a")
            with pytest.raises(
                BudgetExceeded, match="cap on model calls has been reached: 1 model calls of 1 model calls"
            ):
                await asker.ask(Question(), role="coder", name="b")
    assert level.remaining[Kind.MONEY] == 1


def test_a_shorter_answer_is_tried_where_a_long_one_does_not_fit() -> None:
    def estimate(role: str, usage: Usage) -> float:
        return usage.completion_tokens / 1e6

    found = list(bounds(Level("run", Caps(money=1)), estimate, "coder", PromptTokenBound(17, 17), CallLimits()))
    assert [bound.limits.max_tokens for bound in found] == [32_000, 16_000, 8_000, 4_000]
    assert [bound.amounts["money"] for bound in found] == pytest.approx([0.064, 0.032, 0.016, 0.008])


def test_no_text_has_more_tokens_than_bytes_and_a_few_for_each_message() -> None:
    messages = [Message("system", "é" * 10), Message("user", "\ud800")]
    assert most_sent(messages, with_tool=False) == PromptTokenBound(20 + 3 + 2 * 16, 20 + 3 + 2 * 16)


def test_cached_messages_are_not_new() -> None:
    messages = [Message("user", "a" * 100), Message("user", "b\n")]
    sent = most_sent(messages, with_tool=True, cached=1)
    assert sent.new == len('"b\\n"') + 16
    assert sent.tokens > 100 + sent.new


async def test_tokens_cap_counts_new_ones_and_refuses_what_does_not_fit(tmp_path: Path) -> None:
    # Each call takes 1,000 new tokens; 2 answers of 4,000 at the least and what is sent must fit.
    level = Level("run", Caps(tokens=10_900))
    reply = Reply(GOOD, prompt_tokens=9_000, cached_tokens=8_500, completion_tokens=500)
    with ScriptedEndpoint([reply]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url, name="made-up") as model:
            asker = asker_within(model, store, level)
            for name in ("a", "b", "c"):
                await asker.ask(Question(), role="coder", name=name)
            with pytest.raises(
                BudgetExceeded, match="the run's cap on tokens has been reached: 3000 tokens of 10900 tokens"
            ):
                await asker.ask(Question(), role="coder", name="d")
    assert (asker.totals.prompt_tokens, asker.totals.cached_tokens, asker.totals.new_tokens) == (27_000, 25_500, 3_000)


LONG = Turn(("Look around.", "```sh\ncat all\n```", "x" * 100_000))


@pytest.mark.parametrize(("cached", "fits"), [(20_000, True), (0, False)])
async def test_conversation_that_is_cached_does_not_use_up_a_cap_on_tokens(
    tmp_path: Path, cached: int, fits: bool
) -> None:
    longer = Turn((*LONG.said, "```sh\nls\n```", "y"))
    reply = Reply("```sh\nls\n```", prompt_tokens=25_000, cached_tokens=cached, completion_tokens=10)
    with ScriptedEndpoint([reply]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            await asker_within(model, store, Level("run", Caps())).ask(LONG, role="coder", name="1", node=1)
            resumed = asker_within(model, store, Level("run", Caps(tokens=20_000)))
            if fits:
                assert await resumed.ask(longer, role="coder", name="2", node=1) == "ls"
            else:
                with pytest.raises(BudgetExceeded):
                    await resumed.ask(longer, role="coder", name="2", node=1)
            with pytest.raises(BudgetExceeded):  # another conversation, which nobody has read
                await resumed.ask(longer, role="coder", name="3", node=2)
