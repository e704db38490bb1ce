"""The outbox: a notice is written in the transaction of what it reports, and sent to each service until confirmed."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import exists, false
from sqlmodel import Session, col, or_, select

from bot.notify import Notice
from bot.notify.schedule import Plan, SentLetter, WaitingNotice, is_due, is_quiet, plan
from bot.notify.settings import NotifySection
from bot.notify.wording import cut, render
from state.clock import Clock, back_off
from state.errors import NotificationFailed
from state.store import NO_RUN, Store, Transaction
from state.tables import Letter, LetterPart, Notification
from state.words import moment

_BODY = 600
"""Characters of one notice's body in a letter of several."""
_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Delivered:
    """How many letters one round sent, and how many failed."""

    sent_count: int = 0
    failed_count: int = 0


class Notifier(Protocol):
    """Sends letters out of the machine."""

    async def send(self, letter: Letter) -> None:
        """Send one letter with its key, by which a reader recognises a second copy; it ends within a time of its own.

        Raises NotificationFailed: it may not have arrived; it is sent again later.
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
    fields: dict[str, Any] = {"key": key, "kind": kind, "title": title, "body": body, "urgent": notice.urgent}
    tx.add(Notification(run_id=run_id, **fields, created_at=tx.now()))
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
        deliveries = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    settle(store, tuple(services))
    return Delivered(sum(d.sent_count for d in deliveries), sum(d.failed_count for d in deliveries))


async def _serve(store: Store, service: str, notifier: Notifier, clock: Clock, settings: NotifySection) -> Delivered:
    errors: list[str | None] = []
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
        errors.append(error)
    return Delivered(errors.count(None), len(errors) - errors.count(None))


def _begin(store: Store, id: int, settings: NotifySection) -> Letter | None:
    """Count an attempt before it is made; None if it is not due, or another process has taken it."""
    with store.write() as tx:
        row, now = tx.session.get_one(Letter, id), tx.now()
        # Quiet hours may have begun while the letters before it were sent.
        may_go = is_due(row.due_at, now, settings) and (row.urgent or not is_quiet(now, settings))
        if row.sent_at is not None or not may_go:
            return None
        row.attempts += 1
        row.tried_at = now
        pause = back_off(row.attempts, settings.first_pause, settings.longest_pause)
        row.due_at = now + timedelta(seconds=settings.seconds + pause)
        tx.add(row)
        return row


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


def ready(store: Store, service: str, now: datetime, settings: NotifySection) -> list[int]:
    """Write the letters that may go to a service now; returns their ids and those to try again, in order."""
    with store.read() as session:
        if _planned(session, service, now, settings)[0] == Plan():
            return []
    with store.write() as tx:
        # Planned again, as another process may have written letters since.
        delivery_plan, earlier_letters = _planned(tx.session, service, now, settings)
        new = [_letter(tx, service, bundle, now) for bundle in delivery_plan.bundles]
        urgent = {letter.id for letter in earlier_letters if letter.urgent} | {id for id, is_urgent in new if is_urgent}
        return sorted([*delivery_plan.retries, *(id for id, _ in new)], key=lambda id: (id not in urgent, id))


def settle(store: Store, services: Sequence[str]) -> None:
    """Mark as sent the notices that every service has; without services, all of them."""
    missing = [
        ~exists().where(
            col(LetterPart.notification_id) == col(Notification.id),
            col(LetterPart.service) == service,
            col(Letter.id) == col(LetterPart.letter_id),
            col(Letter.sent_at).is_not(None),
        )
        for service in services
    ]
    unsent_query = select(Notification).where(col(Notification.sent_at).is_(None), ~or_(false(), *missing))
    with store.read() as session:
        if session.exec(unsent_query).first() is None:
            return
    with store.write() as tx:
        for row in tx.session.exec(unsent_query).all():
            row.sent_at = tx.now()
            tx.add(row)


def _planned(session: Session, service: str, now: datetime, settings: NotifySection) -> tuple[Plan, list[SentLetter]]:
    """Return what may go now, and the letters that were counted; reads no texts, as it is called often."""
    has_letter = exists().where(
        col(LetterPart.notification_id) == col(Notification.id), col(LetterPart.service) == service
    )
    unsent = (
        sa.select(col(Notification.id), col(Notification.kind), col(Notification.urgent), col(Notification.created_at))
        .where(col(Notification.sent_at).is_(None), ~has_letter)
        .order_by(col(Notification.id))
    )
    # Letters that are not sent, or count towards this hour's rate.
    recent = or_(col(Letter.sent_at).is_(None), col(Letter.tried_at) > now - _HOUR)
    letters = session.execute(
        sa.select(
            col(Letter.id),
            col(Letter.urgent),
            col(Letter.due_at),
            col(Letter.tried_at),
            col(Letter.sent_at).is_not(None),
        ).where(col(Letter.service) == service, recent)
    )
    earlier_letters = [SentLetter(*row) for row in letters]
    waiting_notices = [WaitingNotice(*row) for row in session.execute(unsent)]
    return plan(waiting_notices, earlier_letters, now, settings), earlier_letters


def _letter(tx: Transaction, service: str, ids: Sequence[int], now: datetime) -> tuple[int, bool]:
    letter = merge(service, [tx.session.get_one(Notification, id) for id in ids], now)
    tx.add(letter)
    tx.session.flush()
    if letter.id is None:
        raise RuntimeError("the database assigned no id to a delivery")
    for id in ids:
        tx.add(LetterPart(notification_id=id, service=service, letter_id=letter.id))
    return letter.id, letter.urgent


def merge(service: str, rows: Sequence[Notification], now: datetime) -> Letter:
    """Return one letter with all notices in the order given; of several, long bodies are cut. The same ones give the same key."""
    if len(rows) == 1:
        columns = rows[0].model_dump(include={"run_id", "key", "kind", "title", "body", "urgent"})
        return Letter(service=service, **columns, created_at=now, due_at=now)
    kinds = Counter(row.kind for row in rows)
    kind_counts = ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in sorted(kinds.items()))
    digest = hashlib.sha256("\n".join(row.key for row in rows).encode()).hexdigest()[:16]
    return Letter(
        service=service,
        key=f"together/{digest}",
        kind="together",
        title=f"{len(rows)} notices: {kind_counts}"[:200],
        body="\n\n".join(f"{moment(row.created_at)} {row.title}\n{cut(row.body, _BODY)}".rstrip() for row in rows),
        urgent=any(row.urgent for row in rows),
        created_at=now,
        due_at=now,
    )
