"""What a topic's messages say, whether the site gives the opening one among them or apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scrapers.kaggle.forum import TopicMessages, TopicText
from scrapers.posts.cleaners import Cleaners, Source

_SAME_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True)
class Said:
    """A message as the site gives it."""

    id: str
    parent_id: str | None
    author: str
    posted_at: datetime | None
    html: str
    raw: str
    """Markdown, where the site gives it."""
    votes: int | None
    """None: not told."""
    deleted: bool = False


def said_in(answer: TopicMessages) -> list[Said]:
    """Return an answer's messages, each once, in its order."""
    found = {
        message.id: Said(
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
    return list(found.values())


async def opening_of(topic: TopicText, said: Sequence[Said], cleaners: Cleaners) -> str | None:
    """Return the id of the message that opens a topic, None where it is not among them.

    It is the one that says what the topic says, or that its author wrote at the moment when the topic was opened. That it
    comes first is not promised.
    """
    top = [message for message in said if message.parent_id is None]
    own = [message for message in top if message.author == topic.author_name and message.html]
    if topic.content and own:
        wanted, *texts = await cleaners.clean(
            [Source("html", html) for html in (topic.content, *(m.html for m in own))]
        )
        for message, text in zip(own, texts, strict=True):
            if text.text == wanted.text != "":
                return message.id
    for message in top:
        same_author = message.deleted or message.author == topic.author_name
        if same_author and _close(message.posted_at, topic.post_date):
            return message.id
    return None


def opening_said(topic: TopicText, id: str | None) -> Said:
    """Return the message that opens a topic, as the topic tells it, by its own id or one made for it."""
    return Said(
        id=id or f"topic-{topic.id}",
        parent_id=None,
        author=topic.author_name,
        posted_at=topic.post_date,
        html=topic.content,
        raw="",
        votes=None,
    )


def _close(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= _SAME_MOMENT
