"""Accounts: what a day, a competition and a run have spent of their caps, from the ledger of all runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar

from sqlmodel import Session, col, select

from bot.budgets.figures import Figure, figure
from bot.budgets.kinds import Kind
from bot.budgets.run_budget import total
from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from state.clock import midnight
from state.ledgers import Ledger, read_ledger
from state.tables import Run

T = TypeVar("T", int, float)
Level = Literal["day", "competition", "competition day", "run"]


@dataclass(frozen=True)
class Allowance:
    """What may be spent, as it is configured."""

    budget: BudgetSettings = field(default_factory=BudgetSettings)
    competitions: Mapping[str, CompetitionSettings] = field(default_factory=dict)

    def caps(self, level: Level, competition: str) -> Caps:
        """Return the caps of a level; where two hold, the lower one.

        Wall time has no cap: it does not measure a daemon, whose clock's days may be shorter than the machine's.
        """
        configured = self.competitions.get(competition)
        levels = {
            "day": self.budget.day,
            "competition": self.budget.competition,
            "run": configured.budget if configured else Caps(),
        }
        caps = levels.get(level, Caps())
        money, submissions = caps.money, caps.submissions
        if configured is not None and level == "competition":
            money, submissions = (_lower(money, configured.max_cost), _lower(submissions, configured.max_submissions))
        if configured is not None and level == "competition day":
            money, submissions = configured.max_cost_per_day, configured.submissions_per_day
        return caps.model_copy(update={"money": money, "submissions": submissions, "wall_seconds": None})


@dataclass(frozen=True)
class Account:
    """What one level has spent, by kind."""

    level: Level
    name: str
    """`day`, a competition's name, or a run's id."""
    competition: str
    """Empty: all of them."""
    period: str
    """Such as `2026-11-20`; empty: all time."""
    figures: Mapping[Kind, Figure]
    unpriced: int
    """Calls whose price is unknown: more money was spent than the figure shows."""


def accounts(session: Session, allowance: Allowance, now: datetime) -> list[Account]:
    """Return the account of the day (UTC), then of each competition, its day and its runs, also without spending."""
    start, runs = midnight(now), session.exec(select(Run).order_by(col(Run.created_at))).all()
    ever, today = ({ledger.run_id: ledger for ledger in read_ledger(session, since)} for since in (None, start))
    date = start.date().isoformat()
    account_rows = [_account(allowance, "day", "day", "", date, list(today.values()))]
    for slug in sorted({*allowance.competitions, *(run.competition for run in runs)}):
        run_ids = [run.id for run in runs if run.competition == slug]
        account_rows.append(_account(allowance, "competition", slug, slug, "", [ever[id] for id in run_ids]))
        account_rows.append(_account(allowance, "competition day", slug, slug, date, [today[id] for id in run_ids]))
        account_rows += [_account(allowance, "run", id, slug, "", [ever[id]]) for id in run_ids]
    return account_rows


def _account(
    allowance: Allowance, level: Level, name: str, competition: str, period: str, ledgers: list[Ledger]
) -> Account:
    caps, amounts = allowance.caps(level, competition), total(ledgers)
    figures = {kind: figure(caps.cap_of(kind), amounts[kind]) for kind in Kind}
    return Account(level, name, competition, period, figures, sum(ledger.unpriced for ledger in ledgers))


def _lower(first: T | None, second: T | None) -> T | None:
    return min((cap for cap in (first, second) if cap is not None), default=None)
