"""The outbox: a notice is written in the transaction of what it reports, and sent to each service until confirmed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import select

from bot.notify import Notice, Notifier, Receipt
from bot.notify.letters import ready, settle
from bot.notify.schedule import is_due, is_quiet, pause
from bot.notify.settings import NotifySection
from state.clock import Clock
from state.errors import NotificationFailed
from state.store import NO_RUN, Store, Transaction
from state.tables import Letter, Notification


@dataclass(frozen=True)
class Delivered:
    """The result of one round: how many letters were sent, and how many failed."""

    sent: int = 0
    failed: int = 0


def notify(tx: Transaction, notice: Notice) -> bool:
    """Write a notice in the transaction of what it reports, unless its key is known; return whether it is new."""
    if tx.session.exec(select(Notification.id).where(Notification.key == notice.key)).first() is not None:
        return False
    columns = notice.columns()
    texts = {name: tx.redactor.text(columns[name]) for name in ("title", "body", "markdown")}
    tx.add(Notification(**columns | texts, created_at=tx.now()))
    tx.record("notification.added", run_id=notice.run_id or NO_RUN, key=notice.key, kind=notice.kind)
    return True


async def deliver(
    store: Store, services: Mapping[str, Notifier], clock: Clock, settings: NotifySection | None = None
) -> Delivered:
    """Send every unconfirmed letter that may go now to its service, one attempt each; call it again and again.

    Delivery is at least once, with the same key: a letter whose confirmation was not committed is sent again. Each
    attempt, and the earliest time of the next, is committed before it begins: several processes may deliver at once,
    and a letter that kills the process does not keep others from being sent. A service that fails or is slow delays
    no other service, and no other letter.

    Args:
        store: holds the notices.
        services: by their names in the configuration.
        clock: the time of schedules and pauses; an attempt's time limit is in real seconds.
        settings: when notices are sent.
    """
    settings = settings or NotifySection()
    tasks = [asyncio.create_task(_serve(store, name, services[name], clock, settings)) for name in services]
    try:
        done = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    settle(store, tuple(services))
    return Delivered(sum(one.sent for one in done), sum(one.failed for one in done))


async def _serve(store: Store, service: str, notifier: Notifier, clock: Clock, settings: NotifySection) -> Delivered:
    sent = failed = 0
    for id in ready(store, service, clock.now(), settings):
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


def _begin(store: Store, id: int, settings: NotifySection) -> Letter | None:
    """Count an attempt before it is made; None if it is not due, or another process has taken it."""
    with store.write() as tx:
        row, now = tx.session.get_one(Letter, id), tx.now()
        if row.sent_at is not None or not _may_go(row, now, settings):
            return None
        row.attempts += 1
        row.tried_at = now
        row.due_at = now + timedelta(seconds=settings.seconds + pause(row.attempts, settings))
        tx.add(row)
        return row


def _may_go(row: Letter, now: datetime, settings: NotifySection) -> bool:
    # Quiet hours may have begun while the letters before it were sent.
    return is_due(row.due_at, now, settings) and (row.urgent or not is_quiet(now, settings))


async def _attempt(notifier: Notifier, row: Letter, settings: NotifySection) -> Receipt | str:
    """Send one letter; returns the receipt, or what went wrong."""
    try:
        async with asyncio.timeout(settings.seconds):
            return await notifier.send(Notice.of(row))
    except NotificationFailed as error:
        return str(error)
    except TimeoutError:
        return f"no answer within {settings.seconds:g} s"


def _end(store: Store, id: int, outcome: Receipt | str, settings: NotifySection) -> None:
    with store.write() as tx:
        row = tx.session.get_one(Letter, id)
        letter: dict[str, Any] = {"key": row.key, "kind": row.kind, "service": row.service, "attempts": row.attempts}
        if isinstance(outcome, Receipt):
            row.sent_at, row.last_error = tx.now(), None
            tx.record("notification.sent", run_id=row.run_id or NO_RUN, reference=outcome.reference, **letter)
        else:
            row.last_error, row.due_at = outcome, tx.now() + timedelta(seconds=pause(row.attempts, settings))
            tx.record("notification.failed", run_id=row.run_id or NO_RUN, error=outcome, **letter)
        tx.add(row)
