"""From notices to letters: puts the notices that may be sent now into letters to one service, by the schedule."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import exists, false
from sqlmodel import Session, col, or_, select

from bot.notify.schedule import Plan, Tried, Waiting, plan
from bot.notify.settings import NotifySection
from bot.notify.wording import cut
from state.store import Store, Transaction
from state.tables import Letter, LetterPart, Notification
from state.words import moment

_BODY = 600
"""Characters of one notice's body in a letter of several."""
_HOUR = timedelta(hours=1)


def ready(store: Store, service: str, now: datetime, settings: NotifySection) -> list[int]:
    """Write the letters that may go to a service now; returns their ids and those to try again, in order."""
    with store.read() as session:
        if _planned(session, service, now, settings)[0] == Plan():
            return []
    with store.write() as tx:
        # Planned again, as another process may have written letters since.
        found, tried = _planned(tx.session, service, now, settings)
        new = [_letter(tx, service, bundle, now) for bundle in found.bundles]
        urgent = {one.id for one in tried if one.urgent} | {id for id, is_urgent in new if is_urgent}
        return sorted([*found.again, *(id for id, _ in new)], key=lambda id: (id not in urgent, id))


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
    done = select(Notification).where(col(Notification.sent_at).is_(None), ~or_(false(), *missing))
    with store.read() as session:
        if session.exec(done).first() is None:
            return
    with store.write() as tx:
        for row in tx.session.exec(done).all():
            row.sent_at = tx.now()
            tx.add(row)


def _planned(session: Session, service: str, now: datetime, settings: NotifySection) -> tuple[Plan, list[Tried]]:
    """Return what may go now, and the letters that were counted; reads no texts, as it is called often."""
    held = exists().where(col(LetterPart.notification_id) == col(Notification.id), col(LetterPart.service) == service)
    unsent = (
        sa.select(col(Notification.id), col(Notification.kind), col(Notification.urgent), col(Notification.created_at))
        .where(col(Notification.sent_at).is_(None), ~held)
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
    tried = [Tried(*row) for row in letters]
    waiting = [Waiting(*row) for row in session.execute(unsent)]
    return plan(waiting, tried, now, settings), tried


def _letter(tx: Transaction, service: str, ids: Sequence[int], now: datetime) -> tuple[int, bool]:
    letter = merge(service, [tx.session.get_one(Notification, id) for id in ids], now)
    tx.add(letter)
    tx.session.flush()
    if letter.id is None:
        raise RuntimeError("a letter got no number")
    for id in ids:
        tx.add(LetterPart(notification_id=id, service=service, letter_id=letter.id))
    return letter.id, letter.urgent


def merge(service: str, rows: Sequence[Notification], now: datetime) -> Letter:
    """Return one letter with all notices in the order given; of several, long bodies are cut. The same ones give the same key."""
    if len(rows) == 1:
        columns = rows[0].model_dump(include={"run_id", "key", "kind", "title", "body", "urgent"})
        return Letter(service=service, **columns, created_at=now, due_at=now)
    kinds = Counter(row.kind for row in rows)
    of = ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in sorted(kinds.items()))
    digest = hashlib.sha256("\n".join(row.key for row in rows).encode()).hexdigest()[:16]
    return Letter(
        service=service,
        key=f"together/{digest}",
        kind="together",
        title=f"{len(rows)} notices: {of}"[:200],
        body="\n\n".join(f"{moment(row.created_at)} {row.title}\n{cut(row.body, _BODY)}".rstrip() for row in rows),
        urgent=any(row.urgent for row in rows),
        created_at=now,
        due_at=now,
    )
