"""A run's time and steps: what may still start so that everything ends in time."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bot.engine.strategy import Remaining

FINISH_SECONDS = 5.0
FINISH_SHARE = 0.01
"""Twice what grading, interval and report took on two busy cores; both grow with the nodes, and so with the time."""
LARGEST_RESERVE = 1 / 4
"""Share of a run: on a slow machine too, the rest is for the search."""
LONGEST_FINISH = 3600.0
GROWTH = 1 / 0.7
"""Training rows of a refit over those of a hold-out run, where few rows are labelled."""
REFIT_SLACK = 1.05
"""Factor of the time reserved for a refit, beyond its share of more rows."""
LIMIT_SLACK = 1.2
"""The same, of its time limit: nothing else needs the time by then."""
REFITS, REFITS_SHARE = 3, 0.1
"""Maximum members of a blend, as slow as the best script, with reserved time; beyond the first, within this share of a run."""
EXECUTION_SHARE = 1 / 6
"""Maximum share of a run's time for one execution (in the papers: 1 h of 5 h)."""
SHORTEST_EXECUTION = 5.0
LEAST_BASELINE, BUSY_BASELINE = 60.0, 0.9
"""Seconds for the baseline in a short run, as its libraries load slowly: at most a third of the rest; on a busy machine more,
up to this share."""
SPARE_BASELINE_SHARE, LONGEST_SPARE_BASELINE = 0.1, 300.0
"""Share of a run, and seconds, for a baseline that is submitted only if the agent has nothing else."""
SHORTEST_SHARE = 0.5
"""A new script with less than this share of the best one's seconds can hardly beat it."""
SAMPLE_SHARE = 1 / 3
SELECTION_SHARE, LARGEST_SELECTION_SHARE = 0.008, 0.08
"""Share of a run in labs for the last ensemble, the final selection and its file; on a slow machine more."""
LONGEST_UNDIVIDED = 7200.0
"""Seconds of a run up to which a lab ends only when its coder says so, or the time is over."""


class Elapsed(Protocol):
    """Measures a run's wall time."""

    def wall(self) -> float:
        """Return seconds since the run's start."""


@dataclass(frozen=True)
class DraftLeft:
    """The remaining budget of a draft, which closes when any of these is used up."""

    scripts: int
    seconds: float | None
    """For writing and running its scripts; None if the budget is counted in scripts."""
    gainless: int
    """Further scored scripts in a row that may fail to beat the draft's best."""
    failed: int
    """Further scripts in a row that may end without a score."""

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
    """Maximum seconds of one execution."""
    speed: float = 1.0
    """Seconds of the run's clock, by which nodes are timed, per second of the budget."""
    growth: float = GROWTH
    """As `GROWTH`, of this run; 0: nothing is refitted."""
    refits: Callable[[], int] = lambda: 1
    """Returns the number of refits that may be due: members of the newest blend that were not run on all data."""
    notebook_check: Callable[[], float] = lambda: 0.0
    """Returns the seconds that the notebook check of the newest blend will take, in a notebook competition."""
    slowness: Callable[[], float] = lambda: 1.0
    """Returns how many times longer our own work takes than on an idle machine."""
    labs: bool = False
    """Whether coders work in labs, whose experiments need no refit at the end, only the final selection."""

    @property
    def one_lab_a_slot(self) -> bool:
        """Whether the first lab of each slot may last until the run's end, with hardly any planned draft."""
        return self.labs and self.seconds <= LONGEST_UNDIVIDED

    @property
    def reserve(self) -> float:
        """Seconds reserved for grading, the report and the exit; more on a busy machine."""
        idle = FINISH_SECONDS + min(FINISH_SHARE * self.seconds, LONGEST_FINISH)
        return max(idle, min(idle * self.slowness(), LARGEST_RESERVE * self.seconds))

    def seconds_left(self) -> float:
        """Return the seconds left without the reserve; never negative."""
        return max(0.0, self.seconds - self.elapsed.wall() - self.reserve)

    def execution_seconds(self, best_seconds: float | None, later: float = 0.0) -> float | None:
        """Return the time limit of a new hold-out run, or None if there is too little time for one.

        The limit leaves time for the refit at the end: of the new node if it becomes the best, else of the best so far.

        Args:
            best_seconds: of the best node's hold-out run; None without one.
            later: seconds until the run starts, for example to write its script.
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
        """Seconds reserved for a refit, per second of the hold-out run."""
        return REFIT_SLACK * self.growth

    def baseline_seconds(self, *, spare: bool = False) -> float:
        """Return the time limit of the baseline, which starts however late it is.

        It may use the time for the refit and the exit: without it there is nothing to submit. A `spare` one is brief, as the
        agent's scripts may need its cores.
        """
        if spare:
            return max(SHORTEST_EXECUTION, min(SPARE_BASELINE_SHARE * self.seconds, LONGEST_SPARE_BASELINE))
        slowness = self.slowness()
        min_seconds = min(LEAST_BASELINE * slowness, self.seconds_left() * min(BUSY_BASELINE, slowness / 3))
        return max(self.execution_seconds(None) or max(SHORTEST_EXECUTION, self.seconds_left() / 2), min_seconds)

    def reserved_seconds(self, best_seconds: float | None) -> float:
        """Return the seconds reserved for the refits of the final submission, and for the check of its notebook."""
        if self.labs:
            share = min(SELECTION_SHARE * self.slowness(), LARGEST_SELECTION_SHARE)
            return share * self.seconds + self.notebook_check()
        best_run, due = self.refit_share * (best_seconds or 0.0), min(REFITS, self.refits())
        return max(min(1, due) * best_run, min(due * best_run, REFITS_SHARE * self.seconds)) + self.notebook_check()

    def ensemble_seconds(self, best_seconds: float | None) -> float:
        """Return how long to wait for the last ensemble: the time that its refit can spare, or half of what is left."""
        return max(self.seconds_left() / 2, 0.0 if self.labs else self.usable(best_seconds))

    def refit_limit(self, limit: float, seconds: float) -> float:
        """Return the time limit of a refit: its hold-out run's, by which the script plans, or more if more rows need it."""
        return max(limit, LIMIT_SLACK * self.growth * seconds)

    def remaining(self, nodes: int, best_seconds: float | None) -> Remaining:
        """Return the budget for a policy; without times if steps are the budget, so that decisions repeat exactly."""
        if self.steps is not None:
            return Remaining(max(0, self.steps - nodes), self.steps, None, None)
        return Remaining(None, None, self.usable(best_seconds) * self.speed, self.seconds * self.speed)

    def usable(self, best_seconds: float | None) -> float:
        """Return the seconds that nodes may use: those left without the reserved ones."""
        return max(0.0, self.seconds_left() - self.reserved_seconds(best_seconds))
