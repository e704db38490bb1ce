"""A list of endpoints to fall back on, each a real server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.agents.builtin import BuiltinModel
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.models import AnswerT, CallLimits, Completion, Prompt, Usage
from bot.models.ask import Asker
from bot.models.bounds import free
from bot.models.fallback import Answerer, AnswererChanged, FallbackModel, LastResort
from bot.models.pricing import Price, Pricing
from bot.models.repair import Repair
from state.breaker import INITIAL_COOLDOWN, MAX_COOLDOWN
from state.errors import EmptyAnswer, ModelMisconfigured, ModelRefused, ModelUnavailable, Unparsable
from state.spending import read_spending
from state.steps import Steps
from tests.bot.models.parts import GOOD, RUN, HurriedClock, Question, Value, model_at, open_run
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure
from tests.state.test_steps import SetClock

DOWN = failure(503, "overloaded")
NO_KEY = failure(401, "Incorrect API key provided")
BAD_DAYS = {
    "429 with seconds": failure(429, "slow down", retry_after="30"),
    "429 with a date": failure(429, "slow down", retry_after="Fri, 20 Nov 2037 12:00:20 GMT"),
    "429 with an absurd time": failure(429, "slow down", retry_after="99999999999999999999"),
    "429 without": failure(429, "slow down"),
    "500": failure(500, "internal error"),
    "silence": Reply(GOOD, delay=30.0),
    "silence before the first word": Reply(GOOD, silent_after=2),
    "a body without end": Reply(body=b" " * 65536, endless=True),
    "a cut body": Reply(GOOD, cut_after=40),
    "wrong JSON": Reply(body='{"choices": ['),
    "another JSON": Reply(body={"hello": "world"}),
    "no body": Reply(body=""),
    "a page": Reply(body="<html><title>Maintenance</title></html>"),
    "a wrong model's name": failure(404, "The model `gpt-x` does not exist", "model_not_found"),
    "no credit": failure(429, "You exceeded your current quota", "insufficient_quota"),
    "a wrong key": NO_KEY,
}


@dataclass
class Several:
    """What a test sees of a list of endpoints."""

    model: FallbackModel
    clock: SetClock
    told: list[AnswererChanged]

    async def ask(self, text: str = "Which number?", seconds: float = 60.0) -> Completion[Value]:
        return await self.model.complete(Question(text), role="coder", limits=CallLimits(seconds=seconds))


@asynccontextmanager
async def several(*urls: str, timeout: float = 30.0, retries: int = 0, builtin: bool = False) -> AsyncIterator[Several]:
    """Open a list of models, `m1` first, of which the n-th costs n dollars a million tokens of output.

    The timeout is the first one's; whoever is to answer has time for it on a busy machine, too.
    """
    clock, told = SetClock(), list[AnswererChanged]()
    async with AsyncExitStack() as stack:
        answerers = []
        for n, url in enumerate(urls, 1):
            pricing = Pricing({f"m{n}": Price(input=0.0, output=float(n))})
            seconds = timeout if n == 1 else 30.0
            opened = model_at(url, clock, name=f"m{n}", timeout=seconds, retries=retries, pricing=pricing)
            one = await stack.enter_async_context(opened)
            answerers.append(Answerer(f"m{n}", one, one.estimate))
        if builtin:
            answerers.append(Answerer("builtin", LastResort(BuiltinModel(1)), free, instant=True))
        yield Several(FallbackModel(answerers, clock, told.append), clock, told)


async def test_what_broke_off_at_the_first_is_charged_with_the_answer_of_the_second() -> None:
    with ScriptedEndpoint([Reply(GOOD, silent_after=4)]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url, timeout=0.3) as models:
            got = await models.ask()
    assert (got.answer.value, got.model) == (7, "m2")
    assert got.usage == Usage(100 + 2 * 8, 20 + 2 * 4)
    assert got.cost_usd == pytest.approx((20 * 2 + 2 * 4 * 1) / 1e6)


@pytest.mark.parametrize("bad", BAD_DAYS.values(), ids=BAD_DAYS.keys())
async def test_on_a_bad_day_of_the_first_the_second_answers_and_alone_is_charged(bad: Reply) -> None:
    with ScriptedEndpoint([bad]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url, timeout=0.3, retries=1) as models:
            got = await models.ask()
    assert (got.answer.value, got.model, got.usage) == (7, "m2", Usage(100, 20))
    assert got.cost_usd == pytest.approx(20 * 2 / 1e6)
    (change,) = models.told
    assert (change.before, change.after) == ("m1", "m2")
    assert change.reason is not None and change.reason.startswith("m1: ")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://nowhere.invalid/v1"])
async def test_where_nobody_listens_the_second_answers(url: str) -> None:
    with ScriptedEndpoint([GOOD]) as second:
        async with several(url, second.url) as models:
            assert (await models.ask()).model == "m2"


async def test_the_first_answers_as_long_as_it_can_and_nobody_is_told() -> None:
    with ScriptedEndpoint([DOWN, Reply(GOOD)]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url, retries=1) as models:
            assert (await models.ask()).model == "m1"
        assert second.requests == []
    assert models.told == []


async def test_empty_answers_are_charged_beside_the_answer_of_the_next() -> None:
    with ScriptedEndpoint([""]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url) as models:
            got = await models.ask()
    assert (got.model, got.usage) == ("m2", Usage(300, 60))
    assert got.cost_usd == pytest.approx((40 * 1 + 20 * 2) / 1e6)


@pytest.mark.parametrize(
    ("last", "error"), [(Reply(""), EmptyAnswer), (DOWN, EmptyAnswer), (Reply("no JSON"), Unparsable)]
)
async def test_empty_answers_are_charged_where_nothing_better_comes_after(
    last: Reply, error: type[EmptyAnswer | Unparsable]
) -> None:
    with ScriptedEndpoint([""]) as first, ScriptedEndpoint([last]) as second:
        async with several(first.url, second.url) as models:
            with pytest.raises(error) as caught:
                await models.ask()
    answered = 40 * 1 + 20 * 2 * (len(second.requests) if last.status == 200 else 0)
    assert isinstance(caught.value.reply, Completion)
    assert caught.value.reply.cost_usd == pytest.approx(answered / 1e6)


async def test_a_refused_prompt_is_not_taken_to_the_next() -> None:
    with ScriptedEndpoint([failure(400, "flagged", "content_filter")]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url) as models:
            with pytest.raises(ModelRefused, match="flagged"):
                await models.ask()
        assert second.requests == []


async def test_a_reply_that_cannot_be_read_is_of_the_one_that_gave_it() -> None:
    with ScriptedEndpoint([DOWN]) as first, ScriptedEndpoint(["no JSON"]) as second:
        async with several(first.url, second.url) as models:
            with pytest.raises(Unparsable) as caught:
                await models.ask()
    assert caught.value.reply == Completion(None, "no JSON", Usage(100, 20), "m2", pytest.approx(40 / 1e6))


async def test_if_none_answers_each_ones_words_are_told_and_it_may_pass() -> None:
    with ScriptedEndpoint([NO_KEY]) as first, ScriptedEndpoint([DOWN]) as second:
        async with several(first.url, second.url) as models:
            with pytest.raises(ModelUnavailable, match=r"m1: .*Incorrect API key.*; m2: .*overloaded"):
                await models.ask()


async def test_if_none_can_ever_answer_the_run_is_to_stop() -> None:
    with ScriptedEndpoint([NO_KEY]) as first, ScriptedEndpoint([BAD_DAYS["no credit"]]) as second:
        async with several(first.url, second.url) as models:
            with pytest.raises(ModelMisconfigured, match=r"check OPENAI_API_KEY; m2: .*out of credit"):
                await models.ask()


async def test_a_dead_endpoint_is_not_asked_at_every_call_but_again_after_its_rest() -> None:
    with ScriptedEndpoint([DOWN] * 6 + [Reply(GOOD)]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url, retries=2) as models:
            for _ in range(3):
                assert (await models.ask()).model == "m2"
            assert len(first.requests) == 3, "one call with its retries"
            models.clock.advance(INITIAL_COOLDOWN)
            assert (await models.ask()).model == "m2"
            assert len(first.requests) == 6
            models.clock.advance(INITIAL_COOLDOWN)
            assert (await models.ask()).model == "m2"
            assert len(first.requests) == 6, "the second rest is longer"
            models.clock.advance(INITIAL_COOLDOWN)
            assert (await models.ask()).model == "m1"
    assert [(c.before, c.after) for c in models.told] == [("m1", "m2"), ("m2", "m1")]
    assert str(models.told[1]) == "m1 answers again"


async def test_a_wrong_key_is_tried_again_after_the_longest_rest_only() -> None:
    with ScriptedEndpoint([NO_KEY, NO_KEY, Reply(GOOD)]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url) as models:
            await models.ask()
            models.clock.advance(MAX_COOLDOWN - 1)
            assert (await models.ask()).model == "m2"
            models.clock.advance(1)
            assert (await models.ask()).model == "m1"


async def test_one_that_rests_is_asked_all_the_same_before_a_call_fails() -> None:
    with ScriptedEndpoint([DOWN, Reply(GOOD)]) as first, ScriptedEndpoint([Reply(GOOD), DOWN]) as second:
        async with several(first.url, second.url) as models:
            assert [(await models.ask()).model for _ in range(3)] == ["m2", "m1", "m1"]


async def test_calls_side_by_side_fall_back_together_and_are_told_of_once() -> None:
    with ScriptedEndpoint([DOWN]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url) as models:
            got = await asyncio.gather(*(models.ask() for _ in range(4)))
            asked = len(first.requests)
            models.clock.advance(INITIAL_COOLDOWN)
            await asyncio.gather(*(models.ask() for _ in range(4)))
            assert len(first.requests) == asked + 1, "half-open, it lets one call through"
    assert {one.model for one in got} == {"m2"}
    assert len(models.told) == 1


@pytest.mark.integration
async def test_a_silent_first_one_leaves_time_for_the_others() -> None:
    silence = Reply(GOOD, delay=30.0)
    with ScriptedEndpoint([silence]) as first, ScriptedEndpoint([silence]) as second, ScriptedEndpoint([GOOD]) as third:
        async with several(first.url, second.url, third.url, retries=3) as models:
            start = asyncio.get_running_loop().time()
            assert (await models.ask(seconds=3.0)).model == "m3"
            assert asyncio.get_running_loop().time() - start < 3.0


async def test_all_tries_together_keep_to_the_time_limit() -> None:
    with ScriptedEndpoint([Reply(GOOD, delay=30.0)]) as silent:
        async with several(silent.url, silent.url) as models:
            start = asyncio.get_running_loop().time()
            with pytest.raises(ModelUnavailable, match=r"m1: .*did not answer.*; m2: .*did not answer"):
                await models.ask(seconds=0.6)
            assert asyncio.get_running_loop().time() - start < 10.0


async def test_cancelled_trial_leaves_room_for_the_next() -> None:
    with ScriptedEndpoint([DOWN, Reply(GOOD, delay=30.0), Reply(GOOD)]) as first, ScriptedEndpoint([GOOD]) as second:
        async with several(first.url, second.url) as models:
            await models.ask()
            models.clock.advance(INITIAL_COOLDOWN)
            trial = asyncio.create_task(models.ask())
            while len(first.requests) < 2:
                await asyncio.sleep(0.01)
            trial.cancel()
            await asyncio.wait({trial})
            assert (await models.ask("Another?")).model == "m1"


async def test_estimate_is_that_of_the_dearest_and_unknown_where_one_is() -> None:
    async with several("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1", builtin=True) as models:
        assert models.model.estimate("coder", Usage(0, 1_000_000)) == pytest.approx(2.0)
    unknown = Answerer("u", LastResort(BuiltinModel(1)), lambda role, usage: None)
    known = Answerer("k", LastResort(BuiltinModel(1)), free)
    assert FallbackModel([known, unknown], HurriedClock()).estimate("coder", Usage(1, 1)) is None


class Ruled:
    """Answers in place of the built-in model, which has no rule for the question of these tests."""

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        if not isinstance(prompt, Question):
            raise ModelRefused("there is no rule for it")
        return Completion(prompt.parse(GOOD), GOOD, Usage(1, 1), "builtin", 0.0)


async def test_the_last_resort_answers_a_repair_as_the_question_itself() -> None:
    repair = Repair(Question(), "no JSON", "there is no JSON")
    got = await LastResort(Ruled()).complete(repair, role="coder", limits=CallLimits())
    assert got.answer == Value(value=7)


async def test_the_last_resort_without_a_rule_is_not_final_and_keeps_its_place() -> None:
    with ScriptedEndpoint([DOWN]) as first:
        async with several(first.url, builtin=True) as models:
            with pytest.raises(ModelUnavailable, match=r"overloaded.*; builtin: .*no rule for the prompt 'question'"):
                await models.ask()


async def test_the_asker_logs_and_charges_the_one_that_answered(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        return Reply("no JSON") if len(request.body["messages"]) == 2 else Reply(GOOD)

    with open_run(tmp_path) as store, ScriptedEndpoint([NO_KEY]) as first, ScriptedEndpoint(script) as second:
        async with several(first.url, second.url) as models:
            asker = Asker(
                models.model,
                store,
                RUN,
                HurriedClock(),
                Steps(store, RUN),
                budget=Level("run", Caps(money=1.0)),
                estimate=models.model.estimate,
            )
            assert (await asker.ask(Question(), role="coder", name="q")).value == 7
            assert (await asker.ask(Question(), role="coder", name="q")).value == 7
        assert (len(first.requests), len(second.requests)) == (2, 2), "an answered question is not asked again"
        (by_model,) = read_spending(store, RUN).values()
    assert by_model.cost_usd == pytest.approx(2 * 20 * 2 / 1e6)


def test_two_of_one_name_are_refused() -> None:
    one = Answerer("m", LastResort(BuiltinModel(1)), free)
    with pytest.raises(ValueError, match="the same name"):
        FallbackModel([one, one], HurriedClock())
