"""The outbox: a notice is written beside what it tells of, and sent until that is confirmed."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlmodel import col, select

from bot.notify import Notice, Notifier, Receipt
from state.clock import Clock
from state.errors import NotificationFailed
from state.store import Store, Transaction
from state.tables import Notification

__all__ = ["NO_RUN", "Delivered", "DeliverySettings", "deliver", "notify"]

NO_RUN = "bot"
"""Under which events of notices of no run are kept; no run's id is a single word."""


class DeliverySettings(BaseModel):
    """How patiently notices are sent, in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first_pause: float = Field(
        default=30.0, gt=0, description="after the first failure; doubled with each that follows"
    )
    longest_pause: float = Field(default=3600.0, gt=0, description="the longest pause after a failure")
    seconds: float = Field(default=60.0, gt=0, description="longest time of one attempt")


@dataclass(frozen=True)
class Delivered:
    """What came of one round: how many notices were sent, and how many could not be."""

    sent: int
    failed: int


def notify(tx: Transaction, notice: Notice) -> Notification:
    """Write down what to tell, in the transaction of what it tells of; one whose key is known is left as it is."""
    known = tx.session.exec(select(Notification).where(Notification.key == notice.key)).first()
    if known is not None:
        return known
    now = tx.now()
    row = Notification(
        run_id=notice.run_id,
        key=notice.key,
        kind=notice.kind,
        title=notice.title,
        body=notice.body,
        created_at=now,
        due_at=now,
    )
    tx.add(row)
    tx.record("notification.added", run_id=notice.run_id or NO_RUN, key=notice.key, kind=notice.kind)
    return row


async def deliver(
    store: Store, notifier: Notifier, clock: Clock, settings: DeliverySettings | None = None
) -> Delivered:
    """Send what is due and not confirmed, oldest first, one attempt each; call it again and again.

    A notice whose confirmation was not committed is sent again: at least once, with the same key. Each attempt, and the
    time before which there is no other, is committed before it begins: several may deliver at once, and a notice that
    ends the process, whatever the reason, keeps no other from being sent.
    """
    settings = settings or DeliverySettings()
    with store.read() as session:
        unsent = session.exec(
            select(Notification.id).where(col(Notification.sent_at).is_(None)).order_by(col(Notification.id))
        ).all()
    sent = failed = 0
    for id in unsent:
        row = _begin(store, id, settings)
        if row is None:
            continue
        outcome = await _attempt(notifier, row, settings)
        _end(store, id, outcome, settings)
        if isinstance(outcome, Receipt):
            sent += 1
        else:
            failed += 1
    return Delivered(sent, failed)


def pause(attempts: int, settings: DeliverySettings) -> float:
    """Return the seconds between the attempt of this number, from 1, and the next."""
    # Of a bounded power: a float ends at 2**1024.
    return min(settings.first_pause * 2.0 ** min(attempts - 1, 64), settings.longest_pause)


def _begin(store: Store, id: int | None, settings: DeliverySettings) -> Notification | None:
    """Count an attempt before it is made; None where it is not due, or another process has it."""
    with store.write() as tx:
        row, now = tx.session.get_one(Notification, id), tx.now()
        if row.sent_at is not None or not _is_due(row, now, settings):
            return None
        row.attempts += 1
        row.due_at = now + timedelta(seconds=settings.seconds + pause(row.attempts, settings))
        tx.add(row)
        return row


def _is_due(row: Notification, now: datetime, settings: DeliverySettings) -> bool:
    # Further ahead than any pause: the clock was put back.
    return row.due_at <= now or row.due_at > now + timedelta(seconds=settings.seconds + settings.longest_pause)


async def _attempt(notifier: Notifier, row: Notification, settings: DeliverySettings) -> Receipt | str:
    """Send one notice; returns what went wrong where it did."""
    notice = Notice(row.key, row.kind, row.title, row.body, row.run_id)
    try:
        async with asyncio.timeout(settings.seconds):
            return await notifier.send(notice)
    except NotificationFailed as error:
        return str(error)
    except TimeoutError:
        return f"no answer within {settings.seconds:g} s"


def _end(store: Store, id: int | None, outcome: Receipt | str, settings: DeliverySettings) -> None:
    with store.write() as tx:
        row = tx.session.get_one(Notification, id)
        told: dict[str, Any] = {"key": row.key, "kind": row.kind, "attempts": row.attempts}
        if isinstance(outcome, Receipt):
            row.sent_at, row.last_error = tx.now(), None
            tx.record("notification.sent", run_id=row.run_id or NO_RUN, reference=outcome.reference, **told)
        else:
            row.last_error, row.due_at = outcome, tx.now() + timedelta(seconds=pause(row.attempts, settings))
            tx.record("notification.failed", run_id=row.run_id or NO_RUN, error=outcome, **told)
        tx.add(row)
