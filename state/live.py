"""Live runs, and the deadlines of their competitions."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from state.series import last_reading
from state.tables import Run


def live_runs(session: Session, *competitions: str) -> Sequence[Run]:
    """Return the live runs of some competitions, or of all, the earliest first."""
    query = select(Run).where(col(Run.cutoff).is_(None))
    if competitions:
        query = query.where(col(Run.competition).in_(competitions))
    return session.exec(query.order_by(col(Run.created_at), col(Run.id))).all()


def latest_runs(session: Session) -> dict[str, Run]:
    """Return the latest live run of each competition that has one."""
    return {run.competition: run for run in live_runs(session)}


def deadline_of(
    session: Session,
    competition: str,
    *,
    configured: datetime | None = None,
    card: datetime | None = None,
    as_of: datetime | None = None,
) -> datetime | None:
    """Return a competition's deadline: the owner's, else the site's (as of a time), else the task card's."""
    facts = last_reading(session, competition, "competition", as_of=as_of)
    at_site = facts.data.get("deadline") if facts is not None else None
    return configured or (datetime.fromisoformat(at_site) if at_site else card)
