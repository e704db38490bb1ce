"""A run's budget: nothing is started that cannot end in time, the refit included."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.engine.budget import REFIT_FACTOR, RunBudget


@dataclass
class Elapsed:
    """A stopwatch that stands still."""

    seconds: float

    def wall(self) -> float:
        """Return the seconds."""
        return self.seconds


def test_the_limit_leaves_room_for_a_refit_of_the_same_script():
    budget = RunBudget(Elapsed(200.0), 300.0, None)
    limit = budget.execution_seconds(None)
    assert limit is not None
    assert limit * (1 + REFIT_FACTOR) <= budget.left() + 1e-9


def test_nothing_is_started_when_the_best_node_needs_what_is_left():
    assert RunBudget(Elapsed(200.0), 300.0, None).execution_seconds(60.0) is None


def test_the_baseline_is_started_however_late_it_is():
    assert RunBudget(Elapsed(200.0), 300.0, None).baseline_seconds() == 33.6, "what any other script would have"
    late = [RunBudget(Elapsed(spent), 40.0, None).baseline_seconds() for spent in (5.0, 17.0, 39.0)]
    assert late == pytest.approx([40 / 6, 6.1, 5.0])


def test_time_is_left_out_of_what_a_policy_sees_where_steps_are_the_budget():
    remaining = RunBudget(Elapsed(12.3), 300.0, 10).remaining(4, 5.0)
    assert (remaining.steps, remaining.steps_total, remaining.seconds) == (6, 10, None)


@given(st.floats(10, 100_000), st.floats(0, 1), st.one_of(st.none(), st.floats(0.1, 5_000)))
def test_whatever_is_started_can_be_refitted(seconds: float, share: float, best: float | None):
    budget = RunBudget(Elapsed(seconds * share), seconds, None)
    limit = budget.execution_seconds(best)
    if limit is None:
        return
    assert limit >= 5
    assert limit + REFIT_FACTOR * max(limit if best is None else best, 0) <= budget.left() + 1e-6


def test_a_refit_may_take_three_times_as_long_and_no_more_than_is_left():
    # 16 s are the reserve: 40 of 56 s are left.
    budget = RunBudget(Elapsed(244.0), 300.0, None)
    assert budget.refit_seconds(12.0) == 36.0
    assert budget.refit_seconds(100.0) == 40.0
    assert budget.refit_seconds(1.0) == 30.0, "a tenth of the run, however short the scored run was"
