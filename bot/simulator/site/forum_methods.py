"""The methods for the forums: a competition's topics and messages, and the general service for discussions."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.forum import SimulatedPost, SimulatedThread
from bot.simulator.site.identity import wire_id
from bot.simulator.site.rendering import rendered, share_of, slugified
from bot.simulator.site.site import Site
from bot.simulator.site.wire import Answer, ApiError, Call, Json, list_answer, wire_time
from scrapers.snapshots.community import MessageRow

TOPICS_A_PAGE = 20
_TOPIC_ORDERS = ("UNSPECIFIED", "HOT", "TOP", "NEW", "RECENT", "ACTIVE", "RELEVANCE")
_MESSAGE_ORDERS = ("UNSPECIFIED", "HOT", "NEW", "OLD", "TOP")
_MESSAGES_A_PAGE = 30


class ForumMethods:
    """Answers about the forums of all competitions; a topic's number is unique on the site, and so names its competition."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._settings = site.settings

    def list_competition_topics(self, call: Call) -> Answer:
        """ListCompetitionTopics: 20 a page whatever is requested, sticky topics first on page 1."""
        competition = self._site.competition(call.text("competitionName"))
        order = call.enum("sortBy", "TOPIC_LIST_SORT_BY_", _TOPIC_ORDERS)
        threads = _sorted(competition.forum.threads(call.now), order, call.now)
        threads.sort(key=lambda thread: not thread.sticky)
        start = (max(call.number("page") or 1, 1) - 1) * TOPICS_A_PAGE
        page = threads[start : start + TOPICS_A_PAGE]
        return {"topics": [_topic(thread, competition) for thread in page], "totalCount": len(threads) if page else 0}

    def list_topic_messages(self, call: Call) -> Answer:
        """ListTopicMessages: the tree, oldest or hot ones first; `pageSize` counts the top level, -1 means all."""
        forum = self._site.competition(call.text("competitionName")).forum
        thread = forum.thread(call.number("topicId"), call.now)
        if thread is None:
            raise ApiError(404, "Not found")
        order = call.enum("sortBy", "COMMENT_LIST_SORT_BY_", _MESSAGE_ORDERS)
        included = self._settings.opening_post == "included"
        posts = _in_order(forum.posts(thread, call.now, opening=included), order, call.now)
        size = call.number("pageSize") or _MESSAGES_A_PAGE
        return {"messages": [self._message(post) for post in (posts if size < 0 else posts[:size])]}

    def get_topic(self, call: Call) -> Answer:
        """GetTopic: a topic of any competition with the text of its opening message."""
        competition, thread = self._find(call.number("id"), call.now)
        opening = thread.opening
        author = thread.row.author or ""
        return {
            "topic": {
                "id": thread.number,
                "title": thread.row.title,
                "url": topic_url(competition.slug, thread),
                "postDate": wire_time(thread.posted_at),
                "lastCommentDate": wire_time(thread.last),
                "authorName": author,
                "authorUrl": f"/{slugified(author)}" if author else "",
                "votes": thread.votes,
                "commentCount": thread.comments,
                "forumName": competition.slug,
                "forumId": wire_id("forum", competition.slug),
                "content": rendered(opening.markdown or "") if opening and not opening.deleted else None,
            }
        }

    def list_comments(self, call: Call) -> Answer:
        """ListComments: the messages below a topic's opening one, paged by token."""
        competition, thread = self._find(call.number("topicId"), call.now)
        page, token = call.page(competition.forum.posts(thread, call.now, opening=False))
        return list_answer("comments", [self._comment(post) for post in page], token)

    def _find(self, number: int | None, now: datetime) -> tuple[SimulatedCompetition, SimulatedThread]:
        for competition in self._site.competitions:
            thread = competition.forum.thread(number, now)
            if thread is not None:
                return competition, thread
        raise ApiError(404, "Not found")

    def _message(self, post: SimulatedPost) -> Json:
        row = post.row
        content: Json = {}
        if not row.deleted:
            raw = share_of(self._settings.seed, "raw", row.id) < self._settings.raw_markdown
            content = {
                "content": rendered(row.markdown or ""),
                "rawMarkdown": (row.markdown or "") if raw else None,
                "authorName": row.author,
            }
        return {
            "id": post.number,
            "postDate": wire_time(post.posted_at),
            **content,
            "votes": post.votes,
            "isDeleted": bool(row.deleted),
            "replies": [self._message(reply) for reply in post.replies],
        }

    def _comment(self, post: SimulatedPost) -> Json:
        row: MessageRow = post.row
        return {
            "id": post.number,
            "authorName": None if row.deleted else row.author,
            "authorUrl": None if row.deleted else slugified(row.author or ""),
            "postDate": wire_time(post.posted_at),
            "content": None if row.deleted else rendered(row.markdown or ""),
            "votes": post.votes,
            "replies": [self._comment(reply) for reply in post.replies],
        }


def forum_url(slug: str) -> str:
    """Return the address of a competition's forum, as answers show it."""
    return f"https://www.kaggle.com/competitions/{slug}/discussion"


def topic_url(slug: str, thread: SimulatedThread) -> str:
    """Return the address of a topic, as answers show it."""
    return f"{forum_url(slug)}/{thread.number}"


def _topic(thread: SimulatedThread, competition: SimulatedCompetition) -> Json:
    return {
        "id": thread.number,
        "title": thread.row.title,
        "topicUrl": topic_url(competition.slug, thread),
        "authorName": thread.row.author,
        "commentCount": thread.comments,
        "votes": thread.votes,
        "postDate": wire_time(thread.posted_at),
        "lastCommentPostDate": wire_time(thread.last),
        "isSticky": thread.sticky,
    }


def _sorted(threads: list[SimulatedThread], order: str, now: datetime) -> list[SimulatedThread]:
    """Sort topics; ties go to the newest, so that pages never overlap."""
    if order == "TOP":
        return sorted(threads, key=lambda t: (t.votes, t.posted_at, t.row.id), reverse=True)
    if order == "NEW":
        return sorted(threads, key=lambda t: (t.posted_at, t.row.id), reverse=True)
    if order == "RECENT":
        return sorted(threads, key=lambda t: (t.last, t.posted_at, t.row.id), reverse=True)
    if order == "ACTIVE":
        return sorted(threads, key=lambda t: (t.comments, t.last, t.row.id), reverse=True)
    return sorted(threads, key=lambda t: (heat(t.votes + t.comments, t.last, now), t.row.id), reverse=True)


def _in_order(posts: Sequence[SimulatedPost], order: str, now: datetime) -> list[SimulatedPost]:
    if order == "OLD":
        return list(posts)
    return sorted(posts, key=lambda post: heat(post.votes + len(post.replies), post.posted_at, now), reverse=True)


def heat(interest: int, time: datetime, now: datetime) -> float:
    """Return how hot something is: interest that fades over days."""
    return (interest + 1) / math.pow((now - time) / timedelta(days=1) + 2, 1.5)
