"""CoMind's policy: rounds of drafts side by side."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agents.comind.policy import RoundsPolicy, ScriptTimes
from bot.agents.comind.settings import RoundsSettings
from bot.community.drafts.prompts import Room
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree

STEPS = Remaining(40, 50, None, None)
TIME = Remaining(None, None, 3000.0, 3600.0)


def node(
    number: int, draft: int, score: float | None = None, action: str = "draft", state: str = "", seconds: float = 1.0
) -> NodeView:
    return NodeView(
        number, action, state or ("buggy" if score is None else "valid"), (), score, draft_id=draft, seconds=seconds
    )


def choose(tree: Tree, budget: Remaining = STEPS, slots: int = 1, **options: object) -> list[Action]:
    policy = RoundsPolicy(RoundsSettings.model_validate(options))
    return list(policy.next_actions(tree, budget, slots, random.Random(0)))


def test_a_round_opens_all_its_drafts_before_it_improves_one():
    baseline = NodeView(1, "draft", "valid", score=0.0, baseline=True)
    assert choose(Tree((baseline,))) == [Action("draft", draft_id=1, slot=0)]
    assert choose(Tree((baseline, node(2, 1, 0.5)))) == [Action("draft", draft_id=2, slot=1)]


def test_the_draft_with_the_fewest_scripts_goes_on_from_its_best():
    tree = Tree((node(2, 1, 0.5), node(3, 2, 0.6), node(4, 1, 0.4, "improve")))
    assert choose(tree) == [Action("improve", (3,), 2)]
    tree = Tree((*tree.nodes, node(5, 2, 0.7, "improve")))
    assert choose(tree) == [Action("improve", (2,), 1)]


def test_a_failed_script_is_repaired():
    assert choose(Tree((node(2, 1), node(3, 2, 0.6)))) == [Action("debug", (2,), 1)]


def test_a_draft_that_does_not_gain_is_closed_and_then_the_next_round_opens():
    stale = [
        node(n, d, 0.5, "draft" if n < 4 else "improve") for n, d in ((2, 1), (3, 2), (4, 1), (5, 2), (6, 1), (7, 2))
    ]
    assert choose(Tree(tuple(stale))) == [Action("draft", draft_id=3, slot=0)]


def test_a_draft_that_cannot_be_repaired_is_closed():
    broken = [node(2, 1), node(3, 2, 0.5)] + [node(n, 1, action="debug") for n in (4, 5, 6)]
    assert choose(Tree(tuple(broken))) == [Action("improve", (3,), 2)]


def test_a_draft_may_not_use_more_than_its_share_of_the_time():
    tree = Tree((node(2, 1, 0.5, seconds=500.0), node(3, 2, 0.6, seconds=10.0)))
    assert choose(tree, TIME) == [Action("improve", (3,), 2)]


def test_a_draft_keeps_to_the_share_that_its_plan_gave_it():
    spent = node(2, 1, 0.5, seconds=300.0)
    planned = Tree((replace(spent, draft_share=0.05), node(3, 2, 0.6, seconds=10.0)))
    assert choose(planned, TIME) == [Action("improve", (3,), 2)]
    generous = Tree((replace(spent, draft_share=0.5), node(3, 2, 0.6, seconds=10.0)))
    assert choose(generous, TIME, slots=2) == [Action("improve", (2,), 1), Action("improve", (3,), 2)]
    [scripts] = {RoundsPolicy().draft_left([replace(spent, draft_share=0.3)], STEPS).scripts}
    assert scripts == 14


def room(tree: Tree, budget: Remaining, first: int, openings: int = 1, slots: int = 1) -> Room:
    return RoundsPolicy().room(tree, budget, first, openings, ScriptTimes(200.0, 60.0, 10.0, slots))


def test_what_open_drafts_may_still_use_is_not_given_away():
    begun = node(2, 1, 0.5, seconds=132.0)
    found = room(Tree((begun, node(3, 2, state="running"))), Remaining(None, None, 1500.0, 3600.0), 2)
    assert found.seconds == 1500.0 - (0.12 * 3600.0 - 132.0)
    assert found.usual_share * found.seconds == pytest.approx(0.12 * 3600.0)
    assert found.min_share * found.seconds == pytest.approx(70.0), "to write one script, and to run a short one"
    assert found.of_run * 3600.0 == pytest.approx(found.seconds)
    counted = room(Tree((begun, node(3, 2, state="running"))), Remaining(30, 50, None, None), 2)
    assert (counted.scripts, counted.seconds) == (31 - 5, None)


def test_no_two_drafts_are_planned_at_once_but_for_two_slots_and_where_both_fit():
    opened = Tree((node(2, 1, state="running"),))
    assert room(opened, TIME, 1).max_drafts == 1
    two = room(opened, TIME, 1, openings=2, slots=2)
    assert (two.max_drafts, two.seconds) == (2, 6000.0)
    late = room(opened, Remaining(None, None, 100.0, 3600.0), 1, openings=2, slots=2)
    assert late.max_drafts == 1
    assert late.min_share <= late.usual_share <= 1


def test_slots_get_different_drafts_and_never_one_in_flight():
    flying = Tree((node(2, 1, state="running"), node(3, 2, 0.6)))
    assert choose(flying, slots=1) == [Action("improve", (3,), 2)]
    assert [a.draft_id for a in choose(Tree(()), slots=5)] == [1, 2]


def test_a_slot_that_no_draft_of_the_round_needs_opens_the_next_round():
    flying = Tree((node(2, 1, state="running"), node(3, 2, 0.6)))
    opened = choose(flying, slots=3)
    assert opened == [Action("improve", (3,), 2), Action("draft", draft_id=3), Action("draft", draft_id=4, slot=1)]


def test_a_slow_draft_goes_on_after_later_rounds_were_opened():
    later = [node(n, d, 0.5, "draft" if n < 7 else "improve") for n, d in ((3, 2), (4, 3), (5, 4), (7, 2), (8, 2))]
    tree = Tree(
        (node(2, 1, 0.4), *later, *(node(n, d, 0.5, "improve") for n, d in ((9, 3), (10, 3), (11, 4), (12, 4))))
    )
    assert choose(tree) == [Action("improve", (2,), 1)]


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(5, 60))
@settings(max_examples=30)
def test_any_world_keeps_the_rules(seed: int, slots: int, steps: int):
    """Simulate a whole run: drafts are numbered without gaps, rounds are complete before the next, chains are bounded."""
    rng, policy = random.Random(seed), RoundsPolicy()
    nodes: list[NodeView] = []
    for _ in range(steps):
        tree = Tree(tuple(nodes))
        for action in policy.next_actions(tree, Remaining(steps, steps, None, None), slots, rng):
            assert action.draft_id is not None
            started = {n.draft_id for n in tree.drafts()}
            if action.kind == "draft":
                assert action.draft_id not in started
                assert action.draft_id <= len(started) + slots
            else:
                last = tree.of_draft(action.draft_id)[-1]
                assert last.state != "running"
                assert (action.kind == "debug") == last.buggy
            state = rng.choice(["valid", "valid", "buggy"])
            score = rng.random() if state == "valid" else None
            number = len(nodes) + 1
            nodes.append(NodeView(number, action.kind, state, action.parents, score, action.draft_id))
    assert nodes, "something is always worth doing while nothing is in flight"
    limit = RoundsSettings().steps_per_draft
    assert all(len(Tree(tuple(nodes)).of_draft(d)) <= limit for d in {n.draft_id for n in nodes if n.draft_id})


def test_news_close_the_drafts_that_were_begun_before_them_and_open_a_round():
    tree = Tree((node(2, 1, 0.5), node(3, 2, 0.6), node(4, 1, 0.4, "improve")))
    renewed = Remaining(40, 50, None, None, renewed_after=4)
    assert choose(tree, renewed, slots=2) == [Action("draft", draft_id=3, slot=0), Action("draft", draft_id=4, slot=1)]
    after = Tree((*tree.nodes, node(5, 3, 0.1)))
    assert choose(after, renewed) == [Action("draft", draft_id=4, slot=1)]
    after = Tree((*after.nodes, node(6, 4, 0.2)))
    assert choose(after, renewed) == [Action("improve", (5,), 3)]
