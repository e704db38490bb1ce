"""What a site shows through its interface, read plainly, to be compared with what a poller has stored."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from scrapers.kaggle.wire import parse_time
from scrapers.posts.cleaning import readable
from scrapers.posts.html import markdown_of
from scrapers.posts.kernel_text import text_of
from state.store import as_stored

Json = dict[str, Any]
_COMPETITIONS, _DISCUSSIONS = "competitions.CompetitionApiService", "discussions.DiscussionApiService"
_KERNELS, _SEARCH = "kernels.KernelsApiService", "search.SearchApiService"


@dataclass
class Shown:
    """Rows by id, each as a tuple."""

    topics: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """title, author, posted_at, sticky"""
    messages: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """topic, parent, author, posted_at, deleted, text"""
    versions: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """ref, version, title, author, kind, text, source"""
    run_at: dict[str, str] = field(default_factory=dict)
    """When each version was run."""
    current: set[str] = field(default_factory=set)
    signals: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    """By target, id and field: the latest value."""


class Reader:
    """Asks a site for all there is."""

    def __init__(self, url: str, slug: str, title: str) -> None:
        self._url, self._slug, self._title = url, slug, title
        self._http = httpx2.Client(trust_env=False, timeout=30)

    def read(self) -> Shown:
        shown = Shown()
        with self._http:
            for topic in self._pages(
                f"{_COMPETITIONS}/ListCompetitionTopics", "topics", sortBy="TOPIC_LIST_SORT_BY_NEW"
            ):
                self._topic(shown, topic)
            for kernel in self._pages(f"{_KERNELS}/ListKernels", "kernels", competition=self._slug, pageSize=50):
                self._kernel(shown, kernel)
            self._search(shown)
        return shown

    def _topic(self, shown: Shown, topic: Json) -> None:
        id = str(topic["id"])
        about = (topic["title"], topic["authorName"], _time(topic["postDate"]), int(topic.get("isSticky", False)))
        shown.topics[id] = about
        shown.signals["topic", id, "votes"] = topic.get("votes", 0)
        body = {"topicId": topic["id"], "pageSize": -1, "sortBy": "COMMENT_LIST_SORT_BY_OLD"}
        answer = self._ask(f"{_COMPETITIONS}/ListTopicMessages", competitionName=self._slug, **body)
        served = list(_flat(answer.get("messages", []), None))
        opening = self._ask(f"{_DISCUSSIONS}/GetTopic", id=topic["id"])["topic"]
        text = opening.get("content", "")
        if text and not any(one.get("content") == text for one, _ in served):
            at = _time(opening["postDate"])
            shown.messages[f"topic-{id}"] = (id, None, opening["authorName"], at, 0, markdown_of(text))
        for message, parent in served:
            self._message(shown, id, message, parent)

    def _message(self, shown: Shown, topic: str, message: Json, parent: str | None) -> None:
        id, deleted = str(message["id"]), int(message.get("isDeleted", False))
        raw, html = message.get("rawMarkdown", ""), message.get("content", "")
        text = readable(raw) if raw else markdown_of(html)
        about = (topic, parent, message.get("authorName"), _time(message["postDate"]), deleted, text)
        shown.messages[id] = about
        shown.signals["message", id, "votes"] = message.get("votes", 0)

    def _kernel(self, shown: Shown, kernel: Json) -> None:
        owner, _, slug = kernel["ref"].partition("/")
        for number in range(1, kernel["currentVersionNumber"] + 1):
            body = {"userName": owner, "kernelSlug": slug, "versionLabel": f"v{number}"}
            answer = self._ask(f"{_KERNELS}/GetKernel", missing_is_none=True, **body)
            if not answer:
                continue
            metadata, blob, id = answer["metadata"], answer["blob"], f"{kernel['id']}/v{number}"
            kind, source = blob["kernelType"], blob.get("source", "")
            text = text_of(source, language=blob["language"], kernel_type=kind)
            shown.versions[id] = (metadata["ref"], number, metadata["title"], metadata["author"], kind, text, source)
            shown.run_at[id] = _time(metadata["lastRunTime"])
        shown.current.add(id)
        shown.signals["kernel", id, "votes"] = kernel.get("totalVotes", 0)

    def _search(self, shown: Shown) -> None:
        current = {int(id.partition("/")[0]): id for id in shown.current}
        for kind, target in (("KERNEL", "kernel"), ("TOPIC", "topic"), ("COMMENT", "message")):
            for one in self._found(kind):
                if one["documentType"] != kind:
                    continue
                id = current[one["id"]] if kind == "KERNEL" else str(one["id"])
                if tier := one["ownerUser"].get("tier"):
                    shown.signals[target, id, "tier"] = tier
                facts = one.get("kernelDocument", {})
                if facts.get("hasLinkedSubmission"):
                    shown.signals[target, id, "public_score"] = facts["bestPublicScore"]

    def _found(self, kind: str) -> Iterator[Json]:
        token = ""
        while True:
            filters = {"query": self._title, "documentTypes": [kind]}
            answer = self._ask(f"{_SEARCH}/ListEntities", filters=filters, pageSize=100, pageToken=token)
            yield from answer.get("documents", [])
            token = answer.get("nextPageToken", "")
            if not token:
                return

    def _pages(self, method: str, name: str, **body: Any) -> Iterator[Json]:
        page = 1
        while found := self._ask(method, competitionName=self._slug, page=page, **body).get(name):
            yield from found
            page += 1

    def _ask(self, method: str, *, missing_is_none: bool = False, **body: Any) -> Json:
        headers = {"Authorization": "Bearer KGAT_rehearsal"}
        answer = self._http.post(f"{self._url}/v1/{method}", json=body, headers=headers)
        if missing_is_none and answer.status_code == 404:
            return {}
        assert answer.status_code == 200, answer.text
        return answer.json()


def stored(path: Path) -> Shown:
    """Return what a poller has stored, in the same shape."""
    found = Shown()
    with closing(sqlite3.connect(path)) as database:
        for id, *row in database.execute("SELECT id, title, author, posted_at, sticky FROM topic WHERE NOT deleted"):
            found.topics[id] = tuple(row)
        columns = "id, topic_id, parent_id, author, posted_at, deleted, markdown"
        for id, *row in database.execute(f"SELECT {columns} FROM message"):  # noqa: S608
            found.messages[id] = tuple(row)
        columns = "id, created_at, ref, version, title, author, kind, text, blob.data"
        kernels = f"SELECT {columns} FROM kernelversion JOIN blob ON raw_sha = sha256"  # noqa: S608
        for id, at, *row, packed in database.execute(kernels):
            found.versions[id], found.run_at[id] = (*row, zlib.decompress(packed).decode()), at
        found.current = {id for (id,) in database.execute("SELECT current_id FROM polledkernel WHERE gone_at IS NULL")}
        readings = database.execute("SELECT target, target_id, votes, public_score, tier FROM observation ORDER BY pk")
        for target, id, *values in readings:
            for name, value in zip(("votes", "public_score", "tier"), values, strict=True):
                if value is not None:
                    assert found.signals.get((target, id, name)) != value, "a reading is repeated"
                    found.signals[target, id, name] = value
    return found


def _flat(messages: list[Json], parent: str | None) -> Iterator[tuple[Json, str | None]]:
    for message in messages:
        yield message, parent
        yield from _flat(message.get("replies", []), str(message["id"]))


def _time(text: str) -> str:
    time = parse_time(text)
    assert time is not None
    return as_stored(time)
