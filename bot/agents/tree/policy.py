"""The tree search of AIDE and AutoMind, one policy: draft a few, debug failed ones, improve the best or another."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree


@dataclass(frozen=True)
class TreeSearch:
    """The parameters of the policy.

    AIDE's is exact (github.com/WecoAI/aideml, its search policy). AutoMind's is reconstructed from the text of its paper
    (arXiv 2506.10974, section 3.2 and appendix D), without its algorithm 1. Choices of ours: buggy drafts count as drafts; the
    best is not among the other valid nodes; both choices are uniform; a node is dead at the maximum depth; `trick_prob` is the
    probability that an improvement is shown tricks.
    """

    num_drafts: int
    debug_prob: float
    max_debug_depth: int
    greedy_prob: float = 1.0
    dead_at_maximum: bool = False
    """Whether a buggy leaf at the maximum depth is abandoned, as in AutoMind, or repaired once more, as in AIDE."""
    papers: bool = False
    """Whether a draft is shown papers."""
    trick_prob: float = 0.0


PRESETS: Mapping[str, TreeSearch] = {
    "aide": TreeSearch(num_drafts=5, debug_prob=0.5, max_debug_depth=3),
    "aide-mlebench": TreeSearch(num_drafts=5, debug_prob=1.0, max_debug_depth=20),
    "automind": TreeSearch(
        num_drafts=5,
        debug_prob=1.0,
        max_debug_depth=5,
        greedy_prob=0.8,
        dead_at_maximum=True,
        papers=True,
        trick_prob=0.8,
    ),
}
"""By agent: AIDE's own defaults, those of MLE-bench, and AutoMind's."""


class TreeSearchPolicy:
    """Chooses actions one by one; nodes in flight count as children and as drafts, the engine's baseline does not count."""

    def __init__(self, search: TreeSearch) -> None:
        self._search = search

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return an action for each free slot; fewer if a better choice is possible once other nodes have ended."""
        tree = replace(tree, nodes=tuple(node for node in tree.nodes if not node.baseline))
        actions: list[Action] = []
        while len(actions) < free_slots and (action := next_action(tree, self._search, rng)) is not None:
            actions.append(action)
            number = max((n.id for n in tree.nodes), default=0) + 1
            tree = replace(tree, nodes=(*tree.nodes, NodeView(number, action.kind, "running", action.parents)))
        return actions


def next_action(tree: Tree, search: TreeSearch, rng: random.Random) -> Action | None:
    """Return the next action; None if it depends on nodes in flight whether another draft is needed."""
    draft = Action("draft", knowledge=search.papers)
    if len(tree.drafts()) < search.num_drafts:
        return draft
    deepest = search.max_debug_depth - (1 if search.dead_at_maximum else 0)
    failed = [node for node in tree.nodes if node.buggy and tree.is_leaf(node) and tree.debug_depth(node) <= deepest]
    # A random number is drawn even if nothing can be debugged, as upstream does.
    if rng.random() < search.debug_prob and failed:
        return Action("debug", (rng.choice(failed).id,))
    best = tree.best()
    if best is None:
        return None if any(node.state == "running" for node in tree.nodes) else draft
    parent, alternatives = best, [node for node in tree.valid() if node.id != best.id]
    if search.greedy_prob < 1 and alternatives and rng.random() >= search.greedy_prob:
        parent = rng.choice(alternatives)
    return Action("improve", (parent.id,), knowledge=rng.random() < search.trick_prob)
