"""A run's time and steps: what may still be started so that everything ends in time."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bot.engine.strategy import Remaining

FINISH_SECONDS = 5.0
FINISH_SHARE = 0.01
"""Twice what grading, interval and report took on two busy cores; both grow with the nodes, and so with the time."""
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
SHORTEST_SHARE = 0.5
"""A new script that gets less than this share of the best one's seconds can hardly beat it."""
SAMPLE_SHARE = 1 / 3
RACE_SHARE = 0.05
"""Most of a run's time that the race of the finalists may take."""
RACED, LONGEST_RACE = 4, 14
"""Hold-out runs that the race is as long as: at least two scripts on two folds, as one fold adds few rows to what is known; at
most four on one and two of them on four more, each a little longer than a hold-out run."""
RACE_SECONDS = 5.0
"""That it takes beside: views, comparisons and guards."""


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
    races: bool = False
    """Whether the finalists are raced when the search has ended."""

    @property
    def reserve(self) -> float:
        """Seconds kept for grading, the report and the exit."""
        return FINISH_SECONDS + min(FINISH_SHARE * self.seconds, LONGEST_FINISH)

    def left(self) -> float:
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
        left = max(0.0, self.left() - self.race_seconds(best_seconds) - later)
        limit = min(self.seconds * EXECUTION_SHARE, left / (1 + self.again), self.longest)
        shortest = SHORTEST_EXECUTION
        if best_seconds is not None:
            limit = min(limit, left - self.kept(best_seconds))
            shortest = max(shortest, SHORTEST_SHARE * best_seconds)
        return limit if limit >= shortest else None

    @property
    def again(self) -> float:
        """Seconds kept for running a script again on all rows, per second of its hold-out run."""
        return REFIT_SLACK * self.growth

    @property
    def again_most(self) -> float:
        """Most seconds kept for running several scripts again, unless the best one alone takes more."""
        return REFITS_SHARE * self.seconds

    @property
    def race_most(self) -> float:
        """Most seconds kept for the race."""
        return RACE_SHARE * self.seconds if self.races else 0.0

    def race_seconds(self, best_seconds: float | None) -> float:
        """Return the seconds kept for the race: none where the shortest that tells something would take more than its share.

        Args:
            best_seconds: how long the best node's hold-out run took; None without one.
        """
        if best_seconds is None or RACED * best_seconds > self.race_most:
            return 0.0
        return min(self.race_most, RACE_SECONDS + LONGEST_RACE * best_seconds)

    def race_room(self, best_seconds: float) -> float:
        """Return the seconds that a race which begins now may take: what is left over, kept for it or not, within its share."""
        return min(RACE_SHARE * self.seconds, max(0.0, self.left() - self.kept(best_seconds)))

    def baseline_seconds(self) -> float:
        """Return the time limit of the safe baseline, which is started however late it is.

        It may cut into the time for the refit and the exit: without it there is nothing to hand in.
        """
        return self.execution_seconds(None) or max(SHORTEST_EXECUTION, self.left() / 2)

    def kept(self, best_seconds: float | None) -> float:
        """Return the seconds kept for running again, on all rows, what is handed in, and for rehearsing it.

        Args:
            best_seconds: how long the best node's hold-out run took; None without one.
        """
        one, due = self.again * (best_seconds or 0.0), min(REFITS, self.refits())
        return max(min(1, due) * one, min(due * one, self.again_most)) + self.rehearsal()

    def kept_for_end(self, best_seconds: float | None) -> float:
        """Return the seconds kept for the race and for running again what is handed in; `best_seconds` as in `kept`."""
        return self.race_seconds(best_seconds) + self.kept(best_seconds)

    def kept_in_words(self, best_seconds: float | None) -> str:
        """Return what is kept for the end, and for what, for a coder; empty for less than a second."""
        purposes = {
            "running again on all rows what is handed in": self.kept(best_seconds),
            "comparing the best scripts": self.race_seconds(best_seconds),
        }
        parts = [f"{seconds:.0f} s for {purpose}" for purpose, seconds in purposes.items() if seconds >= 1]
        return f"kept now for the run's end: {' and '.join(parts)}" if parts else ""

    def refit_limit(self, limit: float, seconds: float) -> float:
        """Return the time limit of a refit: that of its hold-out run, by which the script plans, or more if more rows need it.

        Args:
            limit: of the hold-out run.
            seconds: how long that took.
        """
        return max(limit, LIMIT_SLACK * self.growth * seconds)

    def remaining(self, nodes: int, best_seconds: float | None) -> Remaining:
        """Return the budget for a policy; if steps are the budget, without times, so that decisions repeat exactly."""
        if self.steps is not None:
            return Remaining(max(0, self.steps - nodes), self.steps, None, None)
        return Remaining(None, None, self.usable(best_seconds) * self.speed, self.seconds * self.speed)

    def usable(self, best_seconds: float | None) -> float:
        """Return the seconds that nodes may use: those left without the race and the refits at the end."""
        return max(0.0, self.left() - self.kept_for_end(best_seconds))
