"""Sessions: the runs of pushed versions by the site's clock, and the time on GPUs that they take."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.simulator.site.identity import wire_id
from bot.simulator.site.kernels import Version
from bot.simulator.site.running import NotebookOutput, NotebookRun
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.wire import Json
from state.clock import midnight

_WEEK = timedelta(days=7)
_SATURDAY = 5


@dataclass
class SimulatedSession:
    """A run that is queued, goes on and ends at times of the site's clock, though not before it has really ended."""

    version: Version
    runs_at: datetime
    ends_at: datetime
    run: NotebookRun
    fails: bool
    """Whether a fault makes it fail, whatever it does."""
    cancelled: bool = False

    def status(self, now: datetime) -> str:
        """Return the status by Kaggle's name."""
        if self.cancelled:
            return "CANCEL_ACKNOWLEDGED" if self.run.future.done() else "CANCEL_REQUESTED"
        if now < self.runs_at:
            return "QUEUED"
        if now < self.ends_at or not self.run.future.done():
            return "RUNNING"
        return "ERROR" if self.fails or self.run.future.result().error else "COMPLETE"

    def ended(self, now: datetime) -> bool:
        """Return whether nothing more will come of it."""
        return self.status(now) in ("COMPLETE", "ERROR", "CANCEL_ACKNOWLEDGED")

    def outcome(self, now: datetime) -> NotebookOutput:
        """Return what it has left; nothing before its end, and only what it printed if it failed."""
        if not self.ended(now):
            return NotebookOutput()
        if self.fails:
            return NotebookOutput(log="The machine that ran this notebook was lost.\n")
        return self.run.future.result()

    def cancel(self) -> None:
        """End it."""
        self.cancelled = True
        self.run.stop()


class Sessions:
    """All sessions of the site."""

    def __init__(self, settings: SiteSettings) -> None:
        self._settings = settings
        self._rng = random.Random(f"{settings.seed}/sessions")  # noqa: S311 - nothing secret
        self._by_version: dict[tuple[str, int], SimulatedSession] = {}

    def begin(self, version: Version, now: datetime, run: NotebookRun, *, fails: bool) -> None:
        """Add the session of a new version."""
        queued, runs = (self._rng.uniform(*self._settings.kernel_seconds) / 2 for _ in range(2))
        starts = now + timedelta(seconds=queued)
        session = SimulatedSession(version, starts, starts + timedelta(seconds=runs), run, fails)
        self._by_version[version.ref, version.number] = session

    def find(self, version: Version) -> SimulatedSession | None:
        """Return a version's session; None for a version of the snapshot's, whose run is over."""
        return self._by_version.get((version.ref, version.number)) if version.row_id is None else None

    def by_number(self, number: int) -> SimulatedSession | None:
        """Return the session of that number, which is made of the version's name as the search does."""
        by_id = {wire_id("session", f"{ref}/{version}"): s for (ref, version), s in self._by_version.items()}
        return by_id.get(number)

    def refusal(self, now: datetime, *, gpu: bool) -> str | None:
        """Return why no further session may begin; None: one may."""
        going = sum(not s.ended(now) for s in self._by_version.values())
        if going >= self._settings.sessions_at_once:
            return (
                f"Maximum batch {'GPU' if gpu else 'CPU'} session count of {self._settings.sessions_at_once} reached."
            )
        hours = self._settings.gpu_hours
        if gpu and sum(self.gpu_seconds(now)) >= hours * 3600:
            return f"Maximum weekly GPU quota of {hours:.2f} hours reached."
        return None

    def refresh(self, now: datetime) -> datetime:
        """Return when the week's time on GPUs begins anew: on Saturday, 00:00 UTC."""
        return midnight(now, (_SATURDAY - now.weekday() - 1) % 7 + 1)

    def gpu_seconds(self, now: datetime) -> tuple[int, int]:
        """Return the seconds on GPUs that this week's ended sessions took, and those that running ones may take."""
        week = [s for s in self._by_version.values() if s.version.gpu and s.runs_at > self.refresh(now) - _WEEK]
        used_seconds = sum((s.ends_at - s.runs_at).total_seconds() for s in week if s.ended(now))
        return int(used_seconds), int(sum(not s.ended(now) for s in week) * self._settings.run_seconds)


def gpu_quota(used_seconds: int, reserved: int, hours: float) -> Json:
    """Return a kind of accelerator's quota as it is sent; durations are as Protocol Buffers write them."""
    return {"timeUsed": f"{used_seconds}s", "timeReserved": f"{reserved}s", "totalTimeAllowed": f"{int(hours * 3600)}s"}
