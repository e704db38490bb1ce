"""Asking through steps: paid once, logged, charged, repaired, capped, never newer than the clock."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.models import Item, Totals
from bot.models.ask import MOST_CONTINUATIONS, MOST_REPAIRS
from bot.models.recordings import RecordedModel, RecordingWriter
from bot.models.repair import Continuation
from state.errors import BotError, BudgetExceeded, ModelMisconfigured, ModelRefused, ModelUnavailable, UsageError
from state.store import Store
from state.tables import LedgerEntry, ModelCall, Step
from tests.bot.models.parts import CUTOFF, EARLIER, GOOD, KEY, RUN, Question, asker_of, model_at, open_run
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure


def calls(store: Store) -> list[ModelCall]:
    with store.read() as session:
        return list(session.exec(select(ModelCall).order_by(ModelCall.seq)).all())


def ledger(store: Store) -> list[LedgerEntry]:
    with store.read() as session:
        return list(session.exec(select(LedgerEntry)).all())


async def test_answer_is_logged_with_all_that_its_prompt_held_and_charged(tmp_path: Path) -> None:
    with ScriptedEndpoint([Reply(GOOD, cached_tokens=40)]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store)
            answer = await asker.ask(Question(), role="coder", name="write", node=3)
        (call,) = calls(store)
        (entry,) = ledger(store)
        messages = json.loads(store.blob(call.messages_sha))
        text = store.blob(call.answer_sha).decode()
    assert answer.value == 7
    assert (call.step, call.role, call.prompt_name, call.model, call.node) == (
        "3/write/0",
        "coder",
        "question",
        "gpt-x",
        3,
    )
    assert call.as_of == CUTOFF
    assert call.items == [{"id": "message/1", "time": "2017-10-01T00:00:00Z"}]
    assert messages == [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": "Which number?"}]
    assert text == GOOD
    cost = pytest.approx((60 * 1.0 + 40 * 0.1 + 20 * 10.0) / 1e6)
    for kept in (call, entry):
        assert (kept.prompt_tokens, kept.cached_tokens, kept.completion_tokens) == (100, 40, 20)
        assert kept.cost_usd == cost
    totals = asker.totals
    assert (totals.calls, totals.prompt_tokens, totals.cached_tokens, totals.completion_tokens) == (1, 100, 40, 20)
    assert (totals.new_tokens, totals.cost_usd) == (80, cost)


async def test_finished_call_is_never_paid_again(tmp_path: Path) -> None:
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            first = await asker_of(model, store).ask(Question(), role="coder", name="write")
            resumed = asker_of(model, store)
            second = await resumed.ask(Question(), role="coder", name="write")
        assert first == second
        assert len(endpoint.requests) == len(calls(store)) == len(ledger(store)) == 1
        assert resumed.totals.calls == 1


async def test_answer_that_was_logged_just_before_a_kill_is_recorded_and_not_paid_again(tmp_path: Path) -> None:
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            await asker_of(model, store).ask(Question(), role="coder", name="write")
            with store.write() as tx:
                step = tx.session.get_one(Step, (RUN, 0, "write", 0))
                step.status, step.result, step.ended_at = "started", None, None
                tx.add(step)
            resumed = asker_of(model, store, recorder=RecordingWriter(tmp_path / "recording"))
            assert (await resumed.ask(Question(), role="coder", name="write")).value == 7
        assert len(endpoint.requests) == resumed.totals.calls == 1
    assert len(list((tmp_path / "recording").iterdir())) == 1


async def test_totals_go_on_where_the_killed_process_stopped(tmp_path: Path) -> None:
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            await asker_of(model, store).ask(Question(), role="coder", name="a")
            resumed = asker_of(model, store)
            await resumed.ask(Question(), role="coder", name="b")
    assert (resumed.totals.calls, resumed.totals.prompt_tokens) == (2, 200)


async def test_unreadable_reply_is_sent_back_with_what_is_wrong_and_each_attempt_is_charged(tmp_path: Path) -> None:
    with ScriptedEndpoint(['{"value": "many"}', "no JSON", GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store)
            answer = await asker.ask(Question(), role="coder", name="write")
        steps = [c.step for c in calls(store)]
        items = [c.items for c in calls(store)]
    assert answer.value == 7
    assert steps == ["0/write/0", "0/write/1", "0/write/2"]
    assert items[0] == items[1] == items[2]
    second, third = (r.body["messages"] for r in endpoint.requests[1:])
    assert [m["role"] for m in second] == ["system", "user", "assistant", "user"]
    assert second[2]["content"] == '{"value": "many"}'
    assert "value: Input should be a valid integer" in second[3]["content"]
    assert "no JSON object" in third[3]["content"]
    assert asker.totals.calls == 3
    assert asker.totals.cost_usd == pytest.approx(0.0009)


async def test_answer_that_was_cut_off_is_gone_on_with_and_each_part_is_charged(tmp_path: Path) -> None:
    parts = [Reply('Here it is: {"val', finish="length"), Reply('ue": 1', finish="length"), Reply("7}")]
    with ScriptedEndpoint(parts) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store)
            assert (await asker.ask(Question(), role="coder", name="write")).value == 17
            assert (await asker.ask(Question(), role="coder", name="write")).value == 17
    third = endpoint.requests[2].body["messages"]
    assert [m["role"] for m in third[-2:]] == ["assistant", "user"]
    assert third[-2]["content"] == 'Here it is: {"value": 1'
    assert "Continue exactly where it stopped" in third[-1]["content"]
    assert asker.totals.calls == len(endpoint.requests) == 3


async def test_answer_without_an_end_is_given_up(tmp_path: Path) -> None:
    with ScriptedEndpoint([Reply('{"value": 1', finish="length")]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            with pytest.raises(ModelRefused, match="cut off"):
                await asker_of(model, store).ask(Question(), role="coder", name="write")
    assert len(endpoint.requests) == 1 + MOST_CONTINUATIONS + MOST_REPAIRS


@pytest.mark.parametrize(
    "written, more",
    [
        ("Plan.\n```python\na = 1\nb", " = 2\n```\n"),
        ("Plan.\n```python\na = 1\nb", "```python\n = 2\n```\n"),
        ("Plan.\n```python\na = 1\nb", "Plan.\n```python\na = 1\nb = 2\n```\n"),
    ],
    ids=["goes on", "opens the block again", "repeats"],
)
def test_the_parts_of_a_script_are_joined_whatever_the_second_one_repeats(written: str, more: str) -> None:
    assert Continuation(Question(), written).join(more) == "Plan.\n```python\na = 1\nb = 2\n```\n"


async def test_gives_up_after_two_repairs_and_stays_given_up_after_a_resume(tmp_path: Path) -> None:
    with ScriptedEndpoint(["never JSON"]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            for _ in range(2):
                with pytest.raises(ModelRefused, match="3 attempts: your answer has no JSON object"):
                    await asker_of(model, store).ask(Question(), role="coder", name="write")
        assert len(endpoint.requests) == 3


async def test_long_bad_reply_is_shown_with_its_middle_left_out(tmp_path: Path) -> None:
    with ScriptedEndpoint(["a" * 50_000, Reply(GOOD)]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            await asker_of(model, store).ask(Question(), role="coder", name="write")
    shown = endpoint.requests[1].body["messages"][2]["content"]
    assert len(shown) < 7_000
    assert "[... 44,000 characters left out ...]" in shown


@pytest.mark.parametrize("time", [CUTOFF + timedelta(seconds=1), EARLIER.replace(tzinfo=None)])
async def test_prompt_that_holds_something_newer_than_the_clock_is_never_sent(tmp_path: Path, time: object) -> None:
    prompt = Question(shown=(Item("message/1", EARLIER), Item("kernel/9", time)))  # type: ignore[arg-type]
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            with pytest.raises(BotError, match=r"was not sent: it contains kernel/9 from "):
                await asker_of(model, store).ask(prompt, role="coder", name="write")
        assert endpoint.requests == []
        assert calls(store) == []


async def test_refused_prompt_is_logged_and_not_sent_again(tmp_path: Path) -> None:
    refusal = failure(400, "too long", "context_length_exceeded")
    with ScriptedEndpoint([refusal]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            for _ in range(2):
                with pytest.raises(ModelRefused, match="too long"):
                    await asker_of(model, store).ask(Question(), role="coder", name="write")
        assert len(endpoint.requests) == len(calls(store)) == 1


@pytest.mark.parametrize(("status", "error", "tries"), [(503, ModelUnavailable, 1), (401, ModelMisconfigured, 2)])
async def test_failed_call_is_logged_and_made_again_after_a_resume(
    tmp_path: Path, status: int, error: type[BotError], tries: int
) -> None:
    with ScriptedEndpoint([*[failure(status, "no")] * tries, Reply(GOOD)]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url, retries=0) as model:
            with pytest.raises(error):
                await asker_of(model, store).ask(Question(), role="coder", name="write")
            asker = asker_of(model, store)
            assert (await asker.ask(Question(), role="coder", name="write")).value == 7
        assert [c.prompt_tokens for c in calls(store)] == [0, 100]
    assert asker.totals.cost_usd == pytest.approx(0.0003)


async def test_call_that_may_not_fit_into_the_money_cap_is_not_made(tmp_path: Path) -> None:
    # A call may take two answers of 60 / 1e6 + 4000 * 10 / 1e6 USD, 0.08012 together, and costs 0.0003: two fit.
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store, max_cost=0.0805)
            for name in ("a", "b"):
                await asker.ask(Question(), role="coder", name=name)
            with pytest.raises(BudgetExceeded, match=r"the run's cap on money has been reached: .* of 0\.0805 USD"):
                await asker.ask(Question(), role="coder", name="c")
            with pytest.raises(BudgetExceeded):
                await asker_of(model, store, max_cost=0.0805).ask(Question(), role="coder", name="c")
            assert (await asker.ask(Question(), role="coder", name="a")).value == 7
        assert len(endpoint.requests) == 2


async def test_repairs_count_towards_the_money_cap(tmp_path: Path) -> None:
    with ScriptedEndpoint(["no JSON"]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            with pytest.raises(BudgetExceeded):
                await asker_of(model, store, max_cost=0.0802).ask(Question(), role="coder", name="a")
        assert len(endpoint.requests) == 1


async def test_unknown_price_is_refused_under_a_cap_and_leaves_the_total_unknown_without(tmp_path: Path) -> None:
    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url, name="made-up") as model:
            with pytest.raises(UsageError, match="price of the model for coder is unknown"):
                await asker_of(model, store, max_cost=1.0).ask(Question(), role="coder", name="a")
            asker = asker_of(model, store)
            await asker.ask(Question(), role="coder", name="a")
    assert (asker.totals.calls, asker.totals.cost_usd) == (1, None)


async def test_recording_answers_as_the_endpoint_did(tmp_path: Path) -> None:
    script = [Reply("no JSON"), Reply(GOOD), failure(400, "too long", "context_length_exceeded")]
    folder = tmp_path / "recording"
    with ScriptedEndpoint(script) as endpoint, open_run(tmp_path / "live") as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store, recorder=RecordingWriter(folder))
            live = await asker.ask(Question(), role="coder", name="write:1", node=2)
            with pytest.raises(ModelRefused):
                await asker.ask(Question(), role="coder", name="other")
    assert len(list(folder.iterdir())) == 3
    recorded = RecordedModel(folder)
    with open_run(tmp_path / "again") as store:
        asker = asker_of(recorded, store)
        again = await asker.ask(Question(), role="coder", name="write:1", node=2)
        with pytest.raises(ModelRefused, match="too long"):
            await asker.ask(Question(), role="coder", name="other")
        assert [c.step for c in calls(store)] == ["2/write:1/0", "2/write:1/1", "0/other/0"]
        with pytest.raises(ModelMisconfigured, match="has no answer for step 0/unheard/0"):
            await asker.ask(Question(), role="coder", name="unheard")
    assert live == again
    assert asker.totals == Totals(4, 200, 0, 40, 240, 0.0)


async def test_key_is_in_no_database_and_no_recording(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        echoed = request.headers["authorization"]
        return Reply(f'{{"value": 7, "said": "{echoed}"}}')

    with ScriptedEndpoint(script) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store, recorder=RecordingWriter(tmp_path / "recording"))
            await asker.ask(Question(), role="coder", name="a")
        (call,) = calls(store)
        assert KEY not in store.blob(call.answer_sha).decode()
    assert all(KEY.encode() not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())


async def test_each_call_that_is_made_is_timed(tmp_path: Path) -> None:
    spans: list[str] = []

    @contextmanager
    def measured() -> Iterator[None]:
        spans.append("in")
        yield
        spans.append("out")

    with ScriptedEndpoint([GOOD]) as endpoint, open_run(tmp_path) as store:
        async with model_at(endpoint.url) as model:
            asker = asker_of(model, store, timed=measured)
            for _ in range(2):
                await asker.ask(Question(), role="coder", name="a")
    assert spans == ["in", "out"]
