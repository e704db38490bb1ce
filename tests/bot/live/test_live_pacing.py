"""When a live search may begin a node, and what live runs may spend."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.budgets.kinds import Kind
from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from bot.live.budget import open_day, open_run
from bot.live.slots import LivePacing, Slots
from state.clock import FastClock
from state.errors import BudgetExceeded
from state.progress import create_node
from state.spending import charge
from state.store import Store
from tests.state.rows import create_run

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def turns(store: Store, *, per_day: int = 3, labs: int | None = None, paused: bool = False) -> LivePacing:
    with store.write() as tx:
        create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=None)
    slots = Slots(2)
    slots.join("c", lambda: 1.0)
    return LivePacing(
        slots, "c", store, "r", store.clock, per_day, labs, is_paused=lambda: paused, on_node_ended=lambda: None
    )


def begin(store: Store, count: int, draft: str | None = None) -> None:
    for _ in range(count):
        with store.write() as tx:
            create_node(tx, "r", action="draft", draft_id=draft)


def test_a_day_has_so_many_nodes_and_the_next_day_has_them_again(tmp_path: Path):
    clock = FastClock(NOON, 3600.0)
    with Store.open(tmp_path / "bot.db", clock) as store:
        mine = turns(store)
        assert mine.free(0) == 2
        begin(store, 2)
        assert mine.free(0) == 1
        begin(store, 1)
        assert mine.free(0) == 0
        assert mine.more_later()
        clock.start += timedelta(days=1)
        assert mine.free(0) == 2


def test_a_day_has_so_many_labs_whatever_they_score_and_a_lab_counts_on_the_day_that_it_opened(tmp_path: Path):
    clock = FastClock(NOON, 1.0)
    with Store.open(tmp_path / "bot.db", clock) as store:
        mine = turns(store, per_day=48, labs=2)
        begin(store, 1)
        assert mine.free(0) == 2, "the baseline is no lab"
        begin(store, 3, draft="1")
        assert mine.free(0) == 1
        begin(store, 1, draft="2")
        assert mine.free(0) == 0
        assert mine.more_later()
        clock.start += timedelta(days=1)
        begin(store, 2, draft="2")
        assert mine.free(0) == 2


def test_nothing_is_begun_while_it_is_paused(tmp_path: Path):
    with Store.open(tmp_path / "bot.db", FastClock(NOON, 1.0)) as store:
        assert turns(store, paused=True).free(0) == 0


def test_news_are_from_after_the_last_node_that_was_begun(tmp_path: Path):
    with Store.open(tmp_path / "bot.db", FastClock(NOON, 1.0)) as store:
        mine = turns(store)
        assert mine.renewed_after() is None
        begin(store, 2)
        mine.renew()
        begin(store, 1)
        assert mine.renewed_after() == 2


async def test_a_cap_of_the_day_is_waited_for_without_the_slot_and_another_is_not(tmp_path: Path):
    with Store.open(tmp_path / "bot.db", FastClock(NOON, 1e6)) as store:
        mine = turns(store)
        mine.begin()
        assert not await mine.renews(BudgetExceeded("the run's cap has been reached"))
        waiting = asyncio.create_task(mine.renews(BudgetExceeded("the day's cap has been reached", renews=True)))
        await asyncio.sleep(0)
        assert mine.slots.shares["c"].running == 0
        assert await waiting
        assert store.clock.now() >= NOON + timedelta(hours=12)
        assert mine.slots.shares["c"].running == 1


async def test_a_new_day_is_a_change(tmp_path: Path):
    with Store.open(tmp_path / "bot.db", FastClock(NOON, 1e6)) as store:
        mine = turns(store)
        async with asyncio.timeout(10):
            await mine.changed()
        assert store.clock.now() >= NOON + timedelta(hours=12)


def spend(store: Store, run: str, money: float) -> None:
    with store.write() as tx:
        charge(tx, run, "tokens", role="coder", model="m", prompt_tokens=1, completion_tokens=1, cost_usd=money)


def made(path: Path) -> tuple[Store, FastClock]:
    """Return a store of two competitions, of which one spent 3 USD yesterday and 1 today, the other 2 today."""
    clock = FastClock(NOON - timedelta(days=1), 1e-6)
    store = Store.open(path / "bot.db", clock)
    with store.write() as tx:
        for slug in ("a", "b"):
            create_run(tx, f"{slug}-run", competition=slug, agent="comind", model="m", seed=0, cutoff=None)
    spend(store, "a-run", 3.0)
    clock.start = NOON
    spend(store, "a-run", 1.0)
    spend(store, "b-run", 2.0)
    return store, clock


def test_what_was_spent_before_counts_where_it_belongs(tmp_path: Path):
    store, clock = made(tmp_path)
    own = CompetitionSettings(max_cost=10.0, max_cost_per_day=5.0)
    with store:
        run = open_run(open_day(BudgetSettings(), store, clock), BudgetSettings(), own, store, "a-run", "a")
        spent = {level.name: level.amount_spent(Kind.MONEY) for level in run.levels}
    assert spent == {"run": 4.0, "competition a": 4.0, "a day": 1.0, "day": 3.0}


def test_the_tighter_of_two_caps_of_a_competition_holds(tmp_path: Path):
    store, clock = made(tmp_path)
    settings, own = BudgetSettings(competition=Caps(money=4.5)), CompetitionSettings(max_cost=100.0)
    with store:
        refused = open_run(open_day(settings, store, clock), settings, own, store, "a-run", "a").refusal(money=1.0)
    assert refused is not None and "competition a's cap" in str(refused)
    assert not refused.renews


def test_a_cap_of_the_day_is_one_that_has_room_again_tomorrow(tmp_path: Path):
    store, clock = made(tmp_path)
    own = CompetitionSettings(max_cost_per_day=1.5)
    with store:
        run = open_run(open_day(BudgetSettings(), store, clock), BudgetSettings(), own, store, "a-run", "a")
        refused = run.refusal(money=1.0)
        assert refused is not None and "the a day's cap" in str(refused)
        assert refused.renews
        clock.start += timedelta(days=1)
        assert run.refusal(money=1.0) is None
