"""The daily summary, and the notices of spent budgets; both only read the database."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import product
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.budgets.kinds import Kind, name, words
from bot.budgets.run_budget import total
from bot.engine.run_record import RunRecord
from bot.engine.tree import SEPARATE
from bot.notify import Notice
from bot.status.accounts import Allowance, accounts
from bot.status.problems import current
from bot.status.site import deadline, rank
from state.ledgers import read_ledger
from state.live import latest_runs
from state.store import Store
from state.submissions import may_be_there
from state.tables import Node, Notification, Run, Submission

_DAY = timedelta(days=1)
_SHARES = (50, 80, 100)
"""Percent of a cap at which the owner is notified."""


def daily_summary(store: Store, day: date, now: datetime, allowance: Allowance) -> Notice:
    """Return the summary of a day (UTC), or of its part until now, for each competition that was open.

    For a day that is over it always returns the same, except for the problems, which are the current ones.
    """
    start = datetime.combine(day, time(), UTC)
    end = min(now, start + _DAY)
    with store.read() as session:
        runs = latest_runs(session)
        slugs = sorted({*allowance.competitions, *runs})
        ends_at = {
            slug: deadline(session, slug, allowance.competitions.get(slug), runs.get(slug), end) for slug in slugs
        }
        days = [
            _day(session, slug, runs.get(slug), over, start, end)
            for slug, over in ends_at.items()
            if over is None or over >= start
        ]
        problems = [problem.sentence for problem in current(session)]
    return Notice("summary.daily", "", {"day": day, "competitions": days, "problems": problems})


def budget_notices(store: Store, allowance: Allowance, now: datetime) -> list[Notice]:
    """Return which shares of caps are spent and have no notice yet.

    A cap of zero counts only once something was spent. A day's number of submissions is no budget: using it up is the
    plan.
    """
    with store.read() as session:
        notices = []
        for account, kind in product(accounts(session, allowance, now), Kind):
            figure = account.figures[kind]
            is_daily_limit = (account.level, kind) == ("competition day", Kind.SUBMISSIONS)
            if figure.cap is None or figure.spent <= 0 or is_daily_limit:
                continue
            spent, cap = words(kind, figure.spent), words(kind, figure.cap)
            facts = {"level": account.name, "period": account.period, "what": name(kind), "spent": spent, "cap": cap}
            shares = [share for share in _SHARES if figure.spent * 100 >= figure.cap * share]
            notices += [Notice("budget.reached", "", {**facts, "share": share}) for share in shares]
        keys = [notice.key for notice in notices]
        known_keys = set(session.exec(select(Notification.key).where(col(Notification.key).in_(keys))))
    return [notice for notice in notices if notice.key not in known_keys]


def _day(
    session: Session, slug: str, run: Run | None, over: datetime | None, start: datetime, end: datetime
) -> dict[str, Any]:
    """Return one competition's day: what was created, sent and spent on it, and how it stood at its end."""
    standing = rank(session, slug, end)
    scores = () if run is None else RunRecord(session, run).best_over_time(end)
    nodes = select(func.count()).select_from(Node).join(Run, col(Run.id) == col(Node.run_id))
    nodes = nodes.where(Run.competition == slug, col(Node.action).not_in(SEPARATE))
    nodes = nodes.where(Node.created_at >= start, Node.created_at < end)
    rows = select(Submission).join(Run, col(Run.id) == col(Submission.run_id)).where(Run.competition == slug)
    times = [row.sent_at or row.at for row in session.exec(rows) if may_be_there(row)]
    ledgers = [ledger for ledger in read_ledger(session, start, end) if ledger.competition == slug]
    return {
        "name": slug,
        "rank": standing.rank,
        "teams": standing.teams,
        "best_score": scores[-1][1] if scores else None,
        "nodes": session.exec(nodes).one(),
        "submissions": sum(start <= sent_at < end for sent_at in times),
        # None if the price of something is unknown.
        "spent_usd": None if any(ledger.unpriced for ledger in ledgers) else total(ledgers)[Kind.MONEY],
        "days_left": None if over is None else max(0.0, (over - end) / _DAY),
        "scores": [score for _, score in scores],
    }
