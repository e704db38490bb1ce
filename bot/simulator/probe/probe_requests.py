"""The questions of the probe: at most eighteen requests, none of which changes anything."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx2
from pydantic import Field, ValidationError

from bot.simulator.probe.exchange import ProbeExchange
from scrapers.kaggle.client import AnswerT, KaggleClient, Method, open_http
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.datasets import DataSets
from scrapers.kaggle.forum import Forum
from scrapers.kaggle.kernels import Kernels
from scrapers.kaggle.notebooks import Notebooks
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.search import METHOD as SEARCH
from scrapers.kaggle.search import Search, SearchPage, request_of
from scrapers.kaggle.settings import KaggleSection, Pace
from scrapers.kaggle.submissions import Submissions
from scrapers.kaggle.wire import ApiResponse
from state.clock import Clock
from state.errors import KaggleError, NotAuthenticated, SiteUnavailable, UnknownAnswer

MOST_REQUESTS = 18
BOARD_ROWS = 3
"""Rows requested of the leaderboard's top: few, to see whether `pageSize` counts."""
WRONG_NAME = "no-competition-has-this-name"
_MISSING = "kaggle/no-data-set-has-this-name"
_MOST_MESSAGES = 100
"""A topic with more is not read."""
_HEADERS = ("content-type", "retry-after", "x-kaggle-apiversion")

T = TypeVar("T")


async def ask_all(
    section: KaggleSection, slug: str, clock: Clock, credentials: Credentials, say: Callable[[str], None]
) -> tuple[ProbeExchange, ...]:
    """Put each question once, after saying it, and return what came of it; a refusal is an answer too.

    Without the competition itself nothing else is asked.

    Raises:
        NotAuthenticated: the key is refused.
        UsageError: the key would travel in the clear.
    """
    timeouts = section.timeouts.model_copy(update={"attempts": 1})
    pace = section.pace.model_copy(update={"per_day": MOST_REQUESTS, "reserved": 0.0})
    section = section.model_copy(update={"timeouts": timeouts, "pace": pace})
    recorded: list[ProbeExchange] = []
    async with open_http(timeouts) as http:
        meter = Tally()

        def recorder() -> _Recorder:
            return _Recorder(http, lambda: credentials, clock, meter, section).record_into(recorded, say)

        # A refused key closes a client: the question without a key has a client of its own.
        await _ask(recorder(), recorder(), slug, pace)
    return tuple(recorded)


async def _ask(client: "_Recorder", keyless: "_Recorder", slug: str, pace: Pace) -> None:
    site, submissions, forum = Competitions(client), Submissions(client, slug), Forum(client)
    competition = await client.ask("competition", site.get(slug))
    if competition is None:
        return
    title = competition.title or slug
    await client.ask("pages", site.pages(slug))
    await client.ask("files", anext(site.files(slug), None))
    await client.ask("data-summary", site.data_summary(slug))
    await client.ask("download", site.data_address(slug))
    await client.ask("leaderboard", site.top(slug, size=BOARD_ROWS))
    await client.ask("quota", submissions.limits())
    await client.ask("submissions", anext(submissions.all(), None))
    topics = await client.ask("topics", forum.topics(slug))
    short = (t for t in (topics.topics if topics else ()) if t.comment_count <= _MOST_MESSAGES)
    if topic := max(short, key=lambda t: t.comment_count, default=None):
        await client.ask("messages", forum.messages(slug, topic.id))
        await client.ask("topic", forum.topic(topic.id))
    await client.ask("kernels", Kernels(client).list_page(slug))
    await client.ask("search-kernels", Search(client).find("KERNEL", title))
    await client.clock.sleep(pace.min_interval)
    if not await keyless.ask("search-without-key", _search_without_key(keyless, title), refused_key=True):
        await client.ask("search-competition", Search(client).competition(slug, title))
    else:
        await client.ask("wrong-name", site.get(WRONG_NAME))
    data_sets = DataSets(client)
    await client.ask("gpu-hours", Notebooks(client).accelerator_quota())
    await client.ask("own-data-sets", anext(data_sets.own_data_sets(), None))
    await client.ask("missing-data-set", data_sets.status(_MISSING))


async def _search_without_key(client: KaggleClient, title: str) -> SearchPage:
    method = Method(SEARCH.service, SEARCH.name, SEARCH.family, open=True)
    return await client.call(method, request_of("COMPETITION", title), SearchPage, subject=title)


class _WholeAnswer(ApiResponse):
    content: Any = Field(default=None, exclude=True)

    @classmethod
    def read(cls, body: Any, served_at: Any) -> "_WholeAnswer":
        return cls.model_construct(content=body, served_at=served_at)


class _Recorder(KaggleClient):
    def record_into(self, recorded: list[ProbeExchange], say: Callable[[str], None]) -> "_Recorder":
        """Keep what comes in a list, and name each question before it is put."""
        self._recorded, self._say, self._name = recorded, say, ""
        self._head: httpx2.Response | None = None
        self._http.event_hooks["response"].append(self._note)
        return self

    async def ask(self, name: str, request: Awaitable[T], *, refused_key: bool = False) -> T | None:
        """Put a question; None if it was refused or not answered, with whatever came recorded.

        A missing key raises NotAuthenticated unless `refused_key` allows it.
        """
        self._name = name
        self._say(name)
        try:
            return await request
        except NotAuthenticated:
            if not refused_key:
                raise
        except (KaggleError, SiteUnavailable):
            pass
        return None

    async def call(
        self, method: Method, body: Mapping[str, Any], answer: type[AnswerT], *, subject: str = ""
    ) -> AnswerT:
        """Call as the client does, and keep the answer."""
        self._head = None
        try:
            answer_as_sent = await super().call(method, body, _WholeAnswer, subject=subject)
        except (KaggleError, SiteUnavailable) as error:
            self._keep(method, body, error)
            raise
        self._keep(method, body, answer_as_sent.content)
        try:
            return answer.read(answer_as_sent.content, self.clock.now())  # type: ignore[return-value]
        except ValidationError as error:
            raise UnknownAnswer(str(error)) from None

    async def location(self, method: Method, body: Mapping[str, Any], *, subject: str = "") -> str:
        """Ask for an address as the client does, and keep it."""
        self._head = None
        try:
            address = await super().location(method, body, subject=subject)
        except (KaggleError, SiteUnavailable) as error:
            self._keep(method, body, error)
            raise
        self._keep(method, body, {"location": address})
        return address

    def _keep(self, method: Method, body: Mapping[str, Any], answer: Any) -> None:
        status = self._head.status_code if self._head else None
        headers = self._head.headers if self._head else {}
        if isinstance(answer, KaggleError):
            status, answer = answer.status or status, _decoded(answer.body)
        elif isinstance(answer, SiteUnavailable):
            answer = None
        request = {name: value for name, value in body.items() if value is not None}
        kept_headers = {name: headers[name] for name in _HEADERS if name in headers}
        self._recorded.append(
            ProbeExchange(self._name, method.name, request, not method.open, status, kept_headers, answer)
        )

    async def _note(self, response: httpx2.Response) -> None:
        self._head = response


def _decoded(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body
