"""Storing a topic's messages: what is new, edited, deleted or restored."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import select

from scrapers.kaggle.forum import TopicMessages, TopicText
from scrapers.kaggle.polling.authors import known_tiers
from scrapers.kaggle.polling.watch import PollContext
from scrapers.posts.cleaners import Cleaners, CleanText, RawPost
from scrapers.posts.cleaning import clean
from scrapers.posts.duplicates import note_sketches, sketched
from state.community_rows import observe
from state.store import Transaction
from state.tables import PostedMessage

_SAME_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True)
class TopicMessage:
    """A message as the site serves it."""

    id: str
    parent_id: str | None
    author: str
    posted_at: datetime | None
    html: str
    raw: str
    """Markdown, if the site serves it."""
    votes: int | None
    """None: unknown."""
    deleted: bool = False


def messages_in(answer: TopicMessages) -> list[TopicMessage]:
    """Return an answer's messages, each once, in its order."""
    messages = {
        message.id: TopicMessage(
            id=str(message.id),
            parent_id=None if parent is None else str(parent),
            author=message.author_name,
            posted_at=message.post_date,
            html=message.content,
            raw=message.raw_markdown,
            votes=message.votes,
            deleted=message.is_deleted,
        )
        for message, parent in answer.flat()
    }
    return list(messages.values())


async def opening_of(topic: TopicText, messages: Sequence[TopicMessage], cleaners: Cleaners) -> str | None:
    """Return the id of the message that opens a topic, None if it is not among them.

    It is the one with the topic's text, or the one that its author wrote at the moment when the topic was opened. It need
    not come first.
    """
    top = [message for message in messages if message.parent_id is None]
    by_author = [message for message in top if message.author == topic.author_name and message.html]
    if topic.content and by_author:
        topic_text, *texts = await cleaners.clean(
            [RawPost("html", html) for html in (topic.content, *(m.html for m in by_author))]
        )
        for message, text in zip(by_author, texts, strict=True):
            if text.text == topic_text.text != "":
                return message.id
    for message in top:
        same_author = message.deleted or message.author == topic.author_name
        if same_author and _close(message.posted_at, topic.post_date):
            return message.id
    return None


def opening_message(topic: TopicText, id: str | None) -> TopicMessage:
    """Return the message that opens a topic, built from the topic, with its own id or one made for it."""
    return TopicMessage(
        id=id or f"topic-{topic.id}",
        parent_id=None,
        author=topic.author_name,
        posted_at=topic.post_date,
        html=topic.content,
        raw="",
        votes=None,
    )


def _close(first: datetime | None, second: datetime | None) -> bool:
    return first is not None and second is not None and abs(first - second) <= _SAME_MOMENT


_CHUNK = 40
"""Texts that go to a cleaner in one call."""


async def message_texts(watch: PollContext, messages: Sequence[TopicMessage]) -> dict[str, CleanText]:
    """Return, by id, the texts of the messages that are not stored, or may have changed."""
    with watch.store.read() as session:
        rows = watch.rows(session, PostedMessage, [message.id for message in messages])
    changed = [message for message in messages if not message.deleted and _may_differ(rows.get(message.id), message)]
    texts: dict[str, CleanText] = {}
    for start in range(0, len(changed), _CHUNK):
        chunk = changed[start : start + _CHUNK]
        cleaned = await watch.cleaners.clean([_source(message) for message in chunk])
        texts |= {message.id: text for message, text in zip(chunk, cleaned, strict=True)}
    return texts


def store_messages(
    tx: Transaction,
    watch: PollContext,
    topic_id: str,
    messages: Sequence[TopicMessage],
    texts: Mapping[str, CleanText],
    served_at: datetime | None,
) -> None:
    """Store all messages of a topic, and what they repeat; known messages that are not among them are gone.

    The site shows no time of an edit: an edit gets the time when it was seen. Only the existence of a deleted message is
    kept.
    """
    slug = watch.competition
    query = select(PostedMessage).where(PostedMessage.competition == slug, PostedMessage.topic_id == topic_id)
    rows = {row.id: row for row in tx.session.exec(query)}
    new = {clean(message.author) for message in messages if message.id not in rows}
    tiers = known_tiers(tx.session, new)
    stored_rows: dict[str, PostedMessage] = {}
    for message in messages:
        row = rows.pop(message.id, None) or tx.session.get(PostedMessage, (slug, message.id))
        if row is None:
            row = _new(tx, slug, topic_id, message, texts)
            watch.news.add("message deleted" if message.deleted else "message new", message.id)
            observe(tx, row, served_at, tier=tiers.get(row.author or ""))
        elif message.deleted:
            _delete(watch, row)
        else:
            _take_over(tx, watch, row, message, texts.get(message.id))
        row.topic_id, row.parent_id = topic_id, message.parent_id
        row.posted_at = message.posted_at or row.posted_at
        stored_rows[row.id] = row
        if observe(tx, row, served_at, votes=message.votes):
            watch.news.add("votes", f"message/{message.id}")
    for row in rows.values():
        _delete(watch, row)
    deletions = [sketched(row, None) for row in (*stored_rows.values(), *rows.values()) if row.deleted]
    note_sketches(tx, slug, [*deletions, *(sketched(stored_rows[id], text.sketch) for id, text in texts.items())])


def _new(
    tx: Transaction, competition: str, topic_id: str, message: TopicMessage, texts: Mapping[str, CleanText]
) -> PostedMessage:
    row = PostedMessage(
        competition=competition, id=message.id, topic_id=topic_id, first_seen_at=tx.now(), deleted=message.deleted
    )
    if not message.deleted:
        row.author = clean(message.author) or None
        row.markdown, row.html_sha, row.markdown_sha = texts[message.id].text, _sha(message.html), _sha(message.raw)
    tx.add(row)
    return row


def _take_over(
    tx: Transaction, watch: PollContext, row: PostedMessage, message: TopicMessage, text: CleanText | None
) -> None:
    back = row.deleted
    if text is not None and (back or _edited(row, message, text.text)):
        row.markdown, row.edited_at = text.text, tx.now()
        row.html_sha, row.markdown_sha = _sha(message.html), _sha(message.raw)
        watch.news.add("message back" if back else "message edited", row.id)
    row.html_sha = _sha(message.html) or row.html_sha
    row.markdown_sha = _sha(message.raw) or row.markdown_sha
    row.deleted = False
    row.author = clean(message.author) or None


def _may_differ(row: PostedMessage | None, message: TopicMessage) -> bool:
    """Return whether a stored message may differ from the site's present one, judged without cleaning its text."""
    if row is None or row.deleted:
        return True
    values = (_sha(message.html), _sha(message.raw), message.posted_at or row.posted_at)
    return values != (row.html_sha, row.markdown_sha, row.posted_at)


def _edited(row: PostedMessage, message: TopicMessage, text: str) -> bool:
    """Return whether a message's text has changed, by what the site sent both times."""
    raw, html = _sha(message.raw), _sha(message.html)
    if raw and row.markdown_sha:
        return raw != row.markdown_sha
    if html == row.html_sha:
        return False
    # HTML may differ without an edit, such as in an address that expires: then the cleaned text decides.
    return bool(row.markdown_sha) or text != row.markdown


def _delete(watch: PollContext, row: PostedMessage) -> None:
    if not row.deleted:
        watch.news.add("message deleted", row.id)
        row.deleted, row.author, row.markdown = True, None, ""
        row.html_sha = row.markdown_sha = None


def _source(message: TopicMessage) -> RawPost:
    return RawPost("markdown", message.raw) if message.raw else RawPost("html", message.html)


def _sha(text: str) -> str | None:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest() if text else None
