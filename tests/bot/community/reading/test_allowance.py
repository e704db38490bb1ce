"""The share of a run that reading, ideas and plans may take."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.community.reading.allowance import allowance, covered, may_read
from bot.community.reading.batches import read_batch, read_news
from bot.community.settings import ReadingSettings
from bot.engine.context import RunContext
from state.spending import Spending, charge
from tests.bot.community.reading.test_batches import Analyst, a_topic, community, post
from tests.bot.engine.parts import RUN


def spend(context: RunContext, role: str, tokens: int, cached: int = 0, seconds: float = 0.0) -> None:
    with context.store.write() as tx:
        charge(tx, RUN, "tokens", role=role, prompt_tokens=tokens, cached_tokens=cached, seconds=seconds)


def capped(context: RunContext, tokens: int) -> None:
    object.__setattr__(context, "spending", Level("run", Caps(tokens=tokens)))


async def test_a_tenth_of_the_tokens_that_a_run_may_use_is_for_reading_ideas_and_plans(tmp_path: Path) -> None:
    async with community(tmp_path, Analyst()) as (context, _):
        context.asker.calls._spent = Spending(completion_tokens=300_000)
        assert allowance(context).tokens == 30_000
        capped(context, 200_000)
        spend(context, "coder", 150_000)
        assert allowance(context).tokens == 20_000
        for role in ("analyst", "proposer", "coordinator"):
            spend(context, role, 7_000, cached=1_000)
        assert allowance(context).tokens == 2_000
        assert may_read(context)
        spend(context, "analyst", 2_000)
        assert not may_read(context)


@pytest.mark.parametrize(("minutes", "tokens"), [(10, 4_000), (60, 5_400), (600, 13_500)])
async def test_a_first_batch_is_as_large_as_the_share_of_what_a_run_of_its_length_is_expected_to_use(
    minutes: float, tokens: int, tmp_path: Path
) -> None:
    async with community(tmp_path, Analyst(), settings=ReadingSettings(first_tokens=9_000)) as (context, _):
        object.__setattr__(context.budget, "seconds", 60.0 * minutes)
        assert allowance(context).tokens == pytest.approx(tokens)
        spend(context, "analyst", tokens - 1_000)
        assert not may_read(context)


async def test_a_share_of_all_has_no_limit_of_tokens(tmp_path: Path) -> None:
    async with community(tmp_path, Analyst(), settings=ReadingSettings(share=1.0)) as (context, _):
        spend(context, "analyst", 50_000)
        assert may_read(context) and allowance(context).tokens == math.inf


async def test_time_counts_too_and_that_of_calls_side_by_side_once(tmp_path: Path) -> None:
    async with community(tmp_path, Analyst()) as (context, _):
        assert allowance(context).seconds == 60.0
        for _ in range(3):
            spend(context, "analyst", 1, seconds=50.0)
        assert allowance(context).seconds == pytest.approx(10.0, abs=2.0)
        spend(context, "coordinator", 1, seconds=70.0)
        assert not may_read(context)


async def test_in_the_last_minutes_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with community(tmp_path, Analyst()) as (context, _):
        monkeypatch.setattr(type(context.budget), "seconds_left", lambda budget: 119.0)
        assert context.budget.seconds == 600.0
        assert not may_read(context)


async def test_once_it_is_used_up_nothing_more_is_read_and_that_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    async with community(tmp_path, model := Analyst(), 30, ReadingSettings(first_tokens=3_000)) as (context, clock):
        object.__setattr__(context, "say", said.append)
        assert await read_batch(context, 1)
        asked, told = len(model.asked), len(said)
        spend(context, "proposer", 30_000)
        clock.move(clock.time_at(0.7))
        post(context, *a_topic(clock, 50, days=20))
        assert await read_batch(context, 2) == await read_batch(context, 3) == await read_news(context, 1) == []
        assert (len(model.asked), len(said)) == (asked, told + 1)
        assert "10%" in said[-1]


async def test_whoever_wants_it_otherwise_sets_another_share(tmp_path: Path) -> None:
    async with community(tmp_path, Analyst(), settings=ReadingSettings(share=1.0)) as (context, _):
        context.asker.calls._spent = Spending(completion_tokens=50_000)
        spend(context, "analyst", 40_000)
        assert may_read(context)
    async with community(tmp_path / "none", model := Analyst(), settings=ReadingSettings(share=0.0)) as (context, _):
        assert await read_batch(context, 1) == [] and model.asked == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=9))
def test_spans_cover_each_second_once(drawn: list[tuple[int, int]]) -> None:
    seconds = {second for begin, length in drawn for second in range(begin, begin + length)}
    found = covered([(float(begin), float(begin + length)) for begin, length in drawn])
    assert math.isclose(found, len(seconds))
