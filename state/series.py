"""Series: successive states of a page, a board, a competition's facts or a submission at the site, without repetitions."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from sqlmodel import Session, col, func, select

from state.store import Store, Transaction, put_blob
from state.tables import Reading

ReadingKind = Literal["competition", "standing", "page", "board", "submission", "limits", "watch", "output", "data"]
"""What a reading shows.

- `competition`: its deadlines and flags. `standing`: teams and our rank.
- `page`: by name, such as `rules`; the content is a blob.
- `board`: `top` or `whole`; the content is a blob, JSON.
- `submission`: by the site's reference. `limits`: the quota.
- `watch`: derived from the boards: our place, and the distance to the next medal.
- `data`: numbers and sizes of its files by extension.
- `output`: by a kernel's id: the versions whose files are kept.
"""


def take_reading(
    tx: Transaction,
    competition: str,
    kind: ReadingKind,
    name: str,
    data: dict[str, Any],
    *,
    content: str | None = None,
    served_at: datetime | None = None,
) -> bool:
    """Add the present state of something if it has changed; return whether it has.

    `name` is empty for the only one of its kind. A large text goes into `content`, which then decides whether there is a
    change; without one `data`, small JSON, does.
    """
    # Redacted as it will be stored, or a secret in it would look like a change each time.
    body = json.dumps(data, sort_keys=True, ensure_ascii=False) if content is None else content
    body = tx.redactor.own(body, f"the stored data of {competition}")
    sha256 = hashlib.sha256(body.encode(errors="surrogatepass")).hexdigest()
    before = last_reading(tx.session, competition, kind, name)
    if before is not None and before.sha256 == sha256:
        return False
    if content is not None:
        put_blob(tx, body)
    row = Reading(
        competition=competition, kind=kind, name=name, at=tx.now(), served_at=served_at, sha256=sha256, data=data
    )
    tx.add(row)
    tx.session.flush()
    return True


def record_absence(
    tx: Transaction, competition: str, kind: ReadingKind, name: str, served_at: datetime | None = None
) -> bool:
    """Record that something is no longer at the site; return whether that is new."""
    before = last_reading(tx.session, competition, kind, name)
    if before is None or before.sha256 is None:
        return False
    tx.add(Reading(competition=competition, kind=kind, name=name, at=tx.now(), served_at=served_at))
    tx.session.flush()
    return True


def last_reading(
    session: Session, competition: str, kind: ReadingKind, name: str = "", as_of: datetime | None = None
) -> Reading | None:
    """Return the last reading of something at or before `as_of`; its `sha256` is None if it was absent by then."""
    query = (
        select(Reading)
        .where(Reading.competition == competition, Reading.kind == kind, Reading.name == name)
        # In the order of insertion: a clock that was set back must not make an older reading the last.
        .order_by(col(Reading.pk).desc())
        .limit(1)
    )
    if as_of is not None:
        query = query.where(Reading.at <= as_of)
    return session.exec(query).first()


def last_readings(session: Session, competition: str | None, kind: ReadingKind) -> dict[tuple[str, str], Reading]:
    """Return the last reading of each thing of a kind that is still at the site, by (competition, name).

    Without a competition those of all are returned.
    """
    newest = select(func.max(Reading.pk)).where(Reading.kind == kind).group_by(Reading.competition, Reading.name)
    if competition is not None:
        newest = newest.where(Reading.competition == competition)
    rows = session.exec(select(Reading).where(col(Reading.pk).in_(newest), col(Reading.sha256).is_not(None)))
    return {(row.competition, row.name): row for row in rows}


def history(session: Session, competition: str, kind: ReadingKind, name: str = "") -> Sequence[Reading]:
    """Return all readings of something, the earliest first."""
    query = select(Reading).where(Reading.competition == competition, Reading.kind == kind, Reading.name == name)
    return session.exec(query.order_by(col(Reading.pk))).all()


def rules_hash(store: Store, competition: str, as_of: datetime) -> str | None:
    """Return the sha256 of a competition's rules page as known at a time; None if it was unread or absent by then."""
    with store.read() as session:
        reading = last_reading(session, competition, "page", "rules", as_of)
    return reading.sha256 if reading is not None else None
