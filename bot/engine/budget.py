"""A run's time and steps: what may still be started so that everything ends in time."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bot.engine.strategy import Remaining

FINISH_SECONDS = 5.0
FINISH_SHARE = 0.01
"""Twice what grading, interval and report took on two busy cores; both grow with the nodes, and so with the time."""
LARGEST_RESERVE = 1 / 4
"""Of a run: however slow the machine is, the rest is for the search."""
LONGEST_FINISH = 3600.0
GROWTH = 1 / 0.7
"""Training rows of a refit over those of a hold-out run, where few rows are labelled."""
REFIT_SLACK = 1.05
"""What a refit may take beyond its share of more rows, in the time that is kept for it."""
LIMIT_SLACK = 1.2
"""The same, in its time limit: nothing else needs the time by then."""
REFITS, REFITS_SHARE = 3, 0.1
"""Most members of a blend, as slow as the best script, that time is kept for; beyond the first, within this share of a run."""
EXECUTION_SHARE = 1 / 6
"""Most of a run's time that one execution may take (in the papers: 1 h of 5 h)."""
SHORTEST_EXECUTION = 5.0
LEAST_BASELINE, BUSY_BASELINE = 60.0, 0.9
"""Seconds for the baseline in a short run, as its libraries take long: at most a third of what is left; on a busy machine more,
up to this share."""
SHORTEST_SHARE = 0.5
"""A new script that gets less than this share of the best one's seconds can hardly beat it."""
SAMPLE_SHARE = 1 / 3
SELECTION_SHARE, LARGEST_SELECTION_SHARE = 0.008, 0.08
"""Share of a run in labs that is kept for fitting the last ensemble, the final selection and its file; on a slow machine more."""
LONGEST_UNDIVIDED = 7200.0
"""Seconds of a run up to which a lab ends only when its coder says so, or the time is over."""


class Elapsed(Protocol):
    """Measures a run's wall time."""

    def wall(self) -> float:
        """Return seconds since the run's start."""


@dataclass(frozen=True)
class DraftLeft:
    """What is left of a draft, which closes when any of these is used up."""

    scripts: int
    seconds: float | None
    """For writing and running its scripts; None where the budget is counted in scripts."""
    gainless: int
    """Scored scripts in a row that may yet fail to beat the draft's best."""
    failed: int
    """Scripts in a row that may yet end without a score."""

    @property
    def is_over(self) -> bool:
        """Whether the draft is closed."""
        used_up = self.seconds is not None and self.seconds <= 0
        return used_up or self.scripts <= 0 or self.gainless <= 0 or self.failed <= 0


@dataclass(frozen=True)
class RunBudget:
    """The caps of one run: wall seconds to its exit, refit, grading and report included, and nodes."""

    elapsed: Elapsed
    seconds: float
    steps: int | None
    longest: float = math.inf
    """Most seconds that one execution may take."""
    speed: float = 1.0
    """Seconds of the run's clock, by which nodes are timed, per second of the budget."""
    growth: float = GROWTH
    """As `GROWTH`, of this run; 0: nothing is refitted."""
    refits: Callable[[], int] = lambda: 1
    """Returns how many scripts may yet have to be run again: members of the newest blend that were not run on all data."""
    rehearsal: Callable[[], float] = lambda: 0.0
    """Returns the seconds that the dress rehearsal of the newest blend will take, where notebooks are handed in."""
    slowness: Callable[[], float] = lambda: 1.0
    """Returns how many times longer our own work takes than on an idle machine."""
    labs: bool = False
    """Whether coders work in labs: their experiments need no run at the end, only the final selection."""

    @property
    def one_lab_a_slot(self) -> bool:
        """Whether the first lab of each slot may last until the run's end, so that hardly any draft is planned."""
        return self.labs and self.seconds <= LONGEST_UNDIVIDED

    @property
    def reserve(self) -> float:
        """Seconds kept for grading, the report and the exit; more where others keep the cores busy."""
        idle = FINISH_SECONDS + min(FINISH_SHARE * self.seconds, LONGEST_FINISH)
        return max(idle, min(idle * self.slowness(), LARGEST_RESERVE * self.seconds))

    def seconds_left(self) -> float:
        """Return the seconds left without the reserve; never negative."""
        return max(0.0, self.seconds - self.elapsed.wall() - self.reserve)

    def execution_seconds(self, best_seconds: float | None, later: float = 0.0) -> float | None:
        """Return the time limit of a new hold-out run, or None if there is too little time for one.

        What is handed in is run again at the end, on all rows. The limit leaves time for that: for the new node should it
        become the best, and for the best so far should it not.

        Args:
            best_seconds: how long the best node's hold-out run took; None without one.
            later: seconds until the run begins, for example to write its script.
        """
        seconds_left = max(0.0, self.seconds_left() - later)
        limit = min(self.seconds * EXECUTION_SHARE, seconds_left / (1 + self.refit_share), self.longest)
        shortest = SHORTEST_EXECUTION
        if best_seconds is not None:
            limit = min(limit, seconds_left - self.reserved_seconds(best_seconds))
            shortest = max(shortest, SHORTEST_SHARE * best_seconds)
        return limit if limit >= shortest else None

    @property
    def refit_share(self) -> float:
        """Seconds kept for running a script again on all rows, per second of its hold-out run."""
        return REFIT_SLACK * self.growth

    def baseline_seconds(self) -> float:
        """Return the time limit of the safe baseline, which is started however late it is.

        It may cut into the time for the refit and the exit: without it there is nothing to hand in.
        """
        slowness = self.slowness()
        min_seconds = min(LEAST_BASELINE * slowness, self.seconds_left() * min(BUSY_BASELINE, slowness / 3))
        return max(self.execution_seconds(None) or max(SHORTEST_EXECUTION, self.seconds_left() / 2), min_seconds)

    def reserved_seconds(self, best_seconds: float | None) -> float:
        """Return the seconds kept for running again, on all rows, what is handed in, and for rehearsing it."""
        if self.labs:
            return min(SELECTION_SHARE * self.slowness(), LARGEST_SELECTION_SHARE) * self.seconds + self.rehearsal()
        best_run, due = self.refit_share * (best_seconds or 0.0), min(REFITS, self.refits())
        return max(min(1, due) * best_run, min(due * best_run, REFITS_SHARE * self.seconds)) + self.rehearsal()

    def refit_limit(self, limit: float, seconds: float) -> float:
        """Return the time limit of a refit: its hold-out run's, by which the script plans, or more if more rows need it."""
        return max(limit, LIMIT_SLACK * self.growth * seconds)

    def remaining(self, nodes: int, best_seconds: float | None) -> Remaining:
        """Return the budget for a policy; if steps are the budget, without times, so that decisions repeat exactly."""
        if self.steps is not None:
            return Remaining(max(0, self.steps - nodes), self.steps, None, None)
        return Remaining(None, None, self.usable(best_seconds) * self.speed, self.seconds * self.speed)

    def usable(self, best_seconds: float | None) -> float:
        """Return the seconds that nodes may use: those left without what is kept for the end."""
        return max(0.0, self.seconds_left() - self.reserved_seconds(best_seconds))
