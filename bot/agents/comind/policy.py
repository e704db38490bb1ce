"""CoMind's policy: rounds of a few drafts side by side, each worked on until its share is used up or it stagnates."""

import math
import random
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.engine.budget import DraftLeft
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree
from sandbox import SandboxDescription

Coder = Literal["lab", "script"]


def usual_coder(model: str, sandbox: SandboxDescription) -> Coder:
    """Return who works on drafts by default: a model of the kind `builtin` writes scripts alone, and a lab needs walls."""
    return "lab" if model != "builtin" and sandbox.isolation != "none" else "script"


class RoundsSettings(BaseModel):
    """Settings of the rounds; the step limit is the paper's (arXiv 2506.20640 v1, section 4)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    coder: Coder = Field(default="script", description="who works on a draft: a shell, or scripts alone")
    drafts_per_round: int = Field(default=2, ge=2, description="one extends the best so far, one is new")
    steps_per_draft: int = Field(default=20, ge=1, description="scripts a draft at the most")
    draft_share: float = Field(default=0.12, gt=0, le=1, description="share of the run's budget that one draft may use")
    patience: int = Field(default=2, ge=1, description="scored scripts in a row without gain that close a draft")
    max_debug_depth: int = Field(
        default=3, ge=0, description="failed scripts in a row after the first that close a draft"
    )


class RoundsPolicy:
    """Chooses the open draft with the fewest scripts; opens the next round when all drafts of this one are closed."""

    def __init__(self, settings: RoundsSettings | None = None) -> None:
        self.settings = settings or RoundsSettings()

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return work for every slot: drafts whose script has ended go on, and a free slot opens another.

        So a round may begin while scripts of the one before are still in flight, but never with a single slot.
        """
        size = self.settings.drafts_per_round
        drafts = tree.by_draft()
        actions = self._openings(len(drafts), free_slots) if len(drafts) % size else []
        idle = {d: nodes for d, nodes in drafts.items() if not any(n.state == "running" for n in nodes)}
        unclosed = {d: nodes for d, nodes in idle.items() if not self.is_closed(nodes, budget)}
        for draft_id in sorted(unclosed, key=lambda d: (len(unclosed[d]), d)):
            actions.append(self._continue(draft_id, unclosed[draft_id]))
        if len(actions) < free_slots and len(drafts) % size == 0:
            actions += self._openings(len(drafts), free_slots - len(actions))
        return actions[:free_slots]

    def _openings(self, started: int, free_slots: int) -> list[Action]:
        size = self.settings.drafts_per_round
        first = started % size
        return [
            Action("draft", draft_id=started + 1 + offset, slot=first + offset)
            for offset in range(min(free_slots, size - first))
        ]

    def _continue(self, draft_id: int, nodes: Sequence[NodeView]) -> Action:
        last = nodes[-1]
        if last.buggy:
            return Action("debug", (last.id,), draft_id)
        best = Tree(tuple(nodes)).best()
        return Action("improve", ((best or last).id,), draft_id)

    def is_closed(self, nodes: Sequence[NodeView], budget: Remaining) -> bool:
        """Return whether a draft's share is used up, it no longer gains, it cannot be repaired, or news overtook it.

        Its nodes come oldest first.
        """
        overtaken = budget.renewed_after is not None and nodes[0].id <= budget.renewed_after
        return overtaken or self.left(nodes, budget).is_over

    def left(self, nodes: Sequence[NodeView], budget: Remaining) -> DraftLeft:
        """Return what is left of a draft, whose ended nodes come oldest first."""
        settings, scripts, seconds = self.settings, self.settings.steps_per_draft, None
        if budget.steps_total is not None:
            scripts = min(scripts, max(1, math.ceil(settings.draft_share * budget.steps_total)))
        if budget.seconds_total is not None:
            seconds = settings.draft_share * budget.seconds_total - sum(n.seconds for n in nodes)
        failed = 0
        for node in reversed(nodes):
            if not node.buggy:
                break
            failed += 1
        best, gainless = -math.inf, 0
        for node in nodes:
            if node.valid:
                gainless = 0 if node.fitness > best else gainless + 1
                best = max(best, node.fitness)
        return DraftLeft(
            scripts=scripts - len(nodes),
            seconds=seconds,
            gainless=settings.patience - gainless,
            failed=settings.max_debug_depth + 1 - failed,
        )

    def drafts_that_fit(self, tree: Tree, budget: Remaining, slots: int = 1) -> int:
        """Return how many drafts fit into the rest of the run, at least one.

        The node that opens the first of them counts in the tree already. A draft takes its share, or as long as the longest
        script of the run took if that is more.
        """
        if budget.steps is not None and budget.steps_total is not None:
            share = min(self.settings.steps_per_draft, math.ceil(self.settings.draft_share * budget.steps_total))
            return max(1, (budget.steps + 1) // max(1, share))
        if budget.seconds is None or budget.seconds_total is None:
            return self.settings.drafts_per_round
        longest = max((n.seconds for n in tree.nodes if not n.baseline), default=0.0)
        share_seconds = max(self.settings.draft_share * budget.seconds_total, longest)
        return max(1, int(slots * budget.seconds / share_seconds))
