"""Levels and reservations: nothing exceeds a cap, whatever the interleaving; who must wait waits, and no longer."""

import asyncio
import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level, Reservation, unbounded
from bot.budgets.settings import Caps
from state.errors import BudgetExceeded


async def test_what_is_spent_at_the_run_counts_at_all_levels_around_it() -> None:
    day = Level("day", Caps(money=10), amounts={Kind.MONEY: 4.0})
    competition = Level("competition", Caps(money=5), amounts={Kind.MONEY: 1.0}, around=day)
    run = Level("run", Caps(), around=competition)
    async with run.reserve(money=0.5, calls=1) as held:
        assert (day.remaining[Kind.MONEY], competition.remaining[Kind.MONEY]) == (5.5, 3.5)
        held.spend(money=0.25, calls=1, tokens=420)
    assert (run.usage[Kind.MONEY], competition.usage[Kind.MONEY], day.usage[Kind.MONEY]) == (0.25, 1.25, 4.25)
    assert day.usage[Kind.TOKENS] == 420
    assert run.remaining[Kind.MONEY] is None
    assert competition.remaining[Kind.MONEY] == 3.75


async def test_a_refusal_names_the_level_its_cap_what_is_spent_and_what_was_wanted_and_holds_nothing_anywhere() -> None:
    day = Level("day", Caps(money=1), amounts={Kind.MONEY: 0.75})
    run = Level("run", Caps(money=9), around=day)
    spent = r"^the day's cap on money has been reached: 0\.7500 USD of 1\.0000 USD spent"
    sentence = spent + r", and the next step may need 0\.5000 USD$"
    with pytest.raises(BudgetExceeded, match=sentence):
        await _enter(run, 0.5)
    assert run.amount_reserved(Kind.MONEY) == day.amount_reserved(Kind.MONEY) == 0
    assert re.match(sentence, str(run.refusal(money=0.5)))
    assert run.refusal(money=0.25) is None


async def test_the_share_that_is_left_is_the_least_of_all_caps_that_are_not_renewed() -> None:
    today = date(2026, 1, 1)
    day = Level("day", Caps(money=2), amounts={Kind.MONEY: 1.9}, period=lambda: today)
    competition = Level("competition", Caps(money=8), amounts={Kind.MONEY: 4.0}, around=day)
    run = Level("run", Caps(tokens=100), around=competition)
    assert unbounded().share_left(Kind.MONEY) is None
    assert day.share_left(Kind.MONEY) is None, "tomorrow it is whole again"
    assert run.share_left(Kind.MONEY, Kind.TOKENS) == 0.5
    async with run.reserve(tokens=80) as held:
        assert run.share_left(Kind.MONEY, Kind.TOKENS) == 0.5, "what is held back may come back"
        held.spend(tokens=80)
    assert run.share_left(Kind.MONEY, Kind.TOKENS) == pytest.approx(0.2)
    run.spend(tokens=40)
    assert run.share_left(Kind.MONEY, Kind.TOKENS) == 0.0
    assert Level("run", Caps(money=0)).share_left(Kind.MONEY) == 0.0


@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
async def test_what_was_not_spent_comes_back_however_the_work_ends(error: type[BaseException]) -> None:
    level = Level("run", Caps(money=1))
    with pytest.raises(error):
        async with level.reserve(money=1) as held:
            held.spend(money=0.25)
            raise error
    assert level.remaining[Kind.MONEY] == 0.75


async def test_more_than_was_reserved_is_counted_as_it_is() -> None:
    level = Level("run", Caps(tokens=100))
    async with level.reserve(tokens=60) as held:
        held.spend(tokens=150)
    assert level.usage[Kind.TOKENS] == 150
    assert level.remaining[Kind.TOKENS] == 0


async def test_what_is_known_only_afterwards_stops_everything_when_its_cap_is_reached() -> None:
    wall = [5.0]
    level = Level("run", Caps(wall_seconds=10, disk_bytes=1000), measures={Kind.WALL_SECONDS: lambda: wall[0]})
    async with level.reserve(executions=1) as held:
        held.spend(disk_bytes=900)
    async with level.reserve(calls=1):
        wall[0] = 10.0
    with pytest.raises(BudgetExceeded, match="wall time has been reached: 10 seconds of 10 seconds spent, so nothing"):
        await _enter(level, calls=1)
    wall[0] = 5.0
    level.spend(disk_bytes=100)
    with pytest.raises(BudgetExceeded, match="disk space"):
        await _enter(level, calls=1)


async def test_a_cap_on_one_kind_stops_no_other() -> None:
    level = Level("run", Caps(money=1), amounts={Kind.MONEY: 1.0})
    async with level.reserve(executions=1, money=0) as held:
        held.spend(executions=1)
    assert level.usage[Kind.EXECUTIONS] == 1


async def test_a_new_day_starts_at_nothing_and_a_clock_put_back_renews_nothing() -> None:
    today = [date(2024, 5, 1)]
    day = Level("day", Caps(calls=3), amounts={Kind.CALLS: 3.0}, period=lambda: today[0])
    with pytest.raises(BudgetExceeded):
        await _enter(day, calls=1)
    today[0] = date(2024, 4, 30)
    assert day.usage[Kind.CALLS] == 3
    today[0] = date(2024, 5, 2)
    async with day.reserve(calls=1) as held:
        held.spend(calls=1)
    assert day.usage[Kind.CALLS] == 1


@pytest.mark.parametrize("wrong", [{"money": -1.0}, {"money": float("nan")}, {"moneys": 1.0}])
def test_what_is_no_amount_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        unbounded().refusal(**wrong)


async def test_a_reservation_waits_for_those_in_flight_and_is_let_in_when_they_come_back() -> None:
    level, order = Level("run", Caps(money=1)), []

    async def work(name: str, amount: float) -> None:
        async with level.reserve(money=amount) as held:
            order.append(name)
            held.spend(money=0.125)

    async with level.reserve(money=0.75) as held:
        waiting = [asyncio.create_task(work("big", 0.5)), asyncio.create_task(work("second", 0.375))]
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await work("fits", 0.25)
        assert order == ["fits"]
        held.spend(money=0.25)
    await asyncio.gather(*waiting)
    assert order == ["fits", "big", "second"]
    assert level.usage[Kind.MONEY] == 0.625
    assert level.amount_reserved(Kind.MONEY) == 0


async def test_who_waits_is_refused_as_soon_as_it_can_no_longer_fit() -> None:
    level = Level("run", Caps(money=1))
    async with level.reserve(money=0.75) as held:
        waiting = asyncio.create_task(_enter(level, 0.5))
        await asyncio.sleep(0)
        held.spend(money=0.625)
    with pytest.raises(BudgetExceeded, match=r"0\.6250 USD of 1\.0000 USD spent"):
        await waiting
    with pytest.raises(BudgetExceeded):
        await _enter(level, 0.5)


async def test_waiting_is_across_runs_of_one_day() -> None:
    day = Level("day", Caps(calls=1))
    one, two = Level("run", Caps(), around=day), Level("run", Caps(), around=day)
    async with one.reserve(calls=1):
        waiting = asyncio.create_task(_enter(two, calls=1))
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


async def test_who_is_cancelled_while_waiting_or_just_after_being_let_in_holds_nothing() -> None:
    level = Level("run", Caps(money=1))
    async with level.reserve(money=1):
        early, late = (asyncio.create_task(_enter(level, 1.0)) for _ in range(2))
        await asyncio.sleep(0)
        early.cancel()
        await asyncio.sleep(0)
    late.cancel()  # it was let in, but has not gone on yet
    done = await asyncio.gather(early, late, return_exceptions=True)
    assert [type(one) for one in done] == [asyncio.CancelledError] * 2
    assert level.remaining[Kind.MONEY] == 1


async def _enter(level: Level, money: float = 0.0, calls: float = 0.0) -> None:
    async with level.reserve(money=money, calls=calls):
        pass


_amount = st.integers(0, 60)
_work = st.tuples(_amount, st.lists(_amount, max_size=3), st.integers(0, 4), st.booleans())


@settings(max_examples=60)
@given(caps=st.tuples(*[st.none() | st.integers(0, 150)] * 3), works=st.lists(_work, max_size=12), honest=st.booleans())
def test_whatever_the_interleaving_spent_and_held_never_exceed_a_cap(
    caps: tuple[int | None, int | None, int | None], works: list[tuple[int, list[int], int, bool]], honest: bool
) -> None:
    """Reservations in tasks, some dishonest: a cap is then exceeded by no more than what exceeded its reservation."""
    day = Level("day", Caps(tokens=caps[0]))
    run = Level("run", Caps(tokens=caps[2]), around=Level("competition", Caps(tokens=caps[1]), around=day))
    excess = 0.0

    def check() -> None:
        for level in run.levels:
            cap = level.caps.cap_of(Kind.TOKENS)
            assert cap is None or level.amount_spent(Kind.TOKENS) + level.amount_reserved(Kind.TOKENS) <= cap + excess

    async def work(amount: int, spending: list[int], pauses: int, fails: bool) -> None:
        nonlocal excess
        async with run.reserve(tokens=amount) as held:
            for wanted in spending:
                part = min(wanted, int(held.left.get(Kind.TOKENS, 0))) if honest else wanted
                excess += part - min(part, held.left.get(Kind.TOKENS, 0.0))
                held.spend(tokens=part)
                check()
                for _ in range(pauses):
                    await asyncio.sleep(0)
            if fails:
                raise ValueError

    async def all_of_them() -> list[object]:
        async with asyncio.timeout(20):
            return await asyncio.gather(*(work(*one) for one in works), return_exceptions=True)

    ends = asyncio.run(all_of_them())
    check()
    assert all(end is None or isinstance(end, BudgetExceeded | ValueError) for end in ends)
    assert all(level.amount_reserved(Kind.TOKENS) == 0 for level in run.levels)
    assert len({level.amount_spent(Kind.TOKENS) for level in run.levels}) == 1


async def test_held_is_what_is_left_of_a_reservation() -> None:
    level = Level("run", Caps(tokens=10))
    async with level.reserve(tokens=10) as held:
        assert isinstance(held, Reservation)
        held.spend(tokens=4)
        assert (level.amount_spent(Kind.TOKENS), level.amount_reserved(Kind.TOKENS), level.remaining[Kind.TOKENS]) == (
            4,
            6,
            0,
        )
    assert level.remaining[Kind.TOKENS] == 6
