"""A topic's messages taken into the store: what is new, edited, deleted or back."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

from sqlmodel import select

from scrapers.cleaning import clean, readable
from scrapers.kaggle.polling.authors import known_tiers
from scrapers.kaggle.polling.said import Said
from scrapers.kaggle.polling.watch import Watch
from scrapers.markdown import markdown_of
from state.observing import observe
from state.store import Transaction
from state.tables import Message

__all__ = ["store_messages"]


def store_messages(
    tx: Transaction, watch: Watch, topic_id: str, said: Sequence[Said], served_at: datetime | None
) -> None:
    """Store all messages of a topic; those that are known and not among them are gone.

    The site tells of no edit's time: an edit is dated with when it was seen. Of a message that was deleted nothing is
    kept but that there was one.
    """
    here = watch.competition
    query = select(Message).where(Message.competition == here, Message.topic_id == topic_id)
    rows = {row.id: row for row in tx.session.exec(query)}
    new = {clean(message.author) for message in said if message.id not in rows}
    tiers = known_tiers(tx.session, new)
    for message in said:
        row = rows.pop(message.id, None) or tx.session.get(Message, (here, message.id))
        if row is None:
            row = _new(tx, here, topic_id, message)
            watch.news.add("message deleted" if message.deleted else "message new", message.id)
            observe(tx, row, served_at, tier=tiers.get(row.author or ""))
        elif message.deleted:
            _delete(watch, row)
        else:
            _take_over(tx, watch, row, message)
        _place(row, topic_id, message)
        if observe(tx, row, served_at, votes=message.votes):
            watch.news.add("votes", f"message/{message.id}")
    for row in rows.values():
        _delete(watch, row)
    tx.session.flush()


def _new(tx: Transaction, competition: str, topic_id: str, message: Said) -> Message:
    row = Message(
        competition=competition,
        id=message.id,
        topic_id=topic_id,
        first_seen_at=tx.now(),
        deleted=message.deleted,
    )
    if not message.deleted:
        row.author = clean(message.author) or None
        row.markdown, row.html_sha, row.markdown_sha = _text(message), _sha(message.html), _sha(message.raw)
    tx.add(row)
    return row


def _take_over(tx: Transaction, watch: Watch, row: Message, message: Said) -> None:
    """Take over what a message says that is known, and not deleted."""
    back = row.deleted
    if back or _edited(row, message):
        row.markdown, row.edited_at = _text(message), tx.now()
        row.html_sha, row.markdown_sha = _sha(message.html), _sha(message.raw)
        watch.news.add("message back" if back else "message edited", row.id)
    row.html_sha = _sha(message.html) or row.html_sha
    row.markdown_sha = _sha(message.raw) or row.markdown_sha
    row.deleted = False
    row.author = clean(message.author) or None


def _edited(row: Message, message: Said) -> bool:
    """Return whether a message says something else than it did, by what the site gave both times."""
    raw, html = _sha(message.raw), _sha(message.html)
    if raw and row.markdown_sha:
        return raw != row.markdown_sha
    if html == row.html_sha:
        return False
    # Of other HTML, as of an address that is good for a while only, what it says counts.
    return bool(row.markdown_sha) or _text(message) != row.markdown


def _delete(watch: Watch, row: Message) -> None:
    if not row.deleted:
        watch.news.add("message deleted", row.id)
        row.deleted, row.author, row.markdown = True, None, ""
        row.html_sha = row.markdown_sha = None


def _place(row: Message, topic_id: str, message: Said) -> None:
    """Say where in the forum a message is, and since when."""
    told = {"topic_id": topic_id, "parent_id": message.parent_id, "posted_at": message.posted_at or row.posted_at}
    for name, value in told.items():
        if getattr(row, name) != value:
            setattr(row, name, value)


def _text(message: Said) -> str:
    return readable(message.raw) if message.raw else markdown_of(message.html)


def _sha(text: str) -> str | None:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() if text else None
