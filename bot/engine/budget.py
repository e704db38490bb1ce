"""A run's time and steps: what may still be started so that everything ends in time."""

import math
from dataclasses import dataclass
from typing import Protocol

from bot.engine.strategy import Remaining

FINISH_SECONDS = 10.0
FINISH_SHARE = 0.02
LONGEST_FINISH = 3600.0
REFIT_FACTOR = 1.5
"""A refit sees more rows than the hold-out run did, and may take this much longer."""
EXECUTION_SHARE = 1 / 6
"""No execution may take more of a run's time than this (the papers' own: 1 h of 5 h)."""
SHORTEST_EXECUTION = 5.0
SHORTEST_SHARE = 0.5
"""A new script that gets less than this share of the best one's seconds can hardly beat it."""
SAMPLE_SHARE = 1 / 3


class Elapsed(Protocol):
    """Anything that knows how many seconds a run has taken."""

    def wall(self) -> float:
        """Return seconds since the run's start."""


@dataclass(frozen=True)
class DraftLeft:
    """What is left of a draft: it closes when any of these is used up."""

    scripts: int
    seconds: float | None
    """Of writing and running its scripts; None where the budget is counted in scripts."""
    gainless: int
    """Scored scripts in a row without a better score than the draft's best."""
    failed: int
    """Scripts in a row without a score."""

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
    """Seconds that no execution may take more of."""
    speed: float = 1.0
    """Seconds of the run's clock, by which nodes are timed, in one of these."""

    @property
    def reserve(self) -> float:
        """Seconds kept for grading, the report and the exit."""
        return FINISH_SECONDS + min(FINISH_SHARE * self.seconds, LONGEST_FINISH)

    def left(self) -> float:
        """Return seconds left, the reserve taken off; never negative."""
        return max(0.0, self.seconds - self.elapsed.wall() - self.reserve)

    def execution_seconds(self, best_seconds: float | None, later: float = 0.0) -> float | None:
        """Return the time limit of a new hold-out run, or None where nothing can be started any more.

        Whatever is chosen in the end is run once more, on all rows, so the limit leaves room for that: for the new node
        should it become the best, and for the best so far should it not.

        Args:
            best_seconds: what the best node's hold-out run took; None without one.
            later: seconds that pass before the run begins, such as those in which its script is written.
        """
        left = max(0.0, self.left() - later)
        limit = min(self.seconds * EXECUTION_SHARE, left / (1 + REFIT_FACTOR), self.longest)
        shortest = SHORTEST_EXECUTION
        if best_seconds is not None:
            limit = min(limit, left - REFIT_FACTOR * best_seconds)
            shortest = max(shortest, SHORTEST_SHARE * best_seconds)
        return limit if limit >= shortest else None

    def baseline_seconds(self) -> float:
        """Return the time limit of the safe baseline, which is started however late it is.

        It ends with what it has, so that it may cut into what is kept for the exit: a run that hands in nothing has no use
        for that.
        """
        return self.execution_seconds(None) or max(SHORTEST_EXECUTION, self.left() / 2)

    def refit_seconds(self, seconds: float) -> float:
        """Return the time limit of a node's refit, which is generous, as nothing comes after it.

        Args:
            seconds: what its hold-out run took.
        """
        return min(self.left(), max(3 * seconds, min(self.seconds / 10, self.longest)))

    def remaining(self, nodes: int, best_seconds: float | None) -> Remaining:
        """Return what a policy sees; where steps are the budget, time is left out, so that decisions repeat exactly."""
        if self.steps is not None:
            return Remaining(max(0, self.steps - nodes), self.steps, None, None)
        return Remaining(None, None, self.usable(best_seconds) * self.speed, self.seconds * self.speed)

    def usable(self, best_seconds: float | None) -> float:
        """Return the seconds that nodes may use: what is left beside handing in the best one."""
        return max(0.0, self.left() - REFIT_FACTOR * (best_seconds or 0.0))
