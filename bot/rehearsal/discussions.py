"""The methods of the forum: topics and messages of the competition, and the general service for discussions."""

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from bot.rehearsal.forum import Forum, Post, Thread
from bot.rehearsal.identity import wire_id
from bot.rehearsal.rendering import rendered, share_of, slugified
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.wire import Answer, Call, Json, Refused, denied, listed, wire_time
from scrapers.rows import MessageRow

TOPICS_A_PAGE = 20
_TOPIC_ORDERS = ("UNSPECIFIED", "HOT", "TOP", "NEW", "RECENT", "ACTIVE", "RELEVANCE")
_MESSAGE_ORDERS = ("UNSPECIFIED", "HOT", "NEW", "OLD", "TOP")
_MESSAGES_A_PAGE = 30


class Discussions:
    """Answers about the forum of one competition."""

    def __init__(self, slug: str, forum: Forum, settings: SiteSettings, check: Callable[[str], None]) -> None:
        """Make the answers.

        Args:
            slug: the competition's.
            forum: its forum.
            settings: the site's.
            check: raises the 403 for a competition that is not this one.
        """
        self._slug = slug
        self._forum = forum
        self._settings = settings
        self._check = check

    @property
    def forum_url(self) -> str:
        """Where the forum is said to be."""
        return f"https://www.kaggle.com/competitions/{self._slug}/discussion"

    def topic_url(self, thread: Thread) -> str:
        """Where a topic is said to be."""
        return f"{self.forum_url}/{wire_id('topic', thread.row.id)}"

    def list_competition_topics(self, call: Call) -> Answer:
        """ListCompetitionTopics: 20 a page whatever is asked, sticky topics first on page 1."""
        self._check(call.text("competitionName"))
        order = call.enum("sortBy", "TOPIC_LIST_SORT_BY_", _TOPIC_ORDERS)
        threads = _sorted(self._forum.threads(call.now), order, call.now)
        threads.sort(key=lambda thread: not thread.sticky)
        start = (max(call.number("page") or 1, 1) - 1) * TOPICS_A_PAGE
        page = threads[start : start + TOPICS_A_PAGE]
        return {"topics": [self._topic(thread) for thread in page], "totalCount": len(threads) if page else 0}

    def list_topic_messages(self, call: Call) -> Answer:
        """ListTopicMessages: the tree; `pageSize` counts the messages of the top level, -1 is all of them."""
        self._check(call.text("competitionName"))
        thread = self._found(call.number("topicId"), call.now)
        order = call.enum("sortBy", "COMMENT_LIST_SORT_BY_", _MESSAGE_ORDERS)
        included = self._settings.opening_post == "included"
        posts = _ordered(self._forum.posts(thread, call.now, opening=included), order, call.now)
        size = call.number("pageSize") or _MESSAGES_A_PAGE
        return {"messages": [self._message(post) for post in (posts if size < 0 else posts[:size])]}

    def get_topic(self, call: Call) -> Answer:
        """GetTopic: a topic of the competition with the text of its opening message."""
        thread = self._found(call.number("id"), call.now)
        opening = thread.opening
        author = thread.row.author or ""
        return {
            "topic": {
                "id": wire_id("topic", thread.row.id),
                "title": thread.row.title,
                "url": self.topic_url(thread),
                "postDate": wire_time(thread.at),
                "lastCommentDate": wire_time(thread.last),
                "authorName": author,
                "authorUrl": f"/{slugified(author)}" if author else "",
                "votes": thread.votes,
                "commentCount": thread.comments,
                "forumName": self._slug,
                "forumId": wire_id("forum", self._slug),
                "content": rendered(opening.markdown or "") if opening and not opening.deleted else None,
            }
        }

    def list_topics(self, call: Call) -> Answer:
        """ListTopics: 403 for a competition's forum; the site's own forums are empty."""
        if call.text("forumSlug") in (self._slug, f"competitions/{self._slug}"):
            raise denied("forums.get")
        return listed("topics", [])

    def list_comments(self, call: Call) -> Answer:
        """ListComments: what was said below a topic's opening message, paged by token."""
        thread = self._found(call.number("topicId"), call.now)
        page, token = call.page(self._forum.posts(thread, call.now, opening=False))
        return listed("comments", [self._comment(post) for post in page], token)

    def _found(self, number: int | None, now: datetime) -> Thread:
        thread = self._forum.thread(number, now)
        if thread is None:
            raise Refused(404, "Not found")
        return thread

    def _topic(self, thread: Thread) -> Json:
        return {
            "id": wire_id("topic", thread.row.id),
            "title": thread.row.title,
            "topicUrl": self.topic_url(thread),
            "authorName": thread.row.author,
            "commentCount": thread.comments,
            "votes": thread.votes,
            "postDate": wire_time(thread.at),
            "lastCommentPostDate": wire_time(thread.last),
            "isSticky": thread.sticky,
        }

    def _message(self, post: Post) -> Json:
        row = post.row
        said: Json = {}
        if not row.deleted:
            raw = share_of(self._settings.seed, "raw", row.id) < self._settings.raw_markdown
            said = {
                "content": rendered(row.markdown or ""),
                "rawMarkdown": (row.markdown or "") if raw else None,
                "authorName": row.author,
            }
        return {
            "id": wire_id("message", row.id),
            "postDate": wire_time(post.at),
            **said,
            "votes": post.votes,
            "isDeleted": bool(row.deleted),
            "replies": [self._message(reply) for reply in post.replies],
        }

    def _comment(self, post: Post) -> Json:
        row: MessageRow = post.row
        return {
            "id": wire_id("message", row.id),
            "authorName": None if row.deleted else row.author,
            "authorUrl": None if row.deleted else slugified(row.author or ""),
            "postDate": wire_time(post.at),
            "content": None if row.deleted else rendered(row.markdown or ""),
            "votes": post.votes,
            "replies": [self._comment(reply) for reply in post.replies],
        }


def _sorted(threads: list[Thread], order: str, now: datetime) -> list[Thread]:
    """Sort topics; of equals the newest comes first, so that pages never overlap."""
    if order == "TOP":
        return sorted(threads, key=lambda t: (t.votes, t.at, t.row.id), reverse=True)
    if order == "NEW":
        return sorted(threads, key=lambda t: (t.at, t.row.id), reverse=True)
    if order == "RECENT":
        return sorted(threads, key=lambda t: (t.last, t.at, t.row.id), reverse=True)
    if order == "ACTIVE":
        return sorted(threads, key=lambda t: (t.comments, t.last, t.row.id), reverse=True)
    return sorted(threads, key=lambda t: (heat(t.votes + t.comments, t.last, now), t.row.id), reverse=True)


def _ordered(posts: Sequence[Post], order: str, now: datetime) -> list[Post]:
    if order == "OLD":
        return list(posts)
    if order == "NEW":
        return list(reversed(posts))
    if order == "TOP":
        return sorted(posts, key=lambda post: (post.votes, post.at), reverse=True)
    return sorted(posts, key=lambda post: heat(post.votes + len(post.replies), post.at, now), reverse=True)


def heat(interest: int, at: datetime, now: datetime) -> float:
    """Return how hot something is: interest that fades over days."""
    return (interest + 1) / math.pow((now - at) / timedelta(days=1) + 2, 1.5)
