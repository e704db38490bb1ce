"""Live runs, and when the competitions end that they are on."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from state.series import last
from state.tables import Run


def live_runs(session: Session, *competitions: str) -> Sequence[Run]:
    """Return the live runs of some competitions, or of all, the earliest first."""
    query = select(Run).where(col(Run.cutoff).is_(None))
    if competitions:
        query = query.where(col(Run.competition).in_(competitions))
    return session.exec(query.order_by(col(Run.created_at), col(Run.id))).all()


def deadline_of(
    session: Session,
    competition: str,
    *,
    own: datetime | None = None,
    card: datetime | None = None,
    as_of: datetime | None = None,
) -> datetime | None:
    """Return when a competition ends: as the owner says, else the site (at a time), else the task card."""
    facts = last(session, competition, "competition", as_of=as_of)
    at_site = facts.data.get("deadline") if facts is not None else None
    return own or (datetime.fromisoformat(at_site) if at_site else card)
