"""AIDE's policy: its rules, and the laws that hold for every tree."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agents.tree.policy import TreeSearchPolicy, TreeSearchSettings
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree

UNLIMITED = Remaining(None, None, None, None)


def one(tree: Tree, seed: int = 0, **options: object) -> Action:
    policy = TreeSearchPolicy(TreeSearchSettings.model_validate(options))
    (action,) = policy.next_actions(tree, UNLIMITED, 1, random.Random(seed))
    return action


def tree(*nodes: NodeView) -> Tree:
    return Tree(nodes)


def drafts(count: int, state: str = "buggy", score: float | None = None) -> list[NodeView]:
    return [NodeView(i + 1, "draft", state, score=score) for i in range(count)]


def test_drafts_first_and_buggy_drafts_count():
    assert one(tree()).kind == "draft"
    assert one(tree(*drafts(4))).kind == "draft"
    assert one(tree(*drafts(5)), debug_prob=1.0).kind == "debug"


def test_the_baseline_is_no_draft_but_may_be_improved():
    baseline = NodeView(1, "draft", "valid", score=9.0, baseline=True)
    others = [NodeView(i + 2, "draft", "valid", score=1.0) for i in range(4)]
    assert one(tree(baseline, *others)).kind == "draft"
    last = NodeView(6, "draft", "valid", score=1.0)
    assert one(tree(baseline, *others, last), debug_prob=0.0) == Action("improve", (1,))


def test_improves_the_best_and_the_earliest_of_equals():
    nodes = [NodeView(i + 1, "draft", "valid", score=s) for i, s in enumerate((0.1, 0.7, 0.3, 0.7, 0.2))]
    assert one(tree(*nodes)) == Action("improve", (2,))


def test_drafts_again_when_nothing_is_valid_and_no_debug_is_drawn():
    assert one(tree(*drafts(5)), debug_prob=0.0).kind == "draft"


def test_waits_for_nodes_in_flight_instead_of_drafting_beyond_the_number():
    policy = TreeSearchPolicy()
    flying = tree(*(NodeView(i + 1, "draft", "running") for i in range(5)))
    assert policy.next_actions(flying, UNLIMITED, 2, random.Random(0)) == []


def test_several_slots_count_as_drafts_in_flight():
    actions = TreeSearchPolicy().next_actions(tree(*drafts(3)), UNLIMITED, 8, random.Random(1))
    assert [a.kind for a in actions][:2] == ["draft", "draft"]
    assert all(a.kind != "draft" for a in actions[2:4])


def test_an_infrastructure_failure_releases_its_reservation():
    parent = NodeView(1, "draft", "buggy")
    lost = NodeView(6, "debug", "failed", (1,))
    rest = [NodeView(i, "draft", "valid", score=0.0) for i in range(2, 6)]
    assert one(tree(parent, *rest, lost), debug_prob=1.0) == Action("debug", (1,))


def test_a_chain_of_repairs_ends_after_the_maximum_depth_plus_one():
    policy = TreeSearchPolicy(TreeSearchSettings(num_drafts=1, debug_prob=1.0, max_debug_depth=2))
    nodes = [NodeView(1, "draft", "buggy")]
    for number in range(2, 12):
        (action,) = policy.next_actions(tree(*nodes), UNLIMITED, 1, random.Random(number))
        nodes.append(NodeView(number, action.kind, "buggy", action.parents))
    longest = max(tree(*nodes).debug_depth(n) for n in nodes)
    assert longest == 3


def test_a_world_where_nothing_works_gives_the_reference_counts():
    """AIDE's defaults, 400 steps: 208 drafts and 192 repairs in the reference; the same law, so close to it."""
    policy, nodes, rng = TreeSearchPolicy(), [], random.Random(7)
    for number in range(1, 401):
        (action,) = policy.next_actions(tree(*nodes), UNLIMITED, 1, rng)
        nodes.append(NodeView(number, action.kind, "buggy", action.parents))
    counts = Counter(n.action for n in nodes)
    assert 170 <= counts["draft"] <= 245
    assert max(tree(*nodes).debug_depth(n) for n in nodes) == 4


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    nodes: list[NodeView] = []
    for number in range(1, draw(st.integers(0, 14)) + 1):
        state = draw(st.sampled_from(["valid", "buggy", "running"]))
        ended = [n for n in nodes if n.state != "running"]
        parent = draw(st.sampled_from([None, *ended])) if ended else None
        score = draw(st.one_of(st.floats(-5, 5), st.just(float("nan")))) if state == "valid" else None
        if parent is None:
            nodes.append(NodeView(number, "draft", state, score=score))
        else:
            kind = "improve" if parent.valid else "debug"
            nodes.append(NodeView(number, kind, state, (parent.id,), score))
    return Tree(tuple(nodes))


@given(trees(), st.integers(0, 10_000), st.floats(0, 1))
@settings(max_examples=300, deadline=None)
def test_what_is_chosen_always_makes_sense(any_tree: Tree, seed: int, debug_prob: float):
    options = TreeSearchSettings(debug_prob=debug_prob)
    policy = TreeSearchPolicy(options)
    actions = policy.next_actions(any_tree, UNLIMITED, 1, random.Random(seed))
    assert actions == policy.next_actions(any_tree, UNLIMITED, 1, random.Random(seed))
    for action in actions:
        if action.kind == "draft":
            assert len(any_tree.drafts()) < options.num_drafts or not any_tree.valid()
        if action.kind == "debug":
            parent = any_tree[action.parents[0]]
            assert parent.buggy
            assert any_tree.is_leaf(parent)
            assert any_tree.debug_depth(parent) <= options.max_debug_depth
        if action.kind == "improve":
            best = any_tree.best()
            assert best is not None
            assert best.id == action.parents[0]
            assert best.score == best.score, "NaN is never best"


def test_a_spoiled_node_is_best_only_where_all_are() -> None:
    spoiled, plain = NodeView(1, "draft", "valid", score=0.9, spoiled=True), NodeView(2, "draft", "valid", score=0.1)
    assert Tree((spoiled, plain)).best() is plain
    assert Tree((spoiled,)).best() is spoiled
