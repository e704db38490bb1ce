"""AIDE's policy and its relatives: draft a few, debug what is broken, improve the best."""

import random
from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree


class TreeSearchSettings(BaseModel):
    """AIDE's own defaults (github.com/WecoAI/aideml, its search policy)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_drafts: int = Field(default=5, ge=1, description="drafts before anything else; buggy ones count")
    debug_prob: float = Field(default=0.5, ge=0, le=1, description="chance to repair a buggy leaf where there is one")
    max_debug_depth: int = Field(default=3, ge=0, description="a buggy leaf deeper than this is given up")


class TreeSearchPolicy:
    """AIDE's choice of actions; unfinished nodes count as children and as drafts."""

    def __init__(self, settings: TreeSearchSettings | None = None) -> None:
        self._settings = settings or TreeSearchSettings()

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return an action for each free slot; fewer where a better choice is possible once other nodes have ended."""
        actions: list[Action] = []
        for _ in range(free_slots):
            action = self._next(tree, rng)
            if action is None:
                break
            actions.append(action)
            tree = _with_reservation(tree, action)
        return actions

    def _next(self, tree: Tree, rng: random.Random) -> Action | None:
        settings = self._settings
        if len(tree.drafts()) < settings.num_drafts:
            return Action("draft")
        # The draw is made even where nothing can be debugged, as upstream does.
        if rng.random() < settings.debug_prob:
            candidates = [
                n for n in tree.nodes if n.buggy and tree.is_leaf(n) and tree.debug_depth(n) <= settings.max_debug_depth
            ]
            if candidates:
                return Action("debug", (rng.choice(candidates).id,))
        best = tree.best()
        if best is not None:
            return Action("improve", (best.id,))
        if any(n.state == "running" for n in tree.nodes):
            return None
        return Action("draft")


def _with_reservation(tree: Tree, action: Action) -> Tree:
    number = max((n.id for n in tree.nodes), default=0) + 1
    return replace(tree, nodes=(*tree.nodes, NodeView(number, action.kind, "running", action.parents)))
