"""The search for kernels, topics, comments and users: votes, scores and tiers as they were last read."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from bot.rehearsal.discussions import Discussions
from bot.rehearsal.forum import Forum, Thread
from bot.rehearsal.identity import wire_id
from bot.rehearsal.kernels import Kernels, Version
from bot.rehearsal.readings import Readings
from bot.rehearsal.rendering import slugified, stripped
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.wire import Answer, Call, Json, listed, wire_time
from scrapers.card import TaskCard
from scrapers.rows import MessageRow

_ORDERS = ("UNSPECIFIED", "DATE_CREATED", "DATE_UPDATED", "HOTNESS", "LAST_VIEWED", "TOTAL_COMMENTS", "VOTES")
_TYPES = {2: "COMPETITION", 3: "DATASET", 5: "KERNEL", 6: "COMMENT", 8: "TOPIC", 9: "USER", 12: "MODEL"}
_OURS = (None, 0, 1, "SEARCH_DISCUSSIONS_SOURCE_TYPE_UNSPECIFIED", "SEARCH_DISCUSSIONS_SOURCE_TYPE_COMPETITION")
_CUT = 500
"""Characters of a text that a search shows."""
_FROM_THE_FUTURE = {
    "documentType": "PLAYLIST",
    "title": "A kind of document that no client knows yet",
    "ownerUser": {"userName": "someone", "displayName": "Someone", "tier": "LUMINARY"},
}


class Search:
    """A free-text index over titles; of a competition it knows the title, not the slug, and has no such filter."""

    def __init__(
        self,
        card: TaskCard,
        kernels: Kernels,
        forum: Forum,
        said: Discussions,
        readings: Readings,
        settings: SiteSettings,
    ) -> None:
        self._title = card.title
        self._best = min if card.lower_is_better else max
        self._kernels = kernels
        self._forum = forum
        self._said = said
        self._readings = readings
        self._settings = settings

    def list_entities(self, call: Call) -> Answer:
        """ListEntities: documents of the types asked for whose title, author or competition matches the query."""
        filters = call.inner("filters")
        types = {_type(value) for value in filters.many("documentTypes")}
        words = filters.text("query").lower().split()
        users = {str(value) for value in filters.inner("userFilters").many("userIds")}
        makers: dict[str, Callable[[datetime], Iterator[Json]]] = {
            "KERNEL": self._kernel_documents,
            "TOPIC": self._topic_documents,
            "COMMENT": self._comment_documents,
            "USER": self._user_documents,
        }
        if filters.inner("discussionFilters").body.get("sourceType") not in _OURS:
            types = (types or set(makers)) - {"TOPIC", "COMMENT"} or {"none"}
        made = (makers[kind](call.now) for kind in makers if not types or kind in types)
        found = [document for documents in made for document in documents if self._matches(document, words)]
        if users:
            found = [one for one in found if str((one.get("ownerUser") or one).get("id")) in users]
        found = _sorted(found, call.enum("canonicalOrderBy", "LIST_SEARCH_CONTENT_ORDER_BY_", _ORDERS))
        if self._settings.unknown_enums and found:
            found.append(_FROM_THE_FUTURE | {"id": wire_id("kernel", "from the future")})
        page, token = call.page(found, default=20)
        return listed("documents", [_shown(one) for one in page], token, totalDocuments=len(found) if page else 0)

    def _matches(self, document: Json, words: list[str]) -> bool:
        owner = document.get("ownerUser") or {}
        text = f"{document['title']} {owner.get('displayName', '')} {self._title}".lower()
        return all(word in text for word in words)

    def _kernel_documents(self, now: datetime) -> Iterator[Json]:
        for version in self._kernels.current(now):
            if not version.private:
                yield self._kernel(version, now)

    def _kernel(self, version: Version, now: datetime) -> Json:
        scores = [self._kernels.score(one, now) for one in self._kernels.versions(version.ref, now)]
        known = [score for score in scores if score is not None]
        best = self._best(known) if known else None
        return {
            "id": wire_id("kernel", version.ref),
            "documentType": "KERNEL",
            "title": version.title,
            "slug": version.slug,
            "createTime": wire_time(self._kernels.created(version.ref, now)),
            "updateTime": wire_time(version.at),
            "votes": self._kernels.votes(version, now),
            "ownerUser": self._user(version.owner, version.author, self._kernels.tier(version, now)),
            "kernelDocument": {
                "bestPublicScore": 0.0 if best is None else best,
                "hasLinkedSubmission": best is not None,
                "isDraft": False,
            },
            "_at": version.at,
        }

    def _topic_documents(self, now: datetime) -> Iterator[Json]:
        for thread in self._forum.threads(now):
            tier = self._readings.tier("topic", thread.row.id, now)
            opening = thread.opening
            text = opening.markdown or "" if opening and not opening.deleted else ""
            yield {
                "id": wire_id("topic", thread.row.id),
                "documentType": "TOPIC",
                "title": thread.row.title or "",
                "createTime": wire_time(thread.at),
                "updateTime": wire_time(thread.last),
                "votes": thread.votes,
                "ownerUser": self._author(thread.row.author, tier),
                "discussionDocument": self._discussion(thread, text, ""),
                "_at": thread.last,
                "_comments": thread.comments,
            }

    def _comment_documents(self, now: datetime) -> Iterator[Json]:
        for thread, row in self._forum.visible(now):
            if row is not thread.opening:
                yield self._comment(thread, row, now)

    def _comment(self, thread: Thread, row: MessageRow, now: datetime) -> Json:
        number = wire_id("message", row.id)
        return {
            "id": number,
            "documentType": "COMMENT",
            "title": thread.row.title or "",
            "createTime": wire_time(row.posted_at),
            "updateTime": wire_time(row.edited_at or row.posted_at),
            "votes": self._readings.votes("message", row.id, now),
            "ownerUser": self._author(row.author, self._readings.tier("message", row.id, now)),
            "discussionDocument": self._discussion(thread, row.markdown or "", f"#{number}"),
            "_at": row.edited_at or row.posted_at,
        }

    def _discussion(self, thread: Thread, markdown: str, anchor: str) -> Json:
        return {
            "messageMarkdown": markdown[:_CUT],
            "messageStripped": stripped(markdown)[:_CUT],
            "forumName": self._title,
            "forumUrl": self._said.forum_url,
            "newCommentUrl": f"{self._said.topic_url(thread)}{anchor}",
            "sourceType": "SEARCH_DISCUSSIONS_SOURCE_TYPE_COMPETITION",
            "topicType": "SEARCH_DISCUSSIONS_TOPIC_TYPE_TOPICS",
            "type": f"SEARCH_DISCUSSIONS_DOCUMENT_TYPE_{'COMMENT' if anchor else 'TOPIC'}",
        }

    def _user_documents(self, now: datetime) -> Iterator[Json]:
        latest: dict[str, tuple[datetime, str]] = {}
        authors: set[str] = set()
        for thread in self._forum.threads(now):
            self._note(thread.row.author, "topic", thread.row.id, now, authors, latest)
            for row in thread.posts:
                if not row.deleted:
                    self._note(row.author, "message", row.id, now, authors, latest)
        for version in self._kernels.current(now):
            self._note(version.author, "kernel", version.row_id or "", now, authors, latest)
        for author in sorted(authors):
            user = self._author(author, latest[author][1] if author in latest else None)
            yield {
                **{"id": user["id"], "documentType": "USER", "title": author, "slug": user["userName"]},
                **{"ownerUser": user, "userDocument": {"competitionRanking": None}, "_at": now},
            }

    def _note(
        self, author: str | None, target: Any, row: str, now: datetime, authors: set[str], latest: dict[str, Any]
    ) -> None:
        if author:
            authors.add(author)
            read = self._readings.tier_at(target, row, now)
            if read is not None:
                latest[author] = max(latest.get(author, read), read)

    def _author(self, author: str | None, tier: str | None) -> Json:
        return self._user(slugified(author or ""), author, tier)

    def _user(self, name: str, author: str | None, tier: str | None) -> Json:
        return {
            "id": wire_id("user", author) if author else None,
            "userName": name,
            "displayName": author,
            "url": f"/{name}",
            "tier": tier,
        }


def _type(value: object) -> str:
    if isinstance(value, int):
        return _TYPES.get(value, "")
    return str(value).upper().removeprefix("DOCUMENT_TYPE_")


def _sorted(documents: list[Json], order: str) -> list[Json]:
    keys: dict[str, Callable[[Json], Any]] = {
        "DATE_CREATED": lambda one: one.get("createTime") or "",
        "DATE_UPDATED": lambda one: one["_at"],
        "TOTAL_COMMENTS": lambda one: one.get("_comments", 0),
        "VOTES": lambda one: one.get("votes", 0),
        "HOTNESS": lambda one: one.get("votes", 0),
    }
    return sorted(documents, key=keys[order], reverse=True) if order in keys else documents


def _shown(document: Json) -> Json:
    return {key: value for key, value in document.items() if not key.startswith("_")}
