"""The outbox: a notice is written in the transaction of what it reports, and sent to each service until confirmed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlmodel import select

from bot.notify import Notice
from bot.notify.letters import ready, settle
from bot.notify.schedule import is_due, is_quiet
from bot.notify.settings import NotifySection
from bot.notify.wording import render
from state.clock import Clock, back_off
from state.errors import NotificationFailed
from state.store import NO_RUN, Store, Transaction
from state.tables import Letter, Notification


@dataclass(frozen=True)
class Delivered:
    """The result of one round: how many letters were sent, and how many failed."""

    sent: int = 0
    failed: int = 0


class Notifier(Protocol):
    """Sends letters out of the machine."""

    async def send(self, letter: Letter) -> None:
        """Send one letter with its key, by which a reader recognises a second copy; it ends within a time of its own.

        Raises:
            NotificationFailed: it may not have arrived; it is sent again later.
        """
        ...


def notify(tx: Transaction, notice: Notice, run_id: str | None = None) -> bool:
    """Write a notice in the transaction of what it reports, unless its key is known; return whether it is new."""
    # Before anything else: a secret that was cut or made neutral would not be found.
    competition = tx.redactor.text(notice.competition)
    notice = replace(notice, competition=competition, facts=tx.redactor.value(notice.facts))
    kind, key = notice.kind, notice.key
    if tx.session.exec(select(Notification.id).where(Notification.key == key)).first() is not None:
        return False
    title, body = render(notice)
    about: dict[str, Any] = {"key": key, "kind": kind, "title": title, "body": body, "urgent": notice.urgent}
    tx.add(Notification(run_id=run_id, **about, created_at=tx.now()))
    tx.record("notification.added", run_id=run_id or NO_RUN, key=key, kind=kind)
    return True


async def deliver(
    store: Store, services: Mapping[str, Notifier], clock: Clock, settings: NotifySection | None = None
) -> Delivered:
    """Send every unconfirmed letter that may go now to its service, one attempt each; call it again and again.

    Delivery is at least once, with the same key: a letter whose confirmation was not committed is sent again. Each
    attempt, and the earliest time of the next, is committed before it begins: several processes may deliver at once,
    and a letter that kills the process does not keep others from being sent. A service that fails or is slow delays
    no other service, and no other letter.

    `clock` is for schedules and pauses; an attempt's time limit is in real seconds.
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
        error = None
        try:
            await notifier.send(row)
        except NotificationFailed as failure:
            error = str(failure)
        _end(store, id, error, settings)
        sent, failed = sent + (error is None), failed + (error is not None)
    return Delivered(sent, failed)


def _begin(store: Store, id: int, settings: NotifySection) -> Letter | None:
    """Count an attempt before it is made; None if it is not due, or another process has taken it."""
    with store.write() as tx:
        row, now = tx.session.get_one(Letter, id), tx.now()
        if row.sent_at is not None or not _may_go(row, now, settings):
            return None
        row.attempts += 1
        row.tried_at = now
        pause = back_off(row.attempts, settings.first_pause, settings.longest_pause)
        row.due_at = now + timedelta(seconds=settings.seconds + pause)
        tx.add(row)
        return row


def _may_go(row: Letter, now: datetime, settings: NotifySection) -> bool:
    # Quiet hours may have begun while the letters before it were sent.
    return is_due(row.due_at, now, settings) and (row.urgent or not is_quiet(now, settings))


def _end(store: Store, id: int, error: str | None, settings: NotifySection) -> None:
    with store.write() as tx:
        row = tx.session.get_one(Letter, id)
        letter: dict[str, Any] = {"key": row.key, "kind": row.kind, "service": row.service, "attempts": row.attempts}
        row.last_error = error
        if error is None:
            row.sent_at = tx.now()
            tx.record("notification.sent", run_id=row.run_id or NO_RUN, **letter)
        else:
            pause = back_off(row.attempts, settings.first_pause, settings.longest_pause)
            row.due_at = tx.now() + timedelta(seconds=pause)
            tx.record("notification.failed", run_id=row.run_id or NO_RUN, error=error, **letter)
        tx.add(row)
