"""A run's budget takes earlier spending from the ledgers: its own, its competition's, and this day's."""

from datetime import timedelta
from pathlib import Path

from bot.budgets.figures import figures, project, share
from bot.budgets.kinds import Kind
from bot.budgets.levels import Level
from bot.budgets.run_budget import open_budget, wall_limit
from bot.budgets.settings import BudgetSettings, Caps
from state.progress import end_run
from state.spending import charge
from state.store import Store
from tests.state.conftest import START, StandingClock
from tests.state.rows import create_run

NOW = START + timedelta(days=10, hours=12)


def a_run(out: Path, run: str, competition: str, at: object = NOW, money: float = 1.0) -> Path:
    """Write a run that spent money, one execution and a minute, and return its database."""
    clock = StandingClock(at)  # type: ignore[arg-type]
    with Store.open(out / run / "state.db", clock) as store:
        with store.write() as tx:
            create_run(tx, run, competition=competition, agent="a", model="m", seed=1, cutoff=None)
        clock.pass_by(60)
        with store.write() as tx:
            charge(tx, run, "tokens", prompt_tokens=10, cost_usd=money)
            charge(tx, run, "execution", seconds=1.0, amount=1)
            end_run(tx, run, "stopped")
    return out / run / "state.db"


def opened(
    out: Path,
    settings: BudgetSettings,
    sentences: list[str],
    clock: StandingClock | None = None,
    run: Caps | None = None,
) -> Level:
    """Open the budget of the run `own` on wine, which has now gone on for 100 s in all."""
    database, clock = out / "own" / "state.db", clock or StandingClock(NOW)
    return open_budget(run or Caps(), settings, "own", "wine", database, clock, lambda: 100.0, sentences.append)


def test_each_level_starts_with_what_was_spent_there_before(tmp_path: Path) -> None:
    a_run(tmp_path, "own", "wine", money=1.0)
    a_run(tmp_path, "same-day", "wine", money=2.0)
    a_run(tmp_path, "yesterday", "wine", NOW - timedelta(days=1), money=4.0)
    a_run(tmp_path, "other", "beer", money=8.0)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "state.db").write_bytes(b"garbage, garbage, garbage, garbage, garbage, garbage" * 4)
    sentences: list[str] = []
    run = opened(tmp_path, BudgetSettings(), sentences)
    _, competition, day = run.levels
    money = [level.usage[Kind.MONEY] for level in run.levels]
    wall = [level.usage[Kind.WALL_SECONDS] for level in run.levels]
    assert money == [1, 7, 11]
    assert wall == [100, 220, 220]
    assert (competition.usage[Kind.EXECUTIONS], day.usage[Kind.CALLS]) == (3, 3)
    (sentence,) = sentences
    assert "spending is missing" in sentence
    assert "broken" in sentence


def test_a_cap_of_the_day_holds_for_what_other_runs_spent_and_ends_with_the_day(tmp_path: Path) -> None:
    a_run(tmp_path, "own", "wine", money=0.0)
    a_run(tmp_path, "other", "beer", money=4.5)
    clock = StandingClock(NOW)
    run = opened(tmp_path, BudgetSettings(day=Caps(money=5)), [], clock)
    assert "the day's cap on money" in str(run.refusal(money=1))
    clock.pass_by(86_400 / 2 + 20)
    assert run.refusal(money=1) is None
    assert run.levels[-1].usage[Kind.WALL_SECONDS] == 20


def test_a_run_ends_in_order_before_a_cap_on_wall_time(tmp_path: Path) -> None:
    a_run(tmp_path, "own", "wine")
    run = opened(tmp_path, BudgetSettings(day=Caps(wall_seconds=150)), [], run=Caps(wall_seconds=300))
    assert wall_limit(run, 3600) == 150
    assert wall_limit(run, 120) == 120
    assert wall_limit(opened(tmp_path, BudgetSettings(), []), 3600) == 3600


def test_figures_tell_what_is_left_and_what_it_comes_to(tmp_path: Path) -> None:
    a_run(tmp_path, "own", "wine", money=1.0)
    a_run(tmp_path, "other", "wine", money=2.0)
    run = opened(tmp_path, BudgetSettings(competition=Caps(money=10)), [])
    found = figures(run, share(nodes=5, steps=20, wall=100.0, seconds=3600.0))
    assert list(found) == ["run", "competition", "day"]
    assert found["run"]["money"] == {"cap": None, "spent": 1, "left": None, "projected": 4}
    assert found["competition"]["money"] == {"cap": 10, "spent": 3, "left": 7, "projected": 6}
    assert found["run"]["submissions"]["projected"] is None


def test_nothing_is_projected_before_anything_is_done_or_after_the_end() -> None:
    assert project(Kind.MONEY, 1.0, share(0, 20, 10.0, 100.0)) is None
    assert project(Kind.MONEY, 1.0, None) is None
    assert share(3, None, 50.0, 100.0) == 0.5
    assert share(30, 20, 0.0, 100.0) == 1.0


def test_of_the_caps_of_all_levels_the_tightest_holds() -> None:
    of_all = BudgetSettings(competition=Caps(tokens=1), day=Caps(money=2.5))
    assert [of_all.money(Caps(money=money)) for money in (5.0, 1.0, None)] == [2.5, 1.0, 2.5]
    assert BudgetSettings().money(Caps()) is None
