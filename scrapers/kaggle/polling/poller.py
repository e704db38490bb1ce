"""The poller: reads a competition's parts that are due, facts, pages and boards among them, and reports what is new."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competitions, KaggleCompetition
from scrapers.kaggle.polling.kernel_rows import kernels_to_read
from scrapers.kaggle.polling.kernels import poll_kernels, poll_sources, sweep_kernels
from scrapers.kaggle.polling.messages import poll_messages, reread_messages, topics_to_read
from scrapers.kaggle.polling.schedule import ORDER, UNTIMED, Schedule, is_refusal, ready
from scrapers.kaggle.polling.scores import poll_scores, poll_tiers
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.submissions import poll_submissions
from scrapers.kaggle.polling.topics import poll_topics, sweep_topics
from scrapers.kaggle.polling.watch import News, Part, PollContext
from scrapers.kaggle.wire import wire_time
from scrapers.posts.cleaners import Cleaners
from state.errors import (
    BotError,
    Forbidden,
    KaggleError,
    NotAuthenticated,
    NotFound,
    QuotaReached,
    SiteUnavailable,
    SubmissionRefused,
)
from state.polling import mark_failed, watermarks
from state.series import last_readings, record_absence, take_reading
from state.store import Store
from state.tables import PolledKernel, PolledTopic

_VOLATILE = ("team_count", "user_rank")
_FACTS = (
    *("id", "title", "url", "category", "reward", "deadline", "merger_deadline", "new_entrant_deadline"),
    *("enabled_date", "max_daily_submissions", "max_team_size", "evaluation_metric", "awards_points"),
    *("is_kernels_submissions_only", "submissions_disabled", "user_has_entered"),
)


async def poll_competitions(watch: PollContext) -> None:
    """Read which competitions this account has entered, with their deadlines and flags, and which have disappeared.

    One that is no longer listed is requested by itself before it counts as gone. Errors as of `KaggleClient`.
    """
    site, competitions = Competitions(watch.client), dict[str, KaggleCompetition]()
    async for competition in site.list_entered():
        if competition.slug:
            competitions[competition.slug] = competition
    with watch.store.read() as session:
        known_slugs = {slug for slug, _ in last_readings(session, None, "competition")}
    for slug in sorted(known_slugs - competitions.keys()):
        with suppress(NotFound, Forbidden):
            competitions[slug] = await site.get(slug)
    served_at = next((competition.served_at for competition in competitions.values()), None)
    with watch.write() as tx:
        for slug, competition in competitions.items():
            facts, volatile = _fields(competition, _FACTS), _fields(competition, _VOLATILE)
            if take_reading(tx, slug, "competition", "", facts, served_at=competition.served_at):
                watch.news.add("competition changed" if slug in known_slugs else "competition new", slug)
            take_reading(tx, slug, "standing", "", volatile, served_at=competition.served_at)
        for slug in known_slugs - competitions.keys():
            if record_absence(tx, slug, "competition", "", served_at):
                watch.news.add("competition gone", slug)
        watch.move(tx, "competitions", None, served_at)


async def poll_pages(watch: PollContext) -> None:
    """Read the competition's pages; see `state.series.rules_hash`. Errors as of `KaggleClient`."""
    pages = await Competitions(watch.client).pages(watch.competition)
    slug = watch.competition
    served_at = next((page.served_at for page in pages), None)
    with watch.write() as tx:
        names = {name for _, name in last_readings(tx.session, slug, "page")}
        for page in pages:
            facts = {"mime_type": page.mime_type, "title": page.post_title}
            if take_reading(tx, slug, "page", page.name, facts, content=page.content, served_at=page.served_at):
                watch.news.add("page changed", page.name)
        # If there is no page at all, the answer is wrong, not the competition.
        for name in names - {page.name for page in pages} if pages else ():
            if record_absence(tx, slug, "page", name, served_at):
                watch.news.add("page changed", name)
        watch.move(tx, "pages", None, served_at)


async def poll_data(watch: PollContext) -> None:
    """Read the summary of the competition's data, which changes when hosts replace files. Errors as of `KaggleClient`."""
    answer = await Competitions(watch.client).data_summary(watch.competition)
    types = {file_type.extension: [file_type.file_count, file_type.total_size] for file_type in answer.types}
    # An empty summary, or one without a number, is no news: the site lists data incompletely at times.
    is_complete = bool(types) and all(map(all, types.values()))
    with watch.write() as tx:
        if is_complete and take_reading(
            tx, watch.competition, "data", "", {"types": types}, served_at=answer.served_at
        ):
            watch.news.add("data changed", watch.competition)
        watch.move(tx, "data", None, answer.served_at)


async def poll_top(watch: PollContext) -> None:
    """Read the top of the leaderboard. Errors as of `KaggleClient`."""
    answer = await Competitions(watch.client).top(watch.competition, size=watch.settings.top_size)
    rows = [
        {
            **{"team_id": entry.team_id, "team": entry.team_name, "score": entry.score},
            "at": wire_time(entry.submission_date) if entry.submission_date else None,
        }
        for entry in answer.submissions
    ]
    order = read_order([entry.score for entry in answer.submissions])
    _store_board(watch, "top", "top", rows, answer.served_at, direction=order.direction)


async def poll_board(watch: PollContext) -> None:
    """Read the whole leaderboard. Errors as of `KaggleClient`."""
    rows, served_at = await Competitions(watch.client).board(watch.competition)
    _store_board(watch, "board", "whole", list(map(asdict, rows)), served_at)


def _store_board(
    watch: PollContext, part: Part, name: str, rows: list[dict[str, Any]], served_at: datetime | None, **facts: Any
) -> None:
    content, facts = json.dumps(rows, ensure_ascii=False), {"teams": len(rows), **facts}
    with watch.write() as tx:
        if take_reading(tx, watch.competition, "board", name, facts, content=content, served_at=served_at):
            watch.news.add("board changed", name)
        watch.move(tx, part, None, served_at)


def _fields(competition: KaggleCompetition, names: tuple[str, ...]) -> dict[str, Any]:
    fields = competition.model_dump(mode="json", include=set(names))
    return {name: fields[name] for name in names}


_POLLS: Mapping[Part, Callable[[PollContext], Awaitable[None]]] = {
    "competitions": poll_competitions,
    "topics": poll_topics,
    "topic_sweep": sweep_topics,
    "messages": poll_messages,
    "rereads": reread_messages,
    "kernels": poll_kernels,
    "kernel_sweep": sweep_kernels,
    "sources": poll_sources,
    "scores": poll_scores,
    "tiers": poll_tiers,
    "pages": poll_pages,
    "data": poll_data,
    "top": poll_top,
    "board": poll_board,
    "submissions": poll_submissions,
}
_OF_THE_SITE = (KaggleError, SiteUnavailable, QuotaReached, SubmissionRefused)
"""The errors of Kaggle's answers, or of missing ones."""


@dataclass(frozen=True)
class Cycle:
    """The result of one cycle."""

    finished: tuple[Part, ...]
    """Parts that were read to their end."""
    failed: Mapping[Part, BotError]
    """Parts that were not, and are tried again after a pause."""
    news: News


@dataclass(frozen=True)
class Poller:
    """Reads competitions repeatedly into the store; only one poller at a time reads a competition.

    Whether an error, a cancellation or the end of the process stops it, the store stays consistent, and the next cycle
    continues where this one stopped: each answer's rows are stored together with the watermark that relies on them.
    """

    client: KaggleClient
    store: Store
    cleaners: Cleaners
    settings: PollingSettings = field(default_factory=PollingSettings)

    async def cycle(self, competition: str, *, everything: bool = False) -> Cycle:
        """Read what is due, or with `everything` all, in full; a part that fails does not stop the others.

        Raises:
            NotAuthenticated: nothing more can be read until a person provides another token.
            StateUnavailable, StateCorrupted: nothing can be stored; what was stored before stays.
        """
        news, parts, failures = News(), [], {}
        start = self.client.clock.now()
        watch = PollContext(
            competition, self.client, self.store, self.cleaners, self.settings, news, start if everything else None
        )
        due = self._due(competition)
        for part in ORDER:
            if part in UNTIMED:
                due = self._due(competition)  # lists that were just read may have made further parts due
            if not everything and part not in due:
                continue
            try:
                await self._run(watch, part)
            except NotAuthenticated:
                raise
            except _OF_THE_SITE as error:
                failures[part] = error
            else:
                parts.append(part)
        return Cycle(tuple(parts), failures, news)

    async def poll(self, competition: str, part: Part) -> News:
        """Read one part now, due or not, such as `pages` before a submission; errors as of `KaggleClient`."""
        watch = PollContext(competition, self.client, self.store, self.cleaners, self.settings)
        await self._run(watch, part)
        return watch.news

    def wait(self, competition: str) -> float:
        """Return the seconds until something of a competition is due, 0 where something is."""
        return self._schedule(competition).wait(self.client.clock.now())

    async def _run(self, watch: PollContext, part: Part) -> None:
        if part == "competitions":
            watch = replace(watch, competition="")
        try:
            await _POLLS[part](watch)
        except _OF_THE_SITE as error:
            with watch.write() as tx:
                mark_failed(tx, watch.competition, part, error, refused=is_refusal(error))
            raise

    def _due(self, competition: str) -> list[Part]:
        return self._schedule(competition).due(self.client.clock.now())

    def _schedule(self, competition: str) -> Schedule:
        now = self.client.clock.now()
        with self.store.read() as session:
            marks = {**watermarks(session, competition), **watermarks(session, "")}
            unread: dict[Part, list[PolledTopic] | list[PolledKernel]] = {
                "messages": ready(topics_to_read(session, competition), now, self.settings),
                "sources": ready(kernels_to_read(session, competition, self.settings, now), now, self.settings),
            }
        return Schedule(self.settings, marks, frozenset(part for part, units in unread.items() if units))
