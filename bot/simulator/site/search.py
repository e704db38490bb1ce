"""The search for competitions, kernels, topics and comments, with votes, scores and tiers as last read."""

from collections.abc import Callable, Iterator
from datetime import datetime

from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.forum import SimulatedThread
from bot.simulator.site.forum_methods import forum_url, topic_url
from bot.simulator.site.identity import wire_id
from bot.simulator.site.kernels import Version
from bot.simulator.site.rendering import slugified
from bot.simulator.site.site import Site
from bot.simulator.site.wire import Answer, Call, Json, list_answer, wire_time
from scrapers.snapshots.community import MessageRow

_LATEST = "LIST_SEARCH_CONTENT_ORDER_BY_DATE_UPDATED"
_FROM_THE_FUTURE = {
    "documentType": "PLAYLIST",
    "title": "A document type that clients do not know",
    "ownerUser": {"userName": "someone", "displayName": "Someone", "tier": "LUMINARY"},
}


class SimulatedSearch:
    """A free-text index over titles; it matches competitions' titles, not their slugs, and cannot filter by competition."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._kernels = site.kernels

    def list_entities(self, call: Call) -> Answer:
        """ListEntities: what there is of the requested types (all without any) whose title, author or competition matches.

        The order may be that of the latest changes; otherwise it is that of the types.
        """
        filters = call.inner("filters")
        types = {str(value).upper().removeprefix("DOCUMENT_TYPE_") for value in filters.list_of("documentTypes")}
        words = filters.text("query").lower().split()
        makers: dict[str, Callable[[datetime], Iterator[Json]]] = {
            "COMPETITION": self._competition_documents,
            "KERNEL": self._kernel_documents,
            "TOPIC": self._topic_documents,
            "COMMENT": self._comment_documents,
        }
        by_kind = (make(call.now) for kind, make in makers.items() if not types or kind in types)
        matching = [document for documents in by_kind for document in documents if _matches(document, words)]
        if call.text("canonicalOrderBy") == _LATEST:
            matching.sort(key=lambda document: document["_at"], reverse=True)
        if self._site.settings.unknown_enums and matching:
            matching.append(_FROM_THE_FUTURE | {"id": wire_id("kernel", "from the future")})
        page, token = call.page(matching, default=20)
        return list_answer("documents", [_public(d) for d in page], token, totalDocuments=len(matching) if page else 0)

    def _competition_documents(self, now: datetime) -> Iterator[Json]:
        for competition in self._site.competitions:
            if competition.begun(now):
                yield _competition(competition, now)

    def _kernel_documents(self, now: datetime) -> Iterator[Json]:
        for version in self._kernels.current(now):
            if not version.private or version.owner == self._site.settings.user_name:
                yield self._kernel(version, now)

    def _kernel(self, version: Version, now: datetime) -> Json:
        competitions = [c for c in self._site.competitions if c.slug in version.competition_sources]
        best = self._best(version, now)
        return {
            "id": wire_id("kernel", version.ref),
            "documentType": "KERNEL",
            "title": version.title,
            "slug": version.slug,
            "createTime": wire_time(self._kernels.created(version.ref, now)),
            "updateTime": wire_time(version.run_at),
            "votes": self._kernels.votes(version, now),
            "ownerUser": _user(version.owner, version.author, self._kernels.tier(version, now)),
            "kernelDocument": {
                "bestPublicScore": 0.0 if best is None else best,
                "hasLinkedSubmission": best is not None,
                "isDraft": False,
                "sessionId": None if version.row_id else wire_id("session", f"{version.ref}/{version.number}"),
            },
            "isPrivate": version.private,
            "_at": version.run_at,
            "_competition": " ".join(c.card.title for c in competitions),
        }

    def _best(self, version: Version, now: datetime) -> float | None:
        """Return the best public score of a kernel's versions, as last read; pushed versions have none."""
        versions = self._kernels.versions(version.ref, now)
        with_score = [(v, score) for v in versions if (score := self._kernels.score(v, now)) is not None]
        if not with_score:
            return None
        card = self._site.competition(with_score[0][0].home).card
        return max((score for _, score in with_score), key=card.oriented)

    def _topic_documents(self, now: datetime) -> Iterator[Json]:
        for competition in self._site.competitions:
            for thread in competition.forum.threads(now):
                yield _topic(competition, thread, now)

    def _comment_documents(self, now: datetime) -> Iterator[Json]:
        for competition in self._site.competitions:
            for thread, row in competition.forum.visible(now):
                if row is not thread.opening:
                    yield _comment(competition, thread, row, now)


def _matches(document: Json, words: list[str]) -> bool:
    owner = document.get("ownerUser") or {}
    text = f"{document['title']} {owner.get('displayName', '')} {document['_competition']}".lower()
    return all(word in text for word in words)


def _competition(competition: SimulatedCompetition, now: datetime) -> Json:
    card = competition.card
    return {
        "id": wire_id("competition", card.slug),
        "documentType": "COMPETITION",
        "title": card.title,
        "slug": card.slug,
        "createTime": wire_time(card.enabled_at),
        "competitionDocument": {
            "hostSegment": "PLAYGROUND",
            "deadline": wire_time(competition.deadline(now)),
            "isEnvironmentEvaluation": competition.settings.kind == "simulation",
            "isLaunched": True,
            "onlyAllowKernelSubmissions": competition.takes_notebooks,
        },
        "_at": card.enabled_at,
        "_competition": card.title,
    }


def _topic(competition: SimulatedCompetition, thread: SimulatedThread, now: datetime) -> Json:
    tier = competition.readings.tier("topic", thread.row.id, now)
    return {
        "id": thread.number,
        "documentType": "TOPIC",
        "createTime": wire_time(thread.posted_at),
        "updateTime": wire_time(thread.last),
        "votes": thread.votes,
        "ownerUser": _author(thread.row.author, tier),
        "_at": thread.last,
        **_discussion(competition, thread),
    }


def _comment(competition: SimulatedCompetition, thread: SimulatedThread, row: MessageRow, now: datetime) -> Json:
    number, readings = competition.forum.number(row), competition.readings
    return {
        "id": number,
        "documentType": "COMMENT",
        "createTime": wire_time(row.posted_at),
        "updateTime": wire_time(row.edited_at or row.posted_at),
        "votes": readings.votes("message", row.id, now),
        "ownerUser": _author(row.author, readings.tier("message", row.id, now)),
        "_at": row.edited_at or row.posted_at,
        **_discussion(competition, thread, f"#{number}"),
    }


def _discussion(competition: SimulatedCompetition, thread: SimulatedThread, anchor: str = "") -> Json:
    title = competition.card.title
    document = {
        "forumName": title,
        "forumUrl": forum_url(competition.slug),
        "newCommentUrl": f"{topic_url(competition.slug, thread)}{anchor}",
    }
    return {"title": thread.row.title or "", "discussionDocument": document, "_competition": title}


def _author(author: str | None, tier: str | None) -> Json:
    return _user(slugified(author or ""), author, tier)


def _user(name: str, author: str | None, tier: str | None) -> Json:
    return {
        "id": wire_id("user", author) if author else None,
        "userName": name,
        "displayName": author,
        "url": f"/{name}",
        "tier": tier,
    }


def _public(document: Json) -> Json:
    return {key: value for key, value in document.items() if not key.startswith("_")}
