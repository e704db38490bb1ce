"""The hybrid's phases: wide, with short drafts that differ, then deep, with long ones from the best scripts; pure functions."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.agents.comind.lineage import drafts_begun, is_worth_a_lab, own_ranked, sample_parents
from bot.agents.comind.policy import RoundsPolicy, ScriptTimes
from bot.agents.comind.settings import RoundsSettings
from bot.coder.lab.settings import DAY, SHORTEST, LabSettings
from bot.community.drafts.prompts import Room
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree

_HALF = 0.5
"""Share of the time or steps, and of the money, that is kept for the deep phase."""
_WIDE, _DEEP = 0.5, 2.0
"""Shares of drafts, in multiples of the usual one."""
_MIN_WIDE_SECONDS = 600.0
"""Seconds of a lab: when labs scored scripts, the first one of a lab had its score after 244 to 751."""
_LAST = 1.5
"""Lengths of a long draft, below which all that is left is for one."""

_NODES = 2
"""Of a lab in the wide phase, where the budget counts nodes."""

DeepFrom = Callable[[], float]
"""Returns the number of the first draft of the deep phase; infinity while there is none."""


def goes_wide(budget: Remaining, length: float, drafts: int) -> bool:
    """Return whether this many more drafts of a length (in seconds, or steps if these are counted) leave half of the run."""
    steps = budget.steps is not None
    remaining, total = (budget.steps, budget.steps_total) if steps else (budget.seconds, budget.seconds_total)
    fit = remaining is None or total is None or remaining - drafts * length >= _HALF * total
    return fit and (budget.money is None or budget.money > _HALF)


def is_wide(budget: Remaining, length: float, started: int, deep_from: DeepFrom) -> bool:
    """Return whether the next draft is a short one: one still fits, of the first two both, and no long one has begun."""
    return deep_from() == math.inf and goes_wide(budget, length, 1 if started else 2)


def lab_seconds(settings: LabSettings, total: float, *, deep: bool) -> float:
    """Return the seconds of a lab in a run of `total` seconds: half the usual share when wide, twice that when deep."""
    share = settings.share * min(total, DAY)
    return max(SHORTEST, _DEEP * share) if deep else max(_MIN_WIDE_SECONDS, _WIDE * share)


class PhasedLabs:
    """Opens a lab for each free slot: new ones in the wide phase; in the deep one the first from the best, others as drawn."""

    def __init__(self, settings: LabSettings, deep_from: DeepFrom) -> None:
        self._settings = settings
        self._deep_from = deep_from

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return a lab for each free slot."""
        started = drafts_begun(tree)
        if not is_worth_a_lab(budget, started):
            return ()
        total = budget.seconds_total
        length = _NODES if total is None else lab_seconds(self._settings, total, deep=False)
        deep = not is_wide(budget, length, started, self._deep_from)
        return [
            Action("lab", self._parents(tree, offset, rng) if deep else (), started + 1 + offset, offset, deep=deep)
            for offset in range(free_slots)
        ]

    def _parents(self, tree: Tree, offset: int, rng: random.Random) -> tuple[int, ...]:
        ranking = own_ranked(tree)
        if not ranking:
            return ()
        return (ranking[0].id,) if self._deep_from() == math.inf and offset == 0 else sample_parents(tree, rng)


class PhasedRounds(RoundsPolicy):
    """Rounds of short drafts in the wide phase; in the deep one, long drafts from the best script, one a slot."""

    def __init__(self, settings: RoundsSettings, deep_from: DeepFrom) -> None:
        super().__init__(settings)
        self._deep_from = deep_from
        share, patience = settings.draft_share, settings.patience
        self._wide = settings.model_copy(update={"draft_share": _WIDE * share, "patience": 1})
        self._deep = settings.model_copy(
            update={"draft_share": min(1.0, _DEEP * share), "patience": math.ceil(_DEEP * patience)}
        )

    def settings_of(self, draft_id: int | None) -> RoundsSettings:
        """Return the settings of one draft, by its phase."""
        return self._wide if draft_id is None or draft_id < self._deep_from() else self._deep

    def is_last(self, remaining: Remaining) -> bool:
        """Return whether hardly more than the time of one long draft is left."""
        if remaining.steps is not None and remaining.steps_total is not None:
            return remaining.steps < _LAST * self._deep.scripts(remaining.steps_total)
        return remaining.seconds is not None and remaining.seconds < _LAST * self._deep.draft_share * (
            remaining.seconds_total or 0.0
        )

    def room(self, tree: Tree, budget: Remaining, first: int, openings: int, script: ScriptTimes) -> Room:
        """Return the budget for drafts: when wide no more than short ones need, when deep no less than a long one."""
        room = super().room(tree, budget, first, openings, script)
        if first >= self._deep_from():
            return replace(room, min_share=room.usual_share)
        largest, part = room.max_drafts, room.max_drafts * room.usual_share
        return replace(
            room,
            usual_share=1 / largest,
            min_share=min(room.min_share / part, 1 / largest),
            of_run=room.of_run * part,
            seconds=None if room.seconds is None else room.seconds * part,
            scripts=None if room.scripts is None else max(1, round(room.scripts * part)),
        )

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return work for every slot."""
        drafts = tree.by_draft()
        if is_wide(budget, self._length(tree.nodes, budget), len(drafts), self._deep_from):
            return super().next_actions(tree, budget, free_slots, rng)
        actions = self.continuations(drafts, budget)[:free_slots]
        best = own_ranked(tree)[:1]
        new = self.openings(len(drafts), free_slots - len(actions))
        return [*actions, *(replace(action, parents=tuple(n.id for n in best), deep=True) for action in new)]

    def _length(self, nodes: Sequence[NodeView], budget: Remaining) -> float:
        """Return what a short draft takes: its share, or one script."""
        if budget.steps_total is not None:
            return self._wide.scripts(budget.steps_total)
        longest = max((node.seconds for node in nodes), default=0.0)
        return max(self._wide.draft_share * (budget.seconds_total or 0.0), longest)
