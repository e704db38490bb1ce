"""The hybrid's phases: short drafts that differ while much is left of time and money, then long ones from the best scripts."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agents.comind.policy import ScriptTimes
from bot.agents.comind.settings import RoundsSettings
from bot.coder.lab.settings import LabSettings
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree
from bot.research.agents.phases import PhasedLabs, PhasedRounds, goes_wide, lab_seconds

BASELINE = NodeView(1, "draft", "valid", score=0.1, baseline=True)
HOURS = 3600.0


def time(left: float, total: float, money: float | None = None) -> Remaining:
    return Remaining(None, None, left, total, money=money)


def begun(decided: list[Action]) -> float:
    return min((one.draft_id or 0 for one in decided if one.deep), default=math.inf)


def lab(number: int, score: float | None) -> NodeView:
    state = "buggy" if score is None else "valid"
    return NodeView(number, "draft", state, (), score, draft_id=number - 1)  # type: ignore[arg-type] # a literal


def labs(nodes: list[NodeView], budget: Remaining, decided: list[Action] | None = None, slots: int = 1) -> list[Action]:
    policy = PhasedLabs(LabSettings(), lambda: begun(decided or []))
    return list(policy.next_actions(Tree((BASELINE, *nodes)), budget, slots, random.Random(0)))


def test_labs_are_short_and_new_until_half_of_the_time_is_used_and_then_start_from_the_best() -> None:
    nodes = [lab(2, 0.5), lab(3, 0.9), lab(4, 0.7)]
    assert labs([], time(4.9 * HOURS, 5 * HOURS), slots=2) == [Action("lab", (), 1, 0), Action("lab", (), 2, 1)]
    assert labs(nodes, time(3 * HOURS, 5 * HOURS)) == [Action("lab", (), 4)]
    assert labs(nodes, time(2.7 * HOURS, 5 * HOURS)) == [Action("lab", (3,), 4, deep=True)], "it would not end in time"


def test_money_that_is_half_spent_ends_the_wide_phase_early() -> None:
    nodes = [lab(2, 0.5)]
    assert not labs(nodes, time(4.9 * HOURS, 5 * HOURS, money=0.51))[0].deep
    assert labs(nodes, time(4.9 * HOURS, 5 * HOURS, money=0.5)) == [Action("lab", (2,), 2, deep=True)]


def test_with_too_little_time_for_two_short_labs_the_first_is_a_long_one() -> None:
    assert labs([], time(1100.0, 1200.0)) == [Action("lab", (), 1, deep=True)]
    assert not labs([], time(2900.0, 3000.0))[0].deep
    assert labs([], time(2600.0, 3000.0))[0].deep


def test_counted_scripts_are_halved_as_time_is() -> None:
    counted = Remaining(20, 21, None, None)
    assert not labs([], counted)[0].deep
    assert labs([lab(2, 0.5)], replace(counted, steps=11))[0].deep


def test_nothing_is_wide_after_a_long_lab_although_time_came_back() -> None:
    decided = [Action("lab", (2,), 2, deep=True)]
    assert all(one.deep for one in labs([lab(2, 0.5), lab(3, 0.6)], time(5 * HOURS, 5 * HOURS), decided))


def test_no_lab_opens_in_the_last_minutes() -> None:
    assert labs([lab(2, 0.5)], time(200.0, 5 * HOURS)) == []


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(1, 1e5), st.floats(0, 1), st.floats(0, 1), st.integers(1, 2))
def test_less_time_or_money_never_makes_it_wide(left, less, length, money, poorer, drafts) -> None:
    more = time(left + less, 2 * left, money)
    if not goes_wide(more, length, drafts):
        assert not goes_wide(time(left, 2 * left, min(money, poorer)), length, drafts)


@given(st.floats(900, 300 * HOURS), st.floats(0, 1), st.integers(0, 2**32))
@settings(max_examples=40)
def test_any_run_is_wide_first_then_deep_with_fewer_and_longer_labs(total: float, thrift: float, seed: int) -> None:
    rng, configured = random.Random(seed), LabSettings()
    nodes: list[NodeView] = []
    decided: list[Action] = []
    lengths: list[float] = []
    left, money, at_switch = 0.93 * total, 1.0, 0.0
    while opened := labs(nodes, time(left, total, money), decided):
        [action] = opened
        decided.append(action)
        at_switch = left if action.deep and not any(one.deep for one in decided[:-1]) else at_switch
        own = lab_seconds(configured, total, deep=action.deep)
        lengths.append(configured.seconds(total, left, own) if action.deep else own)
        left -= lengths[-1]
        money = max(0.0, money - thrift * rng.random() / 4)
        nodes.append(lab(len(nodes) + 2, rng.choice([None, rng.random()])))
        scored = [node for node in nodes[:-1] if node.valid]
        assert bool(action.parents) == (action.deep and bool(scored))
        left += 100 * rng.random()  # time that was kept for a refit comes back
    deep = [action.deep for action in decided]
    assert deep == sorted(deep), "never wide again"
    assert deep[-1], "it ends deep"
    wide = [length for length, late in zip(lengths, deep, strict=True) if not late]
    long = [length for length, late in zip(lengths, deep, strict=True) if late]
    assert len(wide) != 1 or thrift > 0, "of short drafts there are several"
    assert not wide or max(wide) < min(long[:-1] or [math.inf])
    short = lab_seconds(configured, total, deep=False)
    assert len(long) <= max(1.0, at_switch / short), "fewer than there would be short ones in the same time"


def rounds(
    nodes: tuple[NodeView, ...], budget: Remaining, decided: list[Action] | None = None, slots: int = 1
) -> list[Action]:
    policy = PhasedRounds(RoundsSettings(), lambda: begun(decided or []))
    return list(policy.next_actions(Tree((BASELINE, *nodes)), budget, slots, random.Random(0)))


def script(number: int, draft: int, score: float | None, action: str = "draft", seconds: float = 1.0) -> NodeView:
    state = "buggy" if score is None else "valid"
    return NodeView(number, action, state, (), score, draft_id=draft, seconds=seconds)  # type: ignore[arg-type] # a literal


SHORT = (script(2, 1, 0.5, seconds=300.0), script(3, 2, 0.9, seconds=300.0))


def test_short_drafts_close_when_half_the_usual_share_is_used_and_others_open() -> None:
    assert rounds((), time(3500.0, 3600.0)) == [Action("draft", (), 1)]
    assert rounds(SHORT, time(2900.0, 3600.0)) == [Action("draft", (), 3)]


def test_a_long_draft_goes_on_from_the_best_script_and_is_worked_on_before_another_begins() -> None:
    late = time(1500.0, 3600.0)
    opening = Action("draft", (3,), 3, deep=True)
    assert rounds(SHORT, late) == [opening]
    went_on = (*SHORT, script(4, 3, 0.91, seconds=300.0))
    assert rounds(went_on, late, [opening]) == [Action("improve", (4,), 3)], "it has twice the usual share"
    stale = (*went_on, *(script(number, 3, 0.8, "improve") for number in range(5, 9)))
    assert rounds(stale[:-1], late, [opening]) == [Action("improve", (4,), 3)], "and twice the patience"
    assert rounds(stale, late, [opening]) == [Action("draft", (4,), 4, slot=1, deep=True)]


def test_what_is_begun_short_is_ended_short() -> None:
    open_still = (script(2, 1, 0.5), script(3, 2, 0.9))
    assert rounds(open_still, time(1500.0, 3600.0)) == [Action("improve", (2,), 1)]
    ended = (*open_still, script(4, 1, 0.4, "improve"), script(5, 2, 0.4, "improve"))
    assert rounds(ended, time(1500.0, 3600.0)) == [Action("draft", (3,), 3, deep=True)]


def test_a_single_script_that_takes_a_quarter_of_the_run_leaves_no_time_to_go_wide() -> None:
    slow = replace(BASELINE, seconds=900.0)
    policy = PhasedRounds(RoundsSettings(), lambda: math.inf)
    [action] = policy.next_actions(Tree((slow,)), time(2600.0, 3600.0), 1, random.Random(0))
    assert action.deep
    assert action.parents == ()


@pytest.mark.parametrize("budget", [time(3000.0, 3600.0), Remaining(40, 50, None, None)])
def test_a_plan_gives_a_short_draft_no_more_and_a_long_one_no_less(budget: Remaining) -> None:
    opened, times = Tree((BASELINE, NodeView(2, "draft", "running", draft_id=1))), ScriptTimes(200.0, 10.0, 10.0, 1)
    short = PhasedRounds(RoundsSettings(), lambda: math.inf).room(opened, budget, 1, 1, times)
    assert short.usual_share == 1
    assert short.of_run == pytest.approx(0.06)
    long = PhasedRounds(RoundsSettings(), lambda: 1).room(opened, budget, 1, 1, times)
    assert long.min_share == long.usual_share
    assert long.usual_share * long.of_run == pytest.approx(0.24)
