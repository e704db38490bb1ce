"""One competition of the site: its snapshot, and its state at a time."""

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from bot.simulator.site.board import SimulatedLeaderboard, Team
from bot.simulator.site.competition_kinds import shown_size
from bot.simulator.site.competition_pages import make_pages
from bot.simulator.site.faults import Faults
from bot.simulator.site.forum import SimulatedForum
from bot.simulator.site.hidden_test import publish
from bot.simulator.site.identity import Numbers, wire_id
from bot.simulator.site.readings import Readings
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.storage import SimulatedDataFiles
from bot.simulator.site.submissions import SubmissionDesk
from scrapers.snapshots.manifest import DESCRIPTION
from scrapers.snapshots.snapshot import Snapshot

State = Literal["closed-early", "rules-changed", "data-changed", "unstable-lists"]


class SimulatedCompetition:
    """One competition's part of the site; kernels, uploads and files to download belong to the whole site."""

    def __init__(
        self,
        snapshot: Snapshot,
        settings: SiteSettings,
        faults: Faults,
        numbers: Numbers,
        refs: Iterator[int],
        published: Path | None = None,
    ) -> None:
        """Set up a competition; if it takes notebooks, `published` gets its data without the hidden rows.

        All data is public without that folder. `numbers` and `refs` are the site's, as its competitions share them.
        """
        card = snapshot.card
        self.snapshot = snapshot
        self.card = card
        self.slug = card.slug
        self.settings = settings
        self.takes_notebooks = card.kind == "code" or settings.kind == "notebooks"
        self.entered = settings.entered
        """Whether the user has joined."""
        self._faults = faults
        self.daily = settings.daily_submissions if card.max_daily_submissions is None else card.max_daily_submissions
        self.team_id = wire_id("team", f"{card.slug}/own")
        description = (snapshot.path / DESCRIPTION).read_text(encoding="utf-8", errors="replace")
        self.pages = make_pages(card, description, settings, self.daily)
        self.readings = Readings(snapshot.community.observations)
        self.forum = SimulatedForum(card.slug, snapshot.community, self.readings, numbers, settings)
        self.desk = SubmissionDesk(snapshot, settings, self.daily, refs)
        self.data = snapshot.data
        """What participants get; in a competition for notebooks that are run, without the hidden rows."""
        if published is not None and self.takes_notebooks:
            self.data = published
            publish(snapshot, published, share=settings.public_test, seed=settings.seed)
        self.files = SimulatedDataFiles(card.slug, self.data, card.enabled_at)
        total = sum(self.files.sizes.values())
        self.sizes = {name: shown_size(settings.kind, size, total) for name, size in self.files.sizes.items()}
        """Bytes of each data file, as they are listed."""

    @cached_property
    def board(self) -> SimulatedLeaderboard:
        """The other teams."""
        return SimulatedLeaderboard(self.snapshot, self.settings)

    def begun(self, now: datetime) -> bool:
        """Return whether the competition has begun."""
        return self.card.enabled_at <= now

    def deadline(self, now: datetime) -> datetime:
        """Return the deadline as shown at a time: hosts who close the competition early move it."""
        return min(self.card.deadline, self._since("closed-early", now) or self.card.deadline)

    def is_now(self, state: State, now: datetime) -> bool:
        """Return whether a fault's state holds, such as that the hosts have changed the rules."""
        return self._since(state, now) is not None

    def over(self, now: datetime) -> bool:
        """Return whether the competition has ended."""
        return now > self.deadline(now)

    def own_team(self, now: datetime) -> Team | None:
        """Return the user's own entry: its best public score, and the private score that counts in the end."""
        best, final, submissions = self.desk.best_public(now), self.desk.final(now), self.desk.all(now)
        if not best or best[0].public_score is None or final is None or final.private_score is None:
            return None
        return Team(
            id=self.team_id,
            name=self.settings.display_name,
            user=self.settings.user_name,
            last_submission_at=max(s.submitted_at for s in submissions),
            public=best[0].public_score,
            private=final.private_score,
            submissions=len(submissions),
        )

    def standings(self, now: datetime, *, private: bool) -> list[Team]:
        """Return the leaderboard with the user's own team, best first."""
        return self.board.standings(now, self.own_team(now), private=private)

    def _since(self, kind: State, now: datetime) -> datetime | None:
        return self._faults.since(kind, now, self.slug)
