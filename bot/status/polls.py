"""Polls: when each part of a competition was last read, its failures since, and how many posts are known."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import distinct, func
from sqlmodel import Session, col, select

from state.polling import watermarks
from state.tables import KernelVersion, Message, Topic


@dataclass(frozen=True)
class PartPolled:
    """The state of one polled part of a competition."""

    part: str
    at: datetime | None
    """When it was last read to its end."""
    failures: int
    """In a row, since then."""
    failed_at: datetime | None
    refused: bool
    """Whether the last failure was a refusal by the site."""
    error: str | None


@dataclass(frozen=True)
class Posts:
    """How many posts are known; deleted ones are not counted."""

    topics: int = 0
    messages: int = 0
    kernels: int = 0


def polled(session: Session, competition: str) -> tuple[PartPolled, ...]:
    """Return the parts of a competition that were ever tried, with those of the account (competition `""`), by name."""
    found = {**watermarks(session, ""), **watermarks(session, competition)}
    return tuple(
        PartPolled(part, row.at, row.failures, row.tried_at if row.failures else None, row.refused, row.error)
        for part, row in sorted(found.items())
    )


def posts(session: Session) -> dict[str, Posts]:
    """Return how many posts are known, by competition; all versions of a kernel count as one."""
    topics = select(Topic.competition, func.count()).where(col(Topic.deleted).is_(False))
    messages = select(Message.competition, func.count()).where(col(Message.deleted).is_(False))
    kernels = select(KernelVersion.competition, func.count(distinct(col(KernelVersion.ref))))
    counts = [
        dict(session.exec(query).all())
        for query in (
            topics.group_by(Topic.competition),
            messages.group_by(Message.competition),
            kernels.group_by(KernelVersion.competition),
        )
    ]
    return {slug: Posts(*(one.get(slug, 0) for one in counts)) for slug in set().union(*counts)}
