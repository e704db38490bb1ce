"""A competition at a site that a test changes as it likes, and that notes what it was asked."""

import asyncio
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2

from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.settings import Pace, Timeouts
from scrapers.kaggle.wire import wire_time
from scrapers.posts.cleaners import Cleaners
from state.store import Store
from tests.scrapers.in_process import Here
from tests.scrapers.kaggle.parts import START, SetClock, client_of

SLUG = "leaf"
TITLE = "Leaf Classification"
Json = dict[str, Any]
Answer = Callable[[], httpx2.Response]


@dataclass
class Post:
    """A message, with the replies to it."""

    id: int
    text: str
    author: str = "ann"
    at: datetime = START
    votes: int = 0
    raw: str = ""
    deleted: bool = False
    replies: list["Post"] = field(default_factory=list)

    def shown(self) -> Json:
        text = {} if self.deleted else {"content": f"<p>{self.text}</p>", "authorName": self.author}
        raw = {"rawMarkdown": self.raw} if self.raw and not self.deleted else {}
        replies = [reply.shown() for reply in self.replies]
        return {
            **{"id": self.id, "postDate": wire_time(self.at), "votes": self.votes, "isDeleted": self.deleted},
            **{**text, **raw, "replies": replies},
        }

    def all(self) -> Iterator["Post"]:
        yield self
        for reply in self.replies:
            yield from reply.all()


@dataclass
class Thread:
    """A topic with its opening message and what came after."""

    id: int
    title: str
    opening: Post
    comments: list[Post] = field(default_factory=list)
    votes: int = 0
    sticky: bool = False

    @property
    def last(self) -> datetime:
        posts = [self.opening, *(post for comment in self.comments for post in comment.all())]
        return max(post.at for post in posts)

    def shown(self) -> Json:
        return {
            **{"id": self.id, "title": self.title, "authorName": self.opening.author, "votes": self.votes},
            **{"postDate": wire_time(self.opening.at), "lastCommentPostDate": wire_time(self.last)},
            **{"commentCount": sum(1 for one in self.comments for _ in one.all()), "isSticky": self.sticky},
        }


@dataclass
class Kernel:
    """A kernel; its versions are (when it was run, source), counted from 1."""

    id: int
    ref: str
    versions: list[tuple[datetime, str]]
    votes: int = 0
    kind: str = "script"
    score: float | None = None
    tier: str = "EXPERT"
    hidden: set[int] = field(default_factory=set)
    """Numbers of versions that nobody may see."""

    def shown(self, number: int | None = None, *, numbers: bool = True) -> Json:
        number = number or len(self.versions)
        owner, _, slug = self.ref.partition("/")
        return {
            **{"id": self.id, "ref": self.ref, "title": slug, "author": owner.title(), "slug": slug},
            **{"lastRunTime": wire_time(self.versions[number - 1][0]), "language": "python", "kernelType": self.kind},
            **{"totalVotes": self.votes, **({"currentVersionNumber": number} if numbers else {})},
        }


@dataclass
class World:
    """The site; `bad` holds answers that come before the right ones, by method."""

    clock: SetClock = field(default_factory=SetClock)
    threads: dict[int, Thread] = field(default_factory=dict)
    kernels: dict[int, Kernel] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=lambda: {"rules": "Be nice.", "evaluation": "RMSE"})
    data: dict[str, int] = field(default_factory=lambda: {".csv": 1_000})
    board: list[tuple[int, str, float]] = field(default_factory=lambda: [(1, "ann", 0.5), (2, "bob", 0.6)])
    submissions: list[Json] = field(default_factory=list)
    competitions: list[Json] = field(default_factory=list)
    found: dict[str, list[Json]] = field(default_factory=dict)
    page_size: int = 20
    opening_included: bool = True
    ordered: bool = True
    numbers_listed: bool = True
    bad: dict[str, list[Answer]] = field(default_factory=dict)
    before: Callable[[str, Json], None] = lambda method, body: None
    """Called with each request before it is answered."""
    asked: list[tuple[str, Json]] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        method, body = request.url.path.rsplit("/", 1)[-1], json.loads(request.content or b"{}")
        self.asked.append((method, body))
        self.before(method, body)
        if self.bad.get(method):
            return self.bad[method].pop(0)()
        answer = getattr(self, f"_{method}")(body)
        headers = {"Date": format_datetime(self.clock.now(), usegmt=True)}
        if isinstance(answer, httpx2.Response):
            return answer
        return httpx2.Response(200, json=answer, headers=headers)

    def methods(self) -> list[str]:
        """Return what was asked since the last time, by method."""
        asked = [method for method, _ in self.asked]
        self.asked.clear()
        return asked

    def thread(self, id: int, *, minutes: float = 0, text: str | None = None, **more: Any) -> Thread:
        """Open a topic that many minutes after the start."""
        opening = Post(id * 100, text or f"opening {id}", at=START + timedelta(minutes=minutes))
        self.threads[id] = Thread(id, f"Topic {id}", opening, **more)
        return self.threads[id]

    def comment(self, topic: int, id: int, *, minutes: float, to: Post | None = None, **more: Any) -> Post:
        post = Post(id, more.pop("text", f"comment {id}"), at=START + timedelta(minutes=minutes), **more)
        (to.replies if to else self.threads[topic].comments).append(post)
        return post

    def kernel(self, id: int, *, minutes: float = 0, **more: Any) -> Kernel:
        self.kernels[id] = Kernel(
            id, f"ann/kernel-{id}", [(START + timedelta(minutes=minutes), f"print({id})")], **more
        )
        return self.kernels[id]

    def run(self, id: int, source: str, *, minutes: float) -> None:
        self.kernels[id].versions.append((START + timedelta(minutes=minutes), source))

    def _ListCompetitionTopics(self, body: Json) -> Json:
        by_posting = body["sortBy"].endswith("NEW")
        threads = sorted(self.threads.values(), key=lambda t: t.opening.at if by_posting else t.last, reverse=True)
        if not self.ordered and not by_posting:
            threads.sort(key=lambda thread: thread.id % 7)
        threads.sort(key=lambda thread: not thread.sticky)
        start = (body["page"] - 1) * self.page_size
        page = threads[start : start + self.page_size]
        return {"topics": [one.shown() for one in page], "totalCount": len(threads)} if page else {}

    def _ListTopicMessages(self, body: Json) -> Json | httpx2.Response:
        thread = self.threads.get(body["topicId"])
        if thread is None:
            return missing()
        return {"messages": [p.shown() for p in [thread.opening] * self.opening_included + thread.comments]}

    def _GetTopic(self, body: Json) -> Json | httpx2.Response:
        thread = self.threads.get(body["id"])
        if thread is None:
            return missing()
        opening = thread.opening
        content = {} if opening.deleted else {"content": f"<p>{opening.text}</p>"}
        about = {"id": thread.id, "title": thread.title, "postDate": wire_time(opening.at)}
        return {"topic": {**about, "authorName": opening.author, **content}}

    def _ListKernels(self, body: Json) -> Json:
        kernels = sorted(self.kernels.values(), key=lambda kernel: kernel.versions[-1][0], reverse=True)
        start = (body["page"] - 1) * self.page_size
        page = kernels[start : start + self.page_size]
        return {"kernels": [one.shown(numbers=self.numbers_listed) for one in page]}

    def _GetKernel(self, body: Json) -> Json | httpx2.Response:
        ref = f"{body['userName']}/{body['kernelSlug']}"
        kernel = next((one for one in self.kernels.values() if one.ref == ref), None)
        if kernel is None:
            return httpx2.Response(403, json={"code": 403, "message": "Permission 'kernels.get' was denied"})
        label = body.get("versionLabel")
        number = int(label.removeprefix("v")) if label else len(kernel.versions)
        if number > len(kernel.versions) or number in kernel.hidden:
            return missing()
        blob = {"source": kernel.versions[number - 1][1], "language": "python", "kernelType": kernel.kind}
        return {"metadata": kernel.shown(number), "blob": blob}

    def _ListEntities(self, body: Json) -> Json:
        assert body["filters"]["query"] == TITLE
        (kind,) = body["filters"]["documentTypes"]
        made = [self._found(kernel) for kernel in self.kernels.values()] if kind == "KERNEL" else []
        return {"documents": [*made, *self.found.get(kind, [])]}

    def _found(self, kernel: Kernel) -> Json:
        owner, _, slug = kernel.ref.partition("/")
        facts = {"bestPublicScore": kernel.score or 0.0, "hasLinkedSubmission": kernel.score is not None}
        user = {"id": 7, "userName": owner, "displayName": owner.title(), "tier": kernel.tier}
        return {
            **{"id": kernel.id, "documentType": "KERNEL", "slug": slug},
            **{"ownerUser": user, "kernelDocument": facts},
        }

    def _GetCompetition(self, body: Json) -> Json | httpx2.Response:
        if body["competitionName"] != SLUG:
            return httpx2.Response(403, json={"code": 403, "message": "Permission 'competitions.get' was denied"})
        return {"id": 1, "ref": f"https://www.kaggle.com/competitions/{SLUG}", "title": TITLE}

    def _ListCompetitions(self, body: Json) -> Json:
        return {"competitions": self.competitions} if body["page"] == 1 and self.competitions else {}

    def _ListCompetitionPages(self, body: Json) -> Json:
        return {"pages": [{"name": name, "content": text} for name, text in self.pages.items()]}

    def _GetCompetitionDataFilesSummary(self, body: Json) -> Json:
        types = [{"extension": one, "fileCount": 2, "totalSize": size} for one, size in self.data.items()]
        return {"fileSummaryInfo": {"totalFileCount": 2 * len(types), "fileTypes": types}}

    def _GetLeaderboard(self, body: Json) -> Json:
        rows = ({"teamId": id, "teamName": team, "score": str(score)} for id, team, score in self.board)
        return {"submissions": list(rows)}

    def _DownloadLeaderboard(self, body: Json) -> httpx2.Response:
        rows = [f"{rank},{id},{team},{score},1" for rank, (id, team, score) in enumerate(self.board, start=1)]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            text = "\n".join(["Rank,TeamId,TeamName,Score,SubmissionCount", *rows])
            archive.writestr("leaf-publicleaderboard.csv", "\ufeff" + text)
        return httpx2.Response(200, content=packed.getvalue())

    def _ListSubmissions(self, body: Json) -> Json:
        return {"submissions": self.submissions} if body["page"] == 1 else {}

    def _GetSubmissionLimits(self, body: Json) -> Json:
        return {"numToday": len(self.submissions), "numAllowedNow": 5 - len(self.submissions)}


def peopled(world: World) -> World:
    """Fill a world with some of everything, on several pages."""
    world.page_size = 4
    for id in range(1, 7):
        world.thread(id, minutes=id, votes=id % 3, sticky=id == 1)
        first = world.comment(id, 10_000 + id, minutes=30 + id, votes=1)
        world.comment(id, 20_000 + id, minutes=60 + id, to=first, author="bob")
    for id in range(1, 7):
        world.kernel(id, minutes=id, score=id / 10)
    world.competitions = [
        {"ref": f"https://www.kaggle.com/competitions/{SLUG}", "title": TITLE, "userHasEntered": True}
    ]
    world.submissions = [{"ref": 7, "status": "COMPLETE", "publicScore": "0.5"}]
    user = {"id": 5, "userName": "ann", "displayName": "ann", "tier": "MASTER"}
    world.found["TOPIC"] = [{"id": id, "documentType": "TOPIC", "ownerUser": user} for id in range(1, 7)]
    return world


def missing() -> httpx2.Response:
    return httpx2.Response(404, json={"error": {"code": 404, "message": "Not found", "status": "NOT_FOUND"}})


def down() -> httpx2.Response:
    return httpx2.Response(503, text="<html>busy</html>")


@asynccontextmanager
async def poller_of(
    world: World, store: Store, settings: PollingSettings | None = None, *, cleaners: Cleaners | None = None
) -> Any:
    """Yield a poller of a world, which asks each question once and never waits for its turn."""
    pace, timeouts = (
        Pace(per_minute=1e6, burst=10**6, min_interval=0.0, initial_cooldown=0.001, max_cooldown=0.001),
        Timeouts(attempts=1),
    )

    async def site(request: httpx2.Request) -> httpx2.Response:
        response = world(request)
        await asyncio.sleep(0)  # as on a network, others may do something meanwhile, such as cancel
        return response

    async with client_of(site, world.clock, pace=pace, timeouts=timeouts) as client:
        yield Poller(client, store, cleaners or Here(), settings or PollingSettings())
