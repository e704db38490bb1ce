"""The poller: reads the parts of a competition that are due, retries failed ones later, and reports what is new."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.polling.facts import poll_board, poll_competitions, poll_data, poll_pages, poll_top
from scrapers.kaggle.polling.kernel_rows import kernels_to_read
from scrapers.kaggle.polling.kernels import poll_kernels, sweep_kernels
from scrapers.kaggle.polling.messages import poll_messages, reread_messages, topics_to_read
from scrapers.kaggle.polling.schedule import ORDER, UNTIMED, Schedule, is_refusal, ready
from scrapers.kaggle.polling.scores import poll_scores, poll_tiers
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.sources import poll_sources
from scrapers.kaggle.polling.submissions import poll_submissions
from scrapers.kaggle.polling.topics import poll_topics, sweep_topics
from scrapers.kaggle.polling.watch import News, Part, PollContext
from scrapers.posts.cleaners import Cleaners
from state.errors import BotError, KaggleError, NotAuthenticated, QuotaReached, SiteUnavailable, SubmissionRefused
from state.polling import mark_failed, watermarks
from state.store import Store
from state.tables import PolledKernel, PolledTopic

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

    ran: tuple[Part, ...]
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
