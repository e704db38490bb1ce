"""The site: one account on one clock, and the competitions that are played back."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.faults import Faults
from bot.simulator.site.identity import Numbers
from bot.simulator.site.kernels import SimulatedKernels
from bot.simulator.site.running import Runner
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.storage import Storage
from bot.simulator.site.submissions import SimulatedSubmission, references
from bot.simulator.site.uploads import Uploads
from bot.simulator.site.wire import denied
from sandbox import Sandbox
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.errors import UsageError


class Site:
    """The stand-in's state; one event loop asks it, and another thread may read it.

    The account's part is here: token, uploads, files, kernels, faults, requests; each competition's is in `competitions`.
    Nothing that a snapshot hides from agents leaves the site: only the grader reads the answers.
    """

    def __init__(
        self,
        snapshot_or_list: Snapshot | Sequence[Snapshot],
        clock: Clock,
        settings: SiteSettings | None = None,
        faults: Faults | None = None,
        sandbox: Sandbox | None = None,
    ) -> None:
        """Set up a site that plays snapshots back, at the times in their cards; nothing is served yet.

        With a sandbox pushed notebooks are run, and competitions for notebooks hide most test rows.

        Raises:
            UsageError: no snapshot, the same competition twice, a fault of a competition that is not played, or test rows that
                cannot be hidden.
        """
        snapshots = [snapshot_or_list] if isinstance(snapshot_or_list, Snapshot) else list(snapshot_or_list)
        settings, faults = settings or SiteSettings(), faults or Faults()
        _check(snapshots, faults)
        self.clock = clock
        self.settings = settings
        self.faults = faults
        self.faults.begin(clock.now())
        self.requests: Counter[str] = Counter()
        """Requests received, by method."""
        numbers, refs = Numbers(), references(settings.seed)
        self.runner = Runner(sandbox) if sandbox else None
        published = self.runner.folder / "published" if self.runner else None
        self.competitions = tuple(
            SimulatedCompetition(s, settings, faults, numbers, refs, published and published / s.card.slug)
            for s in snapshots
        )
        """In the order given."""
        self._by_slug = {c.slug: c for c in self.competitions}
        self.kernels = SimulatedKernels()
        for competition in self.competitions:
            self.kernels.add(competition.snapshot, competition.readings)
        self.uploads = Uploads()
        self.storage = Storage([c.files for c in self.competitions])

    @property
    def submissions(self) -> Sequence[SimulatedSubmission]:
        """The user's submissions to all competitions as they stand now, in order of arrival."""
        now = self.clock.now()
        return sorted((s for c in self.competitions for s in c.desk.all(now)), key=lambda s: s.ref)

    @property
    def last_deadline(self) -> datetime:
        """When the last competition ends, if no host closes one early."""
        return max(c.card.deadline for c in self.competitions)

    def warm(self) -> None:
        """Read all answers now, so that the first submissions do not wait for that."""
        for competition in self.competitions:
            competition.desk.warm()

    def settle(self) -> None:
        """Return when all notebooks have run and all submissions have been graded, which takes real time."""
        if self.runner is not None:
            self.runner.settle()
        for competition in self.competitions:
            competition.desk.settle()

    def close(self) -> None:
        """Stop running and grading, and remove all files written."""
        if self.runner is not None:
            self.runner.close()
        for competition in self.competitions:
            competition.desk.close()
        self.storage.close()

    def competition(self, slug: str) -> SimulatedCompetition:
        """Return the competition that a request is about.

        Raises ApiError: 403, which Kaggle also answers for a competition that does not exist.
        """
        if slug not in self._by_slug:
            raise denied("competitions.participate")
        return self._by_slug[slug]


def _check(snapshots: Sequence[Snapshot], faults: Faults) -> None:
    if not snapshots:
        raise UsageError("no snapshots to simulate")
    slugs = Counter(s.card.slug for s in snapshots)
    repeated_slugs = [slug for slug, count in slugs.items() if count > 1]
    if repeated_slugs:
        raise UsageError(f"competition {repeated_slugs[0]} is listed twice")
    unknown = sorted(faults.competitions() - slugs.keys())
    if unknown:
        raise UsageError(f"a fault names the unknown competition {unknown[0]}; known: {', '.join(slugs)}")
