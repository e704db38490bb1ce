"""CoMind's policy: rounds of a few drafts side by side, each worked on until its share is used up or it stagnates."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.agents.comind.settings import RoundsSettings
from bot.community.drafts.prompts import Room
from bot.engine.budget import DraftLeft
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree


@dataclass(frozen=True)
class ScriptTimes:
    """What is expected of the next script (seconds), and how many are worked on at a time."""

    limit: float
    """Its time limit."""
    answer: float
    """To write it."""
    shortest: float
    """Below which its run is hardly worth it."""
    slots: int


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
        actions = self.openings(len(drafts), free_slots) if len(drafts) % size else []
        actions += self.going_on(drafts, budget)
        if len(actions) < free_slots and len(drafts) % size == 0:
            actions += self.openings(len(drafts), free_slots - len(actions))
        return actions[:free_slots]

    def going_on(self, drafts: Mapping[int, Sequence[NodeView]], budget: Remaining) -> list[Action]:
        """Return the next script of each draft that is open and has none in flight, those with the fewest first."""
        idle = {d: nodes for d, nodes in drafts.items() if not any(n.state == "running" for n in nodes)}
        unclosed = {d: nodes for d, nodes in idle.items() if not self.is_closed(nodes, budget)}
        return [self._continue(d, unclosed[d]) for d in sorted(unclosed, key=lambda d: (len(unclosed[d]), d))]

    def settings_of(self, draft_id: int | None) -> RoundsSettings:
        """Return the settings of one draft."""
        return self.settings

    def openings(self, started: int, free_slots: int) -> list[Action]:
        """Return the next drafts of the round that is under way after so many drafts."""
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

    def left(self, nodes: Sequence[NodeView], budget: Remaining, draft_id: int | None = None) -> DraftLeft:
        """Return what is left of a draft, whose ended nodes come oldest first; its number, where there may be none yet."""
        settings = self.settings_of(nodes[0].draft_id if nodes else draft_id)
        scripts, seconds = settings.steps_per_draft, None
        share = next((n.draft_share for n in nodes if n.draft_share is not None), None)
        if budget.steps_total is not None:
            planned = None if share is None else max(1, round(share * budget.steps_total))
            scripts = min(scripts, planned or settings.scripts(budget.steps_total))
        if budget.seconds_total is not None:
            seconds = (share or settings.draft_share) * budget.seconds_total - sum(n.seconds for n in nodes)
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

    def room(self, tree: Tree, budget: Remaining, first: int, openings: int, script: ScriptTimes) -> Room:
        """Return what is left for drafts that are planned now, without what open ones may still use.

        `first` is the number of the first of them, with its opening node in the tree, and `openings` begin side by
        side at most.
        """
        settings = self.settings_of(first)
        open_drafts = [nodes for draft, nodes in tree.by_draft().items() if draft < first]
        going_on = [remaining for nodes in open_drafts if not (remaining := self.left(nodes, budget)).is_over]
        if budget.steps_total is not None:
            total: float = budget.steps_total
            smallest, usual = 1.0, float(settings.scripts(budget.steps_total))
            # The node that opens a draft counts in the tree already.
            available = max(1.0, (budget.steps or 0) + 1.0 - sum(remaining.scripts for remaining in going_on))
        else:
            total = budget.seconds_total or 0.0
            smallest = script.answer + script.shortest
            longest = max((n.seconds for n in tree.nodes if not n.baseline), default=0.0)
            usual = max(settings.draft_share * total, longest, smallest)
            available = max(
                smallest,
                (budget.seconds or 0.0) * script.slots - sum(remaining.seconds or 0.0 for remaining in going_on),
            )
        count = max(1, min(openings, int(available / usual)))
        return Room(
            most=count,
            usual=min(usual / available, 1 / count),
            least=min(smallest / available, 1 / count),
            of_run=available / total,
            execution_seconds=script.limit,
            seconds=None if budget.steps_total is not None else available,
            scripts=None if budget.steps_total is None else int(available),
            gainless=settings.patience,
            answer_seconds=script.answer,
        )
