"""Accounts: what a day, a competition and a run have spent of what they may, from the ledger of all runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import Any, Literal

from sqlalchemy import case, func
from sqlmodel import Session, col, select

from bot.budgets.figures import Figure, figure
from bot.budgets.kinds import Kind
from bot.budgets.opening import used
from bot.budgets.settings import BudgetSettings
from bot.daemon.settings import CompetitionSettings
from state.ledgers import Ledger
from state.tables import Event, LedgerEntry, Run

__all__ = ["Account", "Allowance", "Level", "accounts", "midnight"]

Level = Literal["day", "competition", "competition day", "run"]


@dataclass(frozen=True)
class Allowance:
    """What may be spent, as it is configured."""

    budget: BudgetSettings = field(default_factory=BudgetSettings)
    competitions: Mapping[str, CompetitionSettings] = field(default_factory=dict)

    def caps(self, level: Level, competition: str) -> dict[Kind, float | None]:
        """Return the cap of each kind, None where there is none; of two that hold the lower one."""
        levels = {"day": self.budget.day, "competition": self.budget.competition, "run": self.budget.run}
        caps = {kind: levels[level].of(kind) if level in levels else None for kind in Kind}
        own = self.competitions.get(competition)
        if own is not None and level == "competition":
            caps[Kind.MONEY] = _lower(caps[Kind.MONEY], own.max_cost)
            caps[Kind.SUBMISSIONS] = _lower(caps[Kind.SUBMISSIONS], own.max_submissions)
        if own is not None and level == "competition day":
            caps[Kind.MONEY], caps[Kind.SUBMISSIONS] = own.max_cost_per_day, own.submissions_per_day
        return caps


@dataclass(frozen=True)
class Account:
    """What one level has spent, by kind."""

    level: Level
    name: str
    """`day`, a competition's, or a run's id."""
    competition: str
    """Empty: all of them."""
    period: str
    """Such as `2026-11-20`; empty: all time."""
    figures: Mapping[Kind, Figure]
    unpriced: int
    """Calls whose price is unknown, so that money is more than is said."""


def midnight(now: datetime) -> datetime:
    """Return when the day (UTC) began."""
    return datetime.combine(now.date(), time(), now.tzinfo)


def accounts(session: Session, allowance: Allowance, now: datetime) -> list[Account]:
    """Return the account of the day, then of each competition, its day and its runs; what nothing was spent on is there too.

    Args:
        session: one state of the database.
        allowance: what may be spent.
        now: aware UTC; which day it is.
    """
    start, runs = midnight(now), session.exec(select(Run).order_by(col(Run.created_at))).all()
    ever, today = _ledgers(session, runs, start)
    date = start.date().isoformat()
    found = [_account(allowance, "day", "day", "", date, list(today.values()))]
    for slug in sorted({*allowance.competitions, *(run.competition for run in runs)}):
        own = [run.id for run in runs if run.competition == slug]
        found.append(_account(allowance, "competition", slug, slug, "", [ever[id] for id in own]))
        found.append(_account(allowance, "competition day", slug, slug, date, [today[id] for id in own]))
        found += [_account(allowance, "run", id, slug, "", [ever[id]]) for id in own]
    return found


def _account(
    allowance: Allowance, level: Level, name: str, competition: str, period: str, spent: list[Ledger]
) -> Account:
    caps, amounts = allowance.caps(level, competition), [used(ledger) for ledger in spent]
    figures = {kind: figure(kind, caps[kind], sum(one[kind] for one in amounts), None) for kind in Kind}
    return Account(level, name, competition, period, figures, sum(ledger.unpriced for ledger in spent))


def _ledgers(session: Session, runs: Any, start: datetime) -> tuple[dict[str, Ledger], dict[str, Ledger]]:
    """Return the ledgers of runs, of all time and since a time, from one look at the entries."""
    ever = {run.id: Ledger(run.id, run.competition, wall_seconds=_wall(session, run, None)) for run in runs}
    today = {run.id: Ledger(run.id, run.competition, wall_seconds=_wall(session, run, start)) for run in runs}
    tokens = col(LedgerEntry.prompt_tokens) + col(LedgerEntry.completion_tokens)
    unpriced = case(((tokens > 0) & col(LedgerEntry.cost_usd).is_(None), 1), else_=0)
    is_today = case((col(LedgerEntry.at) >= start, 1), else_=0)
    query = select(  # type: ignore[call-overload]
        LedgerEntry.run_id,
        LedgerEntry.kind,
        is_today.label("today"),
        func.count(),
        func.sum(tokens),
        func.coalesce(func.sum(LedgerEntry.cost_usd), 0.0),
        func.sum(unpriced),
        func.coalesce(func.sum(LedgerEntry.amount), 0.0),
    ).group_by(LedgerEntry.run_id, LedgerEntry.kind, "today")
    for run_id, kind, of_today, *sums in session.execute(query):
        for ledgers in (ever, today) if of_today else (ever,):
            if run_id in ledgers:
                ledgers[run_id] = _added(ledgers[run_id], kind, *sums)
    return ever, today


def _added(ledger: Ledger, kind: str, entries: int, tokens: int, cost: float, unpriced: int, amount: float) -> Ledger:
    is_call = kind == "tokens"
    return replace(
        ledger,
        calls=ledger.calls + entries * is_call,
        tokens=ledger.tokens + tokens * is_call,
        cost_usd=ledger.cost_usd + cost,
        unpriced=ledger.unpriced + unpriced * is_call,
        amounts={**ledger.amounts, kind: ledger.amounts.get(kind, 0.0) + amount},
    )


def _wall(session: Session, run: Run, since: datetime | None) -> float:
    """Return the seconds in which somebody worked on a run up to its last event, as `state.ledgers` counts them."""
    last = session.exec(select(Event.at).where(Event.run_id == run.id).order_by(col(Event.seq).desc()).limit(1)).first()
    start = run.created_at if since is None else max(since, run.created_at)
    if last is None or last <= start:
        return 0.0
    away = 0.0
    for resumed, seconds in run.gaps:
        end = datetime.fromisoformat(resumed)
        begin = max(start, end - timedelta(seconds=seconds))
        away += max(0.0, (min(end, last) - begin).total_seconds())
    return max(0.0, (last - start).total_seconds() - away)


def _lower(one: float | None, other: float | None) -> float | None:
    return min((cap for cap in (one, other) if cap is not None), default=None)
