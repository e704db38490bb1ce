"""The poller: runs what is due of a competition, keeps what failed for the next time, and tells what was new."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.polling.facts import poll_board, poll_competitions, poll_pages, poll_top
from scrapers.kaggle.polling.kernel_rows import moved_kernels
from scrapers.kaggle.polling.kernels import poll_kernels, sweep_kernels
from scrapers.kaggle.polling.messages import moved_topics, poll_messages, reread_messages
from scrapers.kaggle.polling.schedule import ORDER, UNTIMED, Last, Schedule, ready, refusal
from scrapers.kaggle.polling.scores import poll_scores, poll_tiers
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.kaggle.polling.sources import poll_sources
from scrapers.kaggle.polling.submissions import poll_submissions
from scrapers.kaggle.polling.topics import poll_topics, sweep_topics
from scrapers.kaggle.polling.watch import News, Part, Watch
from scrapers.posts.cleaners import Cleaners
from state.errors import BotError, KaggleError, NotAuthenticated, QuotaReached, SiteUnavailable, SubmissionRefused
from state.polling import mark_failed, watermarks
from state.store import Store

_POLLS: Mapping[Part, Callable[[Watch], Awaitable[None]]] = {
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
    "top": poll_top,
    "board": poll_board,
    "submissions": poll_submissions,
}
_OF_THE_SITE = (KaggleError, SiteUnavailable, QuotaReached, SubmissionRefused)
"""What Kaggle's answers, or their want, become."""


@dataclass(frozen=True)
class Cycle:
    """What one cycle did."""

    ran: tuple[Part, ...]
    """What was read to its end."""
    failed: Mapping[Part, BotError]
    """What was not, and is tried again after a pause."""
    news: News


@dataclass(frozen=True)
class Poller:
    """Reads competitions again and again into the store; one poller at a time reads one competition.

    Whatever ends it, an error, a cancellation or the end of the process, what is stored is whole, and the next cycle goes
    on where this one was: each answer's rows are stored together with the watermark that counts on them.
    """

    client: KaggleClient
    store: Store
    cleaners: Cleaners
    settings: PollingSettings = field(default_factory=PollingSettings)

    async def cycle(self, competition: str, *, everything: bool = False) -> Cycle:
        """Read what is due.

        A part that fails keeps no other from being read.

        Args:
            competition: its slug.
            everything: read all parts, and of those that are read little by little all that there is.

        Raises:
            NotAuthenticated: nothing more can be read until a person gives another token.
            StateUnavailable, StateCorrupted: nothing can be stored; what was stored before stays.
        """
        news, ran, failures = News(), [], {}
        began = self.client.clock.now()
        watch = Watch(
            competition, self.client, self.store, self.cleaners, self.settings, news, began if everything else None
        )
        due = self._due(competition)
        for part in ORDER:
            if part in UNTIMED:
                due = self._due(competition)  # lists that were read just now may have told of something
            if not everything and part not in due:
                continue
            try:
                await self._run(watch, part)
            except NotAuthenticated:
                raise
            except _OF_THE_SITE as error:
                failures[part] = error
            else:
                ran.append(part)
        return Cycle(tuple(ran), failures, news)

    async def poll(self, competition: str, part: Part) -> News:
        """Read one part now, due or not, such as `pages` before a submission; errors as of `KaggleClient`."""
        watch = Watch(competition, self.client, self.store, self.cleaners, self.settings)
        await self._run(watch, part)
        return watch.news

    def wait(self, competition: str) -> float:
        """Return the seconds until something of a competition is due, 0 where something is."""
        schedule, lasts = self._standing(competition)
        return schedule.wait(lasts, self.client.clock.now())

    async def _run(self, watch: Watch, part: Part) -> None:
        if part == "competitions":
            watch = replace(watch, competition="")
        try:
            await _POLLS[part](watch)
        except _OF_THE_SITE as error:
            with watch.write() as tx:
                mark_failed(tx, watch.competition, part, error, refused=refusal(error))
            raise

    def _due(self, competition: str) -> list[Part]:
        schedule, lasts = self._standing(competition)
        return schedule.due(lasts, self.client.clock.now())

    def _standing(self, competition: str) -> tuple[Schedule, dict[Part, Last]]:
        """Return what a schedule goes by, as it is stored."""
        now = self.client.clock.now()
        with self.store.read() as session:
            rows = {**watermarks(session, competition), **watermarks(session, "")}
            moved = {
                "messages": ready(moved_topics(session, competition), now, self.settings),
                "sources": ready(moved_kernels(session, competition), now, self.settings),
            }
        lasts: dict[Part, Last] = {
            part: Last(row.at, row.tried_at, row.failures, row.refused)
            for part in ORDER
            if (row := rows.get(part)) is not None
        }
        return (
            Schedule(
                self.settings,
                waiting=frozenset(part for part in ORDER if moved.get(part)),
            ),
            lasts,
        )
