"""The site: a snapshot, a clock and settings, and all that is known of the competition at the clock's time."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from bot.rehearsal.board import Board, Team
from bot.rehearsal.competing import Competing
from bot.rehearsal.competition import make_others
from bot.rehearsal.discussions import Discussions
from bot.rehearsal.faults import Faults
from bot.rehearsal.forum import Forum
from bot.rehearsal.identity import wire_id
from bot.rehearsal.kernels import Kernels
from bot.rehearsal.notebooks import Notebooks
from bot.rehearsal.pages import make_pages
from bot.rehearsal.readings import Readings
from bot.rehearsal.search import Search
from bot.rehearsal.sessions import Runner, Sessions
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.storage import Storage
from bot.rehearsal.submissions import Submission, SubmissionDesk
from bot.rehearsal.submitting import Submitting, own_team
from bot.rehearsal.uploads import Uploads
from bot.rehearsal.wire import denied
from scrapers.manifest import DESCRIPTION
from scrapers.snapshot import Snapshot
from state.clock import Clock


class Site:
    """What the stand-in knows; it is asked by one event loop, and may be looked at from another thread.

    Nothing that the snapshot keeps from agents leaves it: answers are read by the grader alone.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        clock: Clock,
        settings: SiteSettings | None = None,
        faults: Faults | None = None,
        runner: Runner | None = None,
    ) -> None:
        """Take a site into service; nothing is served yet.

        Args:
            snapshot: what is played back.
            clock: the site's time.
            settings: how it behaves; None is the default.
            faults: what goes wrong; None is nothing.
            runner: runs the kernels that are pushed; None runs none, and lets each write the sample submission.
        """
        settings = settings or SiteSettings()
        card = snapshot.card
        self.snapshot = snapshot
        self.card = card
        self.clock = clock
        self.settings = settings
        self.faults = faults or Faults()
        self.faults.begin(clock.now())
        self.daily = settings.daily_submissions if card.max_daily_submissions is None else card.max_daily_submissions
        self.requests: Counter[str] = Counter()
        """Requests that came, by method."""
        self.entered = settings.entered
        self.team_id = wire_id("team", f"{card.slug}/own")
        self.others = make_others(card, settings)
        description = (snapshot.path / DESCRIPTION).read_text(encoding="utf-8", errors="replace")
        self.pages = make_pages(card, description, settings, self.daily)
        readings = Readings(snapshot.community.observations)
        self.forum = Forum(snapshot.community, readings, sticky=settings.sticky_topics, depth=settings.reply_depth)
        self.kernels = Kernels(snapshot.path, snapshot.community, readings, card.slug)
        self.discussions = Discussions(card.slug, self.forum, settings, self.check)
        self.notebooks = Notebooks(self.kernels, settings, self.check)
        self.search = Search(card, self.kernels, self.forum, self.discussions, readings, settings)
        self.uploads = Uploads(settings.link_seconds, settings.largest_upload)
        self.desk = SubmissionDesk(snapshot, settings, self.daily)
        self.storage = Storage(snapshot.data, card.slug, card.enabled_at, settings.link_seconds)
        self.competing = Competing(self)
        self.submitting = Submitting(self)
        self.sessions = Sessions(self, runner)

    @cached_property
    def board(self) -> Board:
        """The other teams."""
        return Board(self.snapshot, self.settings)

    @property
    def submissions(self) -> Sequence[Submission]:
        """The user's submissions as they stand now, in the order in which they came."""
        return self.desk.all(self.clock.now())

    def close(self) -> None:
        """Stop grading, and remove what was written."""
        self.desk.close()
        self.storage.close()

    def check(self, slug: str) -> None:
        """Check that a request is about the competition that is played back.

        Raises:
            Refused: 403, which Kaggle also answers for a competition that does not exist.
        """
        if slug != self.card.slug:
            raise denied("competitions.participate")

    def deadline(self, now: datetime) -> datetime:
        """Return the deadline as it is told at a time: hosts who close the competition early move it."""
        return min(self.card.deadline, self.faults.since("closed-early", now) or self.card.deadline)

    def closed_early(self, now: datetime) -> bool:
        """Return whether the hosts have closed the competition."""
        return self.faults.since("closed-early", now) is not None

    def rules_changed(self, now: datetime) -> bool:
        """Return whether the hosts have changed the rules."""
        return self.faults.since("rules-changed", now) is not None

    def over(self, now: datetime) -> bool:
        """Return whether the competition has ended."""
        return now > self.deadline(now)

    def standings(self, now: datetime, *, private: bool) -> list[Team]:
        """Return the leaderboard with the user's own team, best first."""
        return self.board.standings(now, own_team(self, now), private=private)
