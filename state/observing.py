"""Observing: a reading of votes, a score or a tier is kept where it differs from the last one."""

from datetime import datetime

from state.store import Transaction
from state.tables import KernelVersion, Message, Observation, Topic

__all__ = ["observe"]

_TARGETS = {Topic: "topic", Message: "message", KernelVersion: "kernel"}


def observe(
    tx: Transaction,
    row: Topic | Message | KernelVersion,
    served_at: datetime | None,
    *,
    votes: int | None = None,
    public_score: float | None = None,
    tier: str | None = None,
) -> bool:
    """Keep what was read of a polled row now, as far as it is news; return whether any of it is.

    The row itself holds the last reading of each field, and is brought up to date with it. What is None was not read,
    and says nothing.

    Args:
        tx: the transaction, in which the row was read or added.
        row: whose.
        served_at: the site's time.
        votes: of the post.
        public_score: of a kernel.
        tier: of the author.
    """
    read = {"votes": votes, "public_score": public_score, "tier": tier}
    news = {name: value for name, value in read.items() if value is not None and value != getattr(row, name)}
    if not news:
        return False
    where = {"competition": row.competition, "target": _TARGETS[type(row)], "target_id": row.id}
    reading = Observation.model_validate({**where, "at": tx.now(), "served_at": served_at, **news})
    for name, value in news.items():
        setattr(row, name, value)
    tx.add(reading)
    return True
