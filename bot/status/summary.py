"""The daily summary, and the notices of spent budgets; both only read the database."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.budgets.kinds import Kind, name, words
from bot.budgets.run_budget import total
from bot.engine.run_record import RunRecord
from bot.engine.tree import SEPARATE
from bot.notify import Notice
from bot.status.accounts import Account, Allowance, accounts
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
    """Return what a day (UTC) brought to each competition that was open.

    For a day that is over it always returns the same, except for the problems, which are the current ones. A day that is
    not over is summed up so far.
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
        reached = [
            notice
            for account in accounts(session, allowance, now)
            for kind in Kind
            if (account.level, kind) != ("competition day", Kind.SUBMISSIONS)
            for notice in _reached(account, kind)
        ]
        keys = [notice.key for notice in reached]
        notified = set(session.exec(select(Notification.key).where(col(Notification.key).in_(keys))))
    return [notice for notice in reached if notice.key not in notified]


def _reached(account: Account, kind: Kind) -> Iterator[Notice]:
    """Yield a notice for each share of a cap that is spent; all of them if the cap is zero."""
    figure = account.figures[kind]
    if figure.cap is None or figure.spent <= 0:
        return
    for share in _SHARES:
        if figure.spent * 100 >= figure.cap * share:
            facts = {
                "level": account.name,
                "period": account.period,
                "what": name(kind),
                "share": share,
                "spent": words(kind, figure.spent),
                "cap": words(kind, figure.cap),
            }
            yield Notice("budget.reached", "", facts)


def _day(
    session: Session, slug: str, run: Run | None, over: datetime | None, start: datetime, end: datetime
) -> dict[str, Any]:
    """Return one competition's day: what was created, sent and spent on it, and how it stood at its end."""
    standing = rank(session, slug, end)
    scores = () if run is None else RunRecord(session, run).best_over_time(end)
    return {
        "name": slug,
        "rank": standing.rank,
        "teams": standing.teams,
        "best_score": scores[-1][1] if scores else None,
        "nodes": _nodes(session, slug, start, end),
        "submissions": _submission_count(session, slug, start, end),
        "spent_usd": _spending(session, slug, start, end),
        "days_left": None if over is None else max(0.0, (over - end) / _DAY),
        "scores": [score for _, score in scores],
    }


def _nodes(session: Session, slug: str, start: datetime, end: datetime) -> int:
    query = select(func.count()).select_from(Node).join(Run, col(Run.id) == col(Node.run_id))
    query = query.where(Run.competition == slug, col(Node.action).not_in(SEPARATE))
    return session.exec(query.where(Node.created_at >= start, Node.created_at < end)).one()


def _submission_count(session: Session, slug: str, start: datetime, end: datetime) -> int:
    query = select(Submission).join(Run, col(Run.id) == col(Submission.run_id)).where(Run.competition == slug)
    return sum(start <= (row.sent_at or row.at) < end for row in session.exec(query) if may_be_there(row))


def _spending(session: Session, slug: str, start: datetime, end: datetime) -> float | None:
    """Return USD; None if the price of something is unknown."""
    competition_ledgers = [ledger for ledger in read_ledger(session, start, end) if ledger.competition == slug]
    return None if any(ledger.unpriced for ledger in competition_ledgers) else total(competition_ledgers)[Kind.MONEY]
