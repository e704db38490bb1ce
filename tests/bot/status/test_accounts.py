"""Accounts: the ledgers' figures, by level and day, beside the caps that hold."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.budgets.kinds import Kind
from bot.budgets.run_budget import total
from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from bot.status.accounts import Account, Allowance, accounts
from state.clock import midnight
from state.ledgers import read_ledger, read_only
from state.progress import resume_run
from state.spending import charge
from state.store import Store
from tests.bot.status.parts import NOMAD, NOW, RUN, SPOOKY, busy, opened
from tests.state.conftest import StandingClock

ALLOWANCE = Allowance(
    BudgetSettings(competition=Caps(money=3.0), day=Caps(money=2.0)),
    {
        SPOOKY: CompetitionSettings(
            max_cost=5.0, max_cost_per_day=1.0, max_submissions=9, submissions_per_day=2, budget=Caps(tokens=1000)
        ),
        NOMAD: CompetitionSettings(max_cost=1.0),
    },
)


def found(folder: Path, clock: StandingClock) -> dict[tuple[str, str], Account]:
    with opened(folder, clock) as store, store.read() as session:
        return {(one.level, one.name): one for one in accounts(session, ALLOWANCE, clock.now())}


@pytest.mark.integration
def test_each_level_has_its_own_and_the_lower_of_two_caps(tmp_path: Path) -> None:
    accounts_found = found(tmp_path, busy(tmp_path))
    money = {name: (one.figures[Kind.MONEY].spent, one.figures[Kind.MONEY].cap) for name, one in accounts_found.items()}
    assert money == {
        ("day", "day"): (0.25, 2.0),
        ("competition", SPOOKY): (1.0, 3.0),
        ("competition day", SPOOKY): (0.25, 1.0),
        ("run", RUN): (1.0, None),
        ("competition", NOMAD): (0.0, 1.0),
        ("competition day", NOMAD): (0.0, None),
    }
    assert accounts_found["day", "day"].period == NOW.date().isoformat()
    assert accounts_found["competition", SPOOKY].period == ""
    assert accounts_found["competition", SPOOKY].figures[Kind.SUBMISSIONS].cap == 9
    assert accounts_found["competition day", SPOOKY].figures[Kind.SUBMISSIONS].cap == 2
    assert accounts_found["run", RUN].figures[Kind.TOKENS].spent == 121_000
    assert accounts_found["run", RUN].figures[Kind.TOKENS].left == 0
    assert accounts_found["day", "day"].unpriced == 1


def test_they_are_what_the_ledgers_say_kind_by_kind_whatever_a_run_was_away(tmp_path: Path) -> None:
    clock = busy(tmp_path)
    for hours in (3, 5):
        clock.time = NOW + timedelta(hours=hours)
        with opened(tmp_path, clock) as store:
            with store.write() as tx:
                resume_run(tx, RUN)
            clock.pass_by(1_000)
            with store.write() as tx:
                for kind in ("gpu", "disk", "submission"):
                    charge(tx, RUN, kind, seconds=7.0, amount=11.0)
    clock.time = NOW + timedelta(hours=20)
    accounts_found = found(tmp_path, clock)
    with read_only(tmp_path / "bot.db") as session:
        (ever,), (today,) = read_ledger(session), read_ledger(session, midnight(clock.now()))
    assert {kind: one.spent for kind, one in accounts_found["run", RUN].figures.items()} == total([ever])
    assert {kind: one.spent for kind, one in accounts_found["day", "day"].figures.items()} == total([today])
    assert total([ever])[Kind.DISK_BYTES] == 22


def test_wall_time_is_counted_and_bounds_no_daemon(tmp_path: Path) -> None:
    clock = busy(tmp_path)
    caps = Caps(wall_seconds=1.0)
    with opened(tmp_path, clock) as store, store.read() as session:
        found = accounts(session, Allowance(BudgetSettings(day=caps, competition=caps)), clock.now())
    assert {one.figures[Kind.WALL_SECONDS].cap for one in found} == {None}
    assert found[0].figures[Kind.WALL_SECONDS].spent > 0


def test_without_a_run_nothing_is_spent(tmp_path: Path) -> None:
    clock = StandingClock(NOW)
    with Store.open(tmp_path / "bot.db", clock) as store, store.read() as session:
        (day,) = accounts(session, Allowance(), clock.now())
    assert (day.level, {one.spent for one in day.figures.values()}) == ("day", {0.0})
