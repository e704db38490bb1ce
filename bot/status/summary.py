"""The daily summary, and the notices of spent budgets; both only read the database."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.budgets.kinds import Kind
from bot.engine.tree import APART
from bot.execution.folder import lower_is_better
from bot.notify.events import BudgetReached, CompetitionDay, DailySummary, shares_reached
from bot.status.accounts import Account, Allowance, accounts
from bot.status.problems import current
from bot.status.site import deadline, rank
from bot.status.work import best_over_time, latest_runs
from state.ledgers import read_ledger
from state.store import Store
from state.submissions import may_be_there
from state.tables import Node, Notification, Run, Submission

_DAY = timedelta(days=1)


def daily_summary(store: Store, day: date, now: datetime, allowance: Allowance) -> DailySummary:
    """Return what a day (UTC) brought to each competition that was open.

    For a day that is over it always returns the same, except for the problems, which are the current ones.

    Args:
        store: the daemon's database.
        day: the day.
        now: aware; a day that is not over is summed up so far.
        allowance: what is configured.
    """
    start = datetime.combine(day, time(), UTC)
    end = min(now, start + _DAY)
    with store.read() as session:
        runs = latest_runs(session)
        days = [
            _day(session, slug, allowance, start, end, run=runs.get(slug))
            for slug in sorted({*allowance.competitions, *runs})
            if _was_on(session, slug, allowance, start, end, run=runs.get(slug))
        ]
        problems = tuple(problem.sentence for problem in current(session))
    return DailySummary(day, tuple(days), problems)


def budget_notices(store: Store, allowance: Allowance, now: datetime) -> list[BudgetReached]:
    """Return which shares of caps are spent and have no notice yet.

    A cap of zero counts only once something was spent. A day's number of submissions is no budget: using it up is the
    plan.

    Args:
        store: the daemon's database.
        allowance: what may be spent.
        now: aware UTC; sets the day.
    """
    with store.read() as session:
        reached = [
            event
            for account in accounts(session, allowance, now)
            for kind in Kind
            if (account.level, kind) != ("competition day", Kind.SUBMISSIONS)
            for event in _reached(account, kind)
        ]
        keys = [event.key for event in reached]
        notified = set(session.exec(select(Notification.key).where(col(Notification.key).in_(keys))))
    return [event for event in reached if event.key not in notified]


def _reached(account: Account, kind: Kind) -> Sequence[BudgetReached]:
    figure = account.figures[kind]
    if figure.cap is None or figure.spent <= 0:
        return ()
    return [
        BudgetReached(account.name, account.period, kind, share, figure.spent, figure.cap)
        for share in shares_reached(figure.spent, figure.cap)
    ]


def _was_on(
    session: Session, slug: str, allowance: Allowance, start: datetime, end: datetime, *, run: Run | None
) -> bool:
    """Return whether a competition was still open on a day, as far as was known then."""
    ends = deadline(session, slug, allowance.competitions.get(slug), run, end)
    return ends is None or ends >= start


def _day(
    session: Session,
    slug: str,
    allowance: Allowance,
    start: datetime,
    end: datetime,
    *,
    run: Run | None,
) -> CompetitionDay:
    ends = deadline(session, slug, allowance.competitions.get(slug), run, end)
    standing = rank(session, slug, end)
    scores = () if run is None else best_over_time(session, run.id, end, lower=lower_is_better(run.config))
    return CompetitionDay(
        competition=slug,
        rank=standing.rank,
        teams=standing.teams,
        best_score=scores[-1][1] if scores else None,
        nodes=_nodes(session, slug, start, end),
        submissions=_sent(session, slug, start, end),
        spent_usd=_spent(session, slug, start, end),
        days_left=None if ends is None else max(0.0, (ends - end) / _DAY),
        scores=tuple(score for _, score in scores),
    )


def _nodes(session: Session, slug: str, start: datetime, end: datetime) -> int:
    query = select(func.count()).select_from(Node).join(Run, col(Run.id) == col(Node.run_id))
    query = query.where(Run.competition == slug, col(Node.action).not_in(APART))
    return session.exec(query.where(Node.created_at >= start, Node.created_at < end)).one()


def _sent(session: Session, slug: str, start: datetime, end: datetime) -> int:
    query = select(Submission).join(Run, col(Run.id) == col(Submission.run_id)).where(Run.competition == slug)
    return sum(start <= (row.sent_at or row.at) < end for row in session.exec(query) if may_be_there(row))


def _spent(session: Session, slug: str, start: datetime, end: datetime) -> float | None:
    """Return USD; None if the price of something is unknown."""
    own = [ledger for ledger in read_ledger(session, start, end) if ledger.competition == slug]
    return None if any(ledger.unpriced for ledger in own) else sum(ledger.cost_usd for ledger in own)
