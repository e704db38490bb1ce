"""The day's summary and notices of budgets: read from the database, and the same however often they are asked for."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from bot.notify.outbox import notify
from bot.notify.wording import render
from bot.status.accounts import Allowance
from bot.status.problems import end
from bot.status.summary import budget_notices, daily_summary
from state.progress import create_node, end_node
from state.spending import charge
from state.store import Store
from tests.bot.status.parts import NOMAD, NOW, RUN, SPOOKY, busy, opened
from tests.state.conftest import StandingClock

ALLOWANCE = Allowance(competitions={SPOOKY: CompetitionSettings(), NOMAD: CompetitionSettings()})
TODAY, YESTERDAY = NOW.date(), NOW.date() - timedelta(days=1)


@pytest.fixture
def clock(tmp_path: Path) -> StandingClock:
    return busy(tmp_path)


@pytest.fixture
def store(tmp_path: Path, clock: StandingClock) -> Store:
    return opened(tmp_path, clock)


def test_a_day_is_summed_up_competition_by_competition(store: Store) -> None:
    with store:
        found = daily_summary(store, TODAY, NOW, ALLOWANCE)
    nomad, spooky = found.facts["competitions"]
    assert spooky == {
        **{"name": SPOOKY, "rank": 84, "teams": 1241, "best_score": 0.4, "nodes": 2, "submissions": 1},
        **{"spent_usd": None, "days_left": pytest.approx(12.5), "scores": [0.5, 0.4]},
    }, "a call had no price"
    assert [nomad[name] for name in ("rank", "nodes", "spent_usd", "days_left")] == [None, 0, 0.0, None]
    assert found.facts["problems"] == [f"accept the rules of {NOMAD} on its page"]
    assert "unknown days left" in render(found)[1]


def test_a_day_that_is_over_is_as_it_was(store: Store, clock: StandingClock) -> None:
    with store:
        before = daily_summary(store, YESTERDAY, NOW, ALLOWANCE)
        clock.pass_by(3600)
        with store.write() as tx:
            create_node(tx, RUN, action="improve")
            end_node(tx, RUN, 6, "valid", score=0.1)
            charge(tx, RUN, "tokens", prompt_tokens=10, cost_usd=9.0)
        assert daily_summary(store, YESTERDAY, clock.now() + timedelta(days=5), ALLOWANCE) == before
    _, spooky = before.facts["competitions"]
    figures = ("rank", "best_score", "nodes", "submissions", "spent_usd")
    assert [spooky[name] for name in figures] == [400, 0.4, 3, 1, 0.75]


def test_a_problem_that_is_over_is_left_out_and_the_days_notice_goes_out_once(store: Store) -> None:
    with store:
        with store.write() as tx:
            end(tx, f"rules/{NOMAD}")
        found = daily_summary(store, TODAY, NOW, ALLOWANCE)
        assert found.facts["problems"] == []
        with store.write() as tx:
            first, second = notify(tx, found), notify(tx, found)
    assert first and not second


def test_a_competition_that_ended_before_the_day_is_left_out(store: Store) -> None:
    with store:
        ended = {"deadline": (NOW - timedelta(days=2)).isoformat()}
        allowance = Allowance(competitions={SPOOKY: CompetitionSettings.model_validate(ended)})
        assert daily_summary(store, TODAY, NOW, allowance).facts["competitions"] == []
        last = daily_summary(store, date(2026, 11, 18), NOW, allowance)
    assert [(one["name"], one["days_left"]) for one in last.facts["competitions"]] == [(SPOOKY, 0.0)]


def test_each_share_of_each_cap_is_a_notice_once(store: Store) -> None:
    caps = BudgetSettings(day=Caps(money=0.5), competition=Caps(money=1.2))
    own = CompetitionSettings(max_cost_per_day=0.3, budget=Caps(tokens=100_000, executions=100))
    allowance = Allowance(caps, {SPOOKY: own})
    with store:
        found = budget_notices(store, allowance, NOW)
        assert [tuple(one.facts[name] for name in ("level", "period", "what", "share")) for one in found] == [
            ("day", "2026-11-20", "money", 50),
            (SPOOKY, "", "money", 50),
            (SPOOKY, "", "money", 80),
            (SPOOKY, "2026-11-20", "money", 50),
            (SPOOKY, "2026-11-20", "money", 80),
            (RUN, "", "tokens", 50),
            (RUN, "", "tokens", 80),
            (RUN, "", "tokens", 100),
        ]
        assert len({one.key for one in found}) == len(found)
        assert budget_notices(store, allowance, NOW) == found, "asking records nothing"
        with store.write() as tx:
            for one in found:
                notify(tx, one)
        assert budget_notices(store, allowance, NOW) == []
        with store.write() as tx:
            charge(tx, RUN, "tokens", prompt_tokens=10, cost_usd=0.15)
        found = budget_notices(store, allowance, NOW)
        assert [(one.facts["level"], one.facts["share"]) for one in found] == [("day", 80), (SPOOKY, 100)]


def test_a_new_day_begins_at_nothing(store: Store) -> None:
    allowance = Allowance(BudgetSettings(day=Caps(money=0.3)))
    with store:
        assert [one.facts["share"] for one in budget_notices(store, allowance, NOW)] == [50, 80]
        assert budget_notices(store, allowance, NOW + timedelta(days=1)) == []


def test_an_unspent_cap_of_zero_is_no_news_nor_is_a_days_number_of_files_used_up(store: Store) -> None:
    allowance = Allowance(competitions={SPOOKY: CompetitionSettings(submissions_per_day=1, budget=Caps(gpu_seconds=0))})
    with store:
        with store.write() as tx:
            charge(tx, RUN, "submission", amount=1)
        assert budget_notices(store, allowance, NOW) == []
        with store.write() as tx:
            charge(tx, RUN, "gpu", seconds=1.0, amount=1.0)
        assert [one.facts["share"] for one in budget_notices(store, allowance, NOW)] == [50, 80, 100]
