"""A run's budget: nothing is started that cannot end in time, refit and check included."""

from dataclasses import dataclass

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


def test_the_limit_leaves_room_for_two_more_runs_of_the_same_script():
    budget = RunBudget(Elapsed(200.0), 300.0, None)
    limit = budget.execution_seconds(None)
    assert limit is not None
    assert limit * (1 + 2 * REFIT_FACTOR) <= budget.left() + 1e-9


def test_nothing_is_started_when_the_best_node_needs_what_is_left():
    assert RunBudget(Elapsed(200.0), 300.0, None).execution_seconds(40.0) is None


def test_the_baseline_is_started_however_late_it_is():
    assert RunBudget(Elapsed(200.0), 300.0, None).baseline_seconds() == 21.0, "what any other script would have"
    assert [RunBudget(Elapsed(spent), 40.0, None).baseline_seconds() for spent in (5.0, 15.0, 39.0)] == [6.05, 7.1, 5.0]


def test_time_is_left_out_of_what_a_policy_sees_where_steps_are_the_budget():
    remaining = RunBudget(Elapsed(12.3), 300.0, 10).remaining(4, 5.0)
    assert (remaining.steps, remaining.steps_total, remaining.seconds) == (6, 10, None)


@given(st.floats(10, 100_000), st.floats(0, 1), st.one_of(st.none(), st.floats(0.1, 5_000)))
def test_whatever_is_started_can_be_refitted_and_checked(seconds: float, share: float, best: float | None):
    budget = RunBudget(Elapsed(seconds * share), seconds, None)
    limit = budget.execution_seconds(best)
    if limit is None:
        return
    assert limit >= 5
    assert limit + 2 * REFIT_FACTOR * max(limit if best is None else best, 0) <= budget.left() + 1e-6


def test_a_refit_that_takes_all_it_may_leaves_the_final_check_its_time():
    # 16 s are the reserve: 40 of 56 s are left.
    budget = RunBudget(Elapsed(244.0), 300.0, None)
    assert budget.repeat_seconds(12.0, later=1) == 40.0 - REFIT_FACTOR * 12.0
    assert budget.repeat_seconds(12.0, later=0) == 36.0, "three times as long, where nothing comes after"
    assert budget.repeat_seconds(20.0, later=1) == REFIT_FACTOR * 20.0, "the refit goes first where there is not enough"
    assert budget.repeat_seconds(100.0, later=0) == 40.0
