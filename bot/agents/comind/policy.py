"""CoMind's policy: rounds of a few parallel drafts, each until its share is used up or it stagnates."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from bot.agents.comind.settings import RoundsSettings
from bot.community.drafts.prompts import Room
from bot.engine.budget import DraftLeft
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree


@dataclass(frozen=True)
class ScriptTimes:
    """Expected times of the next script (seconds), and the number of parallel ones."""

    limit: float
    answer: float
    """To write it."""
    shortest: float
    """Minimum worth running."""
    slots: int


class RoundsPolicy:
    """Chooses the open draft with the fewest scripts; opens the next round when all drafts of this one are closed."""

    def __init__(self, settings: RoundsSettings | None = None) -> None:
        self.settings = settings or RoundsSettings()

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return work for every slot: drafts whose script has ended continue, and a free slot opens another.

        So a round may start while scripts of the one before are still in flight, but never with a single slot.
        """
        size = self.settings.drafts_per_round
        drafts = tree.by_draft()
        actions = self.openings(len(drafts), free_slots) if len(drafts) % size else []
        actions += self.continuations(drafts, budget)
        if len(actions) < free_slots and len(drafts) % size == 0:
            actions += self.openings(len(drafts), free_slots - len(actions))
        return actions[:free_slots]

    def continuations(self, drafts: Mapping[int, Sequence[NodeView]], budget: Remaining) -> list[Action]:
        """Return the next script of each draft that is open and has none in flight, those with the fewest first."""
        actions = []
        for draft_id, nodes in sorted(drafts.items(), key=lambda item: (len(item[1]), item[0])):
            if any(n.state == "running" for n in nodes) or self.is_closed(nodes, budget):
                continue
            last, best = nodes[-1], Tree(tuple(nodes)).best()
            parent = last if last.buggy else best or last
            actions.append(Action("debug" if last.buggy else "improve", (parent.id,), draft_id))
        return actions

    def settings_of(self, draft_id: int | None) -> RoundsSettings:
        """Return the settings of one draft."""
        return self.settings

    def openings(self, started: int, free_slots: int) -> list[Action]:
        """Return the next drafts of the current round after so many drafts."""
        size = self.settings.drafts_per_round
        first = started % size
        return [
            Action("draft", draft_id=started + 1 + offset, slot=first + offset)
            for offset in range(min(free_slots, size - first))
        ]

    def is_closed(self, nodes: Sequence[NodeView], budget: Remaining) -> bool:
        """Return whether a draft's share is used up, it no longer gains, it cannot be repaired, or news overtook it.

        Its nodes come oldest first.
        """
        overtaken = budget.renewed_after is not None and nodes[0].id <= budget.renewed_after
        return overtaken or self.draft_left(nodes, budget).is_over

    def draft_left(
        self, nodes: Sequence[NodeView], budget: Remaining, draft_id: int | None = None, share: float | None = None
    ) -> DraftLeft:
        """Return the remaining budget of a draft, whose ended nodes come oldest first; without any, give its number and share."""
        settings = self.settings_of(nodes[0].draft_id if nodes else draft_id)
        scripts, seconds = settings.steps_per_draft, None
        share = next((n.draft_share for n in nodes if n.draft_share is not None), share)
        if budget.steps_total is not None:
            planned = None if share is None else max(1, round(share * budget.steps_total))
            scripts = min(scripts, planned or settings.scripts(budget.steps_total))
        if budget.seconds_total is not None:
            seconds = (share or settings.draft_share) * budget.seconds_total - sum(n.seconds for n in nodes)
        failed = len(list(takewhile(lambda node: node.buggy, reversed(nodes))))
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
        """Return what remains for drafts that are planned now, without what open ones may still use.

        `first` is the number of the first of them, with its opening node in the tree; at most `openings` start at once.
        """
        settings = self.settings_of(first)
        earlier = [self.draft_left(nodes, budget) for draft, nodes in tree.by_draft().items() if draft < first]
        open_drafts = [draft for draft in earlier if not draft.is_over]
        if budget.steps_total is not None:
            total: float = budget.steps_total
            smallest, usual = 1.0, float(settings.scripts(budget.steps_total))
            # The node that opens a draft counts in the tree already.
            available = max(1.0, (budget.steps or 0) + 1.0 - sum(draft.scripts for draft in open_drafts))
        else:
            total = budget.seconds_total or 0.0
            smallest = script.answer + script.shortest
            longest = max((n.seconds for n in tree.nodes if not n.baseline), default=0.0)
            usual = max(settings.draft_share * total, longest, smallest)
            used_seconds = sum(draft.seconds or 0.0 for draft in open_drafts)
            available = max(smallest, (budget.seconds or 0.0) * script.slots - used_seconds)
        count = max(1, min(openings, int(available / usual)))
        return Room(
            max_drafts=count,
            usual_share=min(usual / available, 1 / count),
            min_share=min(smallest / available, 1 / count),
            of_run=available / total,
            execution_seconds=script.limit,
            seconds=None if budget.steps_total is not None else available,
            scripts=None if budget.steps_total is None else int(available),
            gainless=settings.patience,
            answer_seconds=script.answer,
        )
