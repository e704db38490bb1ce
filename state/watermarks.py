"""Watermarks: how far each part of a competition was read, and how it failed since."""

from datetime import datetime
from typing import Any

from sqlmodel import Session, select

from state.polled import Watermark
from state.store import Transaction

__all__ = ["mark_failed", "mark_read", "watermark", "watermarks"]

_MOST_WORDS = 500


def watermark(session: Session, competition: str, part: str) -> Watermark:
    """Return a part's watermark; one that is not stored yet is new, and has no time."""
    return session.get(Watermark, (competition, part)) or Watermark(competition=competition, part=part)


def watermarks(session: Session, competition: str) -> dict[str, Watermark]:
    """Return a competition's watermarks by part; the account's own are those of the competition `""`."""
    return {row.part: row for row in session.exec(select(Watermark).where(Watermark.competition == competition))}


def mark_read(
    tx: Transaction,
    competition: str,
    part: str,
    value: dict[str, Any],
    served_at: datetime | None,
    *,
    ended: bool = True,
) -> None:
    """Move a watermark, in the transaction that stores what it promises.

    Args:
        tx: the transaction.
        competition: whose, empty: the account's.
        part: of what.
        value: how far; small JSON.
        served_at: the site's time.
        ended: whether the part was read to its end; else only `value` moves, and it stays as due as it was.
    """
    row = watermark(tx.session, competition, part)
    row.value = value
    if ended:
        row.at, row.served_at = tx.now(), served_at
        row.tried_at, row.failures, row.refused, row.error = None, 0, False, None
    tx.add(row)


def mark_failed(tx: Transaction, competition: str, part: str, error: Exception, *, refused: bool) -> None:
    """Record that a part could not be read; how far it was read before stays."""
    row = watermark(tx.session, competition, part)
    row.tried_at = tx.now()
    row.failures += 1
    row.refused = refused
    row.error = str(error)[:_MOST_WORDS]
    tx.add(row)
