"""The site: one account on one clock, the competitions that are played back, and what answers about them."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from bot.rehearsal.competition import Competition
from bot.rehearsal.competition_lists import make_others
from bot.rehearsal.competition_methods import Competing
from bot.rehearsal.faults import Faults
from bot.rehearsal.forum_methods import Discussions
from bot.rehearsal.identity import Numbers
from bot.rehearsal.kernel_methods import Notebooks
from bot.rehearsal.kernel_runs import Sessions
from bot.rehearsal.kernels import Kernels
from bot.rehearsal.search import Search
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.storage import Storage
from bot.rehearsal.submission_methods import Submitting
from bot.rehearsal.submissions import Submission, references
from bot.rehearsal.uploads import Uploads
from bot.rehearsal.wire import denied
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.errors import UsageError


class Site:
    """What the stand-in knows; it is asked by one event loop, and may be looked at from another thread.

    What is the account's is here: token, uploads, files, kernels, faults, requests; what is a competition's is in
    `competitions`. Nothing that a snapshot keeps from agents leaves it: answers are read by the grader alone.
    """

    def __init__(
        self,
        played: Snapshot | Sequence[Snapshot],
        clock: Clock,
        settings: SiteSettings | None = None,
        faults: Faults | None = None,
    ) -> None:
        """Take a site into service; nothing is served yet.

        Args:
            played: what is played back, one or several, at the times that their cards say.
            clock: the site's time.
            settings: how it behaves; None is the default.
            faults: what goes wrong; None is nothing.

        Raises:
            UsageError: no snapshot, the same competition twice, or a fault of a competition that is not played.
        """
        snapshots = [played] if isinstance(played, Snapshot) else list(played)
        settings, faults = settings or SiteSettings(), faults or Faults()
        _check(snapshots, faults)
        self.clock = clock
        self.settings = settings
        self.faults = faults
        self.faults.begin(clock.now())
        self.requests: Counter[str] = Counter()
        """Requests that came, by method."""
        numbers, refs = Numbers(), references(settings.seed)
        self.competitions = tuple(Competition(one, settings, faults, numbers, refs) for one in snapshots)
        """In the order in which they were given."""
        self._by_slug = {one.slug: one for one in self.competitions}
        self.others = make_others(min(one.card.enabled_at for one in self.competitions), settings)
        self.kernels = Kernels()
        for one in self.competitions:
            self.kernels.add(one.snapshot, one.readings)
        self.uploads = Uploads(settings.link_seconds, settings.largest_upload)
        self.storage = Storage([one.files for one in self.competitions], settings.link_seconds)
        self.discussions = Discussions(self)
        self.notebooks = Notebooks(self.kernels, self.competition)
        self.search = Search(self)
        self.competing = Competing(self)
        self.submitting = Submitting(self)
        self.sessions = Sessions(self)

    @property
    def submissions(self) -> Sequence[Submission]:
        """The user's submissions to all competitions as they stand now, in the order in which they came."""
        now = self.clock.now()
        return sorted((sent for one in self.competitions for sent in one.desk.all(now)), key=lambda sent: sent.ref)

    @property
    def last_deadline(self) -> datetime:
        """When the last competition ends, if the hosts of none close it early."""
        return max(one.card.deadline for one in self.competitions)

    def warm(self) -> None:
        """Have all answers read now, so that the first submissions do not wait for it."""
        for one in self.competitions:
            one.desk.warm()

    def settle(self) -> None:
        """Return when all submissions have been graded, which takes real time whatever the site's clock says."""
        for one in self.competitions:
            one.desk.settle()

    def close(self) -> None:
        """Stop grading, and remove what was written."""
        for one in self.competitions:
            one.desk.close()
        self.storage.close()

    def competition(self, slug: str) -> Competition:
        """Return the competition that a request is about.

        Raises:
            Refused: 403, which Kaggle also answers for a competition that does not exist.
        """
        if slug not in self._by_slug:
            raise denied("competitions.participate")
        return self._by_slug[slug]


def _check(snapshots: Sequence[Snapshot], faults: Faults) -> None:
    if not snapshots:
        raise UsageError("there is no snapshot to play back")
    slugs = Counter(one.card.slug for one in snapshots)
    twice = [slug for slug, count in slugs.items() if count > 1]
    if twice:
        raise UsageError(f"the competition {twice[0]} is given twice; a site has each competition once")
    unknown = sorted(faults.competitions() - slugs.keys())
    if unknown:
        raise UsageError(f"a fault names the competition {unknown[0]}, which is not played; played: {', '.join(slugs)}")
