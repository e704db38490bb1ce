"""Kaggle's competition forums: topics, and the messages of one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import ApiResponse, Int, Items, Text, Time, Wire

_ALL = -1


class ForumTopic(Wire):
    """A topic as lists show it; sticky ones come first, whatever the order."""

    id: Int
    title: Text = ""
    topic_url: Text = ""
    author_name: Text = ""
    comment_count: Int = 0
    votes: Int = 0
    post_date: Time = None
    last_comment_post_date: Time = None
    is_sticky: bool = False


class TopicPage(ApiResponse):
    """Up to 20 topics; empty past the end."""

    topics: Annotated[tuple[ForumTopic, ...], Items] = ()
    total_count: Int = 0


class ForumMessage(Wire):
    """A message with its replies. It has no author id and no edit time; a deleted one has no author and no text."""

    id: Int
    post_date: Time = None
    content: Text = ""
    """HTML."""
    raw_markdown: Text = ""
    """Often absent."""
    author_name: Text = ""
    votes: Int = 0
    is_deleted: bool = False
    replies: Annotated[tuple["ForumMessage", ...], Items] = ()


class TopicMessages(ApiResponse):
    """The messages of a topic; whether the opening one is among them is not known."""

    messages: Annotated[tuple[ForumMessage, ...], Items] = ()

    def flat(self) -> Iterator[tuple[ForumMessage, int | None]]:
        """Yield every message with the id of its parent."""
        pending: list[tuple[ForumMessage, int | None]] = [(message, None) for message in reversed(self.messages)]
        while pending:
            message, parent = pending.pop()
            yield message, parent
            pending.extend((reply, message.id) for reply in reversed(message.replies))


class TopicText(Wire):
    """A topic with its opening message."""

    id: Int = 0
    post_date: Time = None
    author_name: Text = ""
    content: Text = ""
    """HTML."""


class OneTopic(ApiResponse):
    """A topic by its number."""

    topic: TopicText | None = None


@dataclass(frozen=True)
class Forum:
    """Reads a competition's forum; errors as of `KaggleClient`."""

    client: KaggleClient

    async def topics(self, slug: str, page: int = 1, order: Literal["NEW", "RECENT"] = "RECENT") -> TopicPage:
        """Return a page of topics, from 1. RECENT sorts by the latest comment, NEW by the posting, as far as is known."""
        method = Method("competitions.CompetitionApiService", "ListCompetitionTopics", "forum")
        body = {"competitionName": slug, "sortBy": f"TOPIC_LIST_SORT_BY_{order}", "page": page}
        return await self.client.call(method, body, TopicPage, subject=slug)

    async def messages(self, slug: str, topic: int) -> TopicMessages:
        """Return all messages of a topic, oldest first."""
        method = Method("competitions.CompetitionApiService", "ListTopicMessages", "forum")
        body = {"competitionName": slug, "topicId": topic, "sortBy": "COMMENT_LIST_SORT_BY_OLD", "pageSize": _ALL}
        return await self.client.call(method, body, TopicMessages, subject=slug)

    async def topic(self, topic: int) -> TopicText | None:
        """Return a topic with its opening message."""
        method = Method("discussions.DiscussionApiService", "GetTopic", "forum")
        return (await self.client.call(method, {"id": topic}, OneTopic)).topic
