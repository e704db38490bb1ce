"""What live runs may spend."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.budgets.kinds import Kind
from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from bot.live.budget import open_day, open_run
from state.clock import FastClock
from state.spending import charge
from state.store import Store
from tests.state.rows import create_run

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


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
        spent = {level.name: level.spent(Kind.MONEY) for level in run.levels}
    assert spent == {"run": 4.0, "competition a": 4.0, "day of a": 1.0, "day": 3.0}


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
        assert refused is not None and "day of a's cap" in str(refused)
        assert refused.renews
        clock.start += timedelta(days=1)
        assert run.refusal(money=1.0) is None
