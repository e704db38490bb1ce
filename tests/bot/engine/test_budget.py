"""A run's budget: nothing is started that cannot end in time, the refit included."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.engine.budget import REFITS, SELECTION_SHARE, RunBudget


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
    assert limit + budget.reserved_seconds(limit) <= budget.seconds_left() + 1e-9


def test_nothing_is_started_when_the_best_node_needs_what_is_left():
    assert RunBudget(Elapsed(200.0), 300.0, None).execution_seconds(60.0) is None


def test_the_baseline_is_started_however_late_it_is():
    assert RunBudget(Elapsed(200.0), 300.0, None).baseline_seconds() == pytest.approx(92 / 2.5), (
        "what any other script would have"
    )
    late = [RunBudget(Elapsed(spent), 40.0, None).baseline_seconds() for spent in (5.0, 24.0, 39.0)]
    assert late == pytest.approx([29.6 / 3, 5.3, 5.0]), "a third of what is left of a short run"
    busy = RunBudget(Elapsed(50.0), 240.0, None, slowness=lambda: 8.0)
    assert busy.baseline_seconds() == 0.9 * busy.seconds_left(), "on a busy machine nearly all of it"
    spare = [RunBudget(Elapsed(0.0), seconds, None).baseline_seconds(spare=True) for seconds in (20.0, 120.0, 18_000.0)]
    assert spare == [5.0, 12.0, 300.0], "hardly anything of an agent's time"


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
    assert limit + budget.reserved_seconds(limit if best is None else best) <= budget.seconds_left() + 1e-6


def test_time_is_kept_for_as_many_more_rows_as_a_refit_has():
    many_rows = RunBudget(Elapsed(0.0), 3000.0, None, growth=1 / 0.9)
    assert many_rows.reserved_seconds(100.0) == pytest.approx(1.05 * 100 / 0.9)
    assert RunBudget(Elapsed(0.0), 3000.0, None, growth=0.0).reserved_seconds(100.0) == 0, "no rows are withheld"
    assert many_rows.reserved_seconds(None) == 0


def test_time_is_kept_for_some_members_of_a_blend_within_a_tenth_of_the_run():
    blended = RunBudget(Elapsed(0.0), 3000.0, None, growth=1.0, refits=lambda: 8)
    assert blended.reserved_seconds(20.0) == pytest.approx(REFITS * 21)
    assert replace(blended, refits=lambda: 2).reserved_seconds(20.0) == pytest.approx(2 * 21)
    assert blended.reserved_seconds(200.0) == pytest.approx(300)
    assert blended.reserved_seconds(2000.0) == pytest.approx(2100), "the best one in any case"


def test_in_labs_time_is_kept_for_the_selection_and_the_rehearsal_however_slow_the_best_is():
    budget = RunBudget(Elapsed(0.0), 3000.0, None, labs=True, refits=lambda: 3)
    assert budget.reserved_seconds(None) == budget.reserved_seconds(500.0) == pytest.approx(SELECTION_SHARE * 3000.0)
    assert replace(budget, notebook_check=lambda: 40.0).reserved_seconds(500.0) == pytest.approx(
        SELECTION_SHARE * 3000.0 + 40.0
    )
    assert budget.usable(500.0) == pytest.approx(budget.seconds_left() - budget.reserved_seconds(500.0))


def test_the_last_ensemble_is_waited_for_while_its_refit_has_the_time():
    budget = RunBudget(Elapsed(200.0), 300.0, None)
    left = budget.seconds_left()
    assert budget.ensemble_seconds(None) == left
    assert budget.ensemble_seconds(20.0) == pytest.approx(left - budget.reserved_seconds(20.0))
    assert budget.ensemble_seconds(200.0) == left / 2, "half of what is left in any case"
    assert replace(budget, labs=True).ensemble_seconds(None) == left / 2


def test_a_refit_has_the_limit_of_its_scored_run_or_more_where_its_rows_need_more():
    budget = RunBudget(Elapsed(0.0), 300.0, None, growth=1.5)
    assert budget.refit_limit(50.0, 5.0) == 50.0
    assert budget.refit_limit(50.0, 45.0) == pytest.approx(1.2 * 1.5 * 45)


def test_more_is_kept_for_the_end_where_others_keep_the_cores_busy_but_never_more_than_a_quarter() -> None:
    """540 s took 589, and 60 s took 82: grading and the report waited for cores."""
    reserves = [
        RunBudget(Elapsed(0.0), 540.0, None, slowness=lambda slow=slow: slow).reserve for slow in (1.0, 5.0, 1_000.0)
    ]
    assert reserves == pytest.approx([10.4, 52.0, 135.0])
    assert RunBudget(Elapsed(0.0), 8.0, None, slowness=lambda: 9.0).reserve == pytest.approx(5.08), (
        "never less than idle"
    )
    in_labs = [
        RunBudget(Elapsed(0.0), 1000.0, None, labs=True, slowness=lambda slow=slow: slow) for slow in (1.0, 3.0, 99.0)
    ]
    assert [budget.reserved_seconds(100.0) for budget in in_labs] == pytest.approx([8.0, 24.0, 80.0])
