"""Hybrid: CoMind with the knowledge base in its plans, wide early and deep late, by the remaining time and money."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace

from bot.agents.comind.briefing import CoMindBriefing, in_rounds, open_intake
from bot.agents.comind.labs import LabsBriefing, LabTerms, starting_point
from bot.agents.comind.settings import RoundsSettings
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.settings import LabSettings
from bot.coder.playbook import Assignment
from bot.community.intake import Intake
from bot.engine.attempts import attempt
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action, Remaining, Strategy
from bot.engine.tree import Tree
from bot.knowledge.retrieval import RetrievedEntries
from bot.research.agents.phases import PhasedLabs, PhasedRounds, lab_seconds
from state.steps import Key, StepKind
from state.store import Transaction

_PHASE = StepKind("phase", str)
_WIDE = (
    "The run starts wide: short drafts, each with a different approach, show what is worth more time; long drafts later "
    "continue the best ones. Try your approach cheaply{0}: if all rows and folds would take too long, use only some of them. "
    "Leave tuning and stacking to the long drafts."
)
_DEEP = (
    "The run now goes deep: a few long drafts continue the best experiments. Find what they lack, and add what "
    "the engine's ensemble lacks: models that are nearly as good but make errors on different rows."
)
_LAST = (
    "This is probably the last draft: combine what improved the score, and add seeds, folds and members to "
    "the best result. Do not start anything risky."
)
_TRICKS = "What did and did not work in other competitions. Use only what fits this task and data:"


class Phases:
    """The parts common to labs and scripts: the start of the deep phase, messages on phases, and knowledge for drafts."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._lock = asyncio.Lock()

    def deep_from(self) -> float:
        """Return the number of the first draft of the deep phase; infinity while there is none."""
        return min((action.draft_id or 0 for _, action in self._context.decisions if action.deep), default=math.inf)

    async def begin(self, action: Action, tree: Tree) -> None:
        """Record, once per run, that a phase starts with this draft."""
        context, phase = self._context, "deep" if action.deep else "wide"

        async def announce() -> str:
            # The node that opens the draft counts in the tree already.
            remaining = context.remaining(len(tree.nodes) - 1, best_seconds(context, tree))
            sentence = f"draft {action.draft_id} starts the {phase} phase with {remaining_in_words(remaining)} left"
            context.say(sentence)
            return sentence

        def save(tx: Transaction, sentence: str) -> None:
            tx.record("phase.began", run_id=context.run_id, phase=phase, draft=action.draft_id, sentence=sentence)

        async with self._lock:
            await context.steps.once(_PHASE, announce, Key(part=phase), save=save)

    async def knowledge(self, parents: Sequence[int], node: int) -> RetrievedEntries:
        """Return papers for the draft that a node opens, or tricks and lessons if it extends a script."""
        base = self._context.knowledge
        if base is None:
            return RetrievedEntries()
        return await base.tricks(node, attempt(self._context, parents[0]).plan) if parents else await base.papers(node)


def remaining_in_words(remaining: Remaining) -> str:
    """Return the shares of time or steps, and of money, that are left."""
    shares = []
    if remaining.steps is not None and remaining.steps_total:
        shares.append(f"{remaining.steps / remaining.steps_total:.0%} of the steps")
    if remaining.seconds is not None and remaining.seconds_total:
        shares.append(f"{remaining.seconds / remaining.seconds_total:.0%} of the time")
    if remaining.money is not None:
        shares.append(f"{remaining.money:.0%} of the money or token budget")
    return " and ".join(shares) or "an unlimited budget"


def _advice(deep: bool, last: bool, seconds: float | None) -> str:
    """Return what a draft's plan and coder are told of its phase. `seconds` is what a short draft has; None: it is not told."""
    if not deep:
        return _WIDE.format("" if seconds is None else f", in {seconds:.0f} s")
    return f"{_DEEP} {_LAST}" if last else _DEEP


class HybridLabs(LabsBriefing):
    """CoMind's briefing of labs, by phases."""

    def __init__(self, context: RunContext, intake: Intake, phases: Phases) -> None:
        super().__init__(context, intake)
        self._phases = phases

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return what the lab works on."""
        await self._phases.begin(action, tree)
        return await super().lab(action, node, tree)

    def terms(self, action: Action, tree: Tree) -> LabTerms:
        """Return a short lab when wide, a long one when deep."""
        context, settings = self._context, self._context.settings_of(LabSettings)
        total = context.budget.seconds
        seconds = lab_seconds(settings, total, deep=action.deep)
        if not action.deep:
            return LabTerms(seconds, seconds, _advice(False, False, seconds))
        if not action.parents:  # there is nothing yet that could be gone on with
            return LabTerms(seconds)
        usable = context.budget.usable(best_seconds(context, tree))
        return LabTerms(seconds, advice=_advice(True, settings.seconds(total, usable, seconds) >= usable, None))

    async def plan_knowledge(self, action: Action, node: int) -> RetrievedEntries:
        """Return entries for the plan of a lab."""
        return await self._phases.knowledge(action.parents, node)

    def other_drafts(self, action: Action) -> list[int]:
        """Return the drafts that this one must differ from: a short one from all earlier ones."""
        return super().other_drafts(action) if action.deep else list(range(1, action.draft_id or 1))


class HybridScripts(CoMindBriefing):
    """CoMind's briefing of a coder that writes scripts, by phases."""

    def __init__(self, context: RunContext, policy: PhasedRounds, intake: Intake, phases: Phases) -> None:
        super().__init__(context, policy, intake)
        self._phases, self._rounds = phases, policy

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the draft's brief; an improvement's has tricks and lessons beside."""
        if action.kind == "draft":
            await self._phases.begin(action, tree)
        assignment = await super().assign(action, node, tree)
        opening = tree.of_draft(action.draft_id or 0)[0]
        items = (*assignment.known_items, *(await self.plan_knowledge(opening.parents, opening.id)).items)
        if action.kind != "improve" or not (tricks := await self._phases.knowledge(action.parents, node)).text:
            return replace(assignment, known_items=items)
        brief = replace(assignment.brief, draft="\n\n".join((assignment.brief.draft, _TRICKS, tricks.text)))
        return replace(assignment, brief=brief, known_items=tuple(dict.fromkeys((*items, *tricks.items))))

    def start(self, action: Action, tree: Tree) -> str:
        """Return the fixed properties of a draft: its start, and the goal of its phase."""
        if action.deep and not action.parents:
            return starting_point(action.parents)
        last = self._rounds.is_last(self._remaining(tree))
        return f"{starting_point(action.parents)} {_advice(action.deep, last, None)}"

    def to_report(self, draft_id: int) -> range:
        """Return the drafts that are reported on before one is planned: when deep, all that are not in flight."""
        return range(1, draft_id) if draft_id >= self._phases.deep_from() else super().to_report(draft_id)

    async def plan_knowledge(self, parents: Sequence[int], node: int) -> RetrievedEntries:
        """Return entries for the plan of the draft that a node opens."""
        return await self._phases.knowledge(parents, node)

    def other_drafts(self, draft_id: int, tree: Tree, remaining: Remaining) -> list[int]:
        """Return the drafts that this one must differ from: a short one from all earlier ones."""
        wide = draft_id < self._phases.deep_from()
        return list(range(1, draft_id)) if wide else super().other_drafts(draft_id, tree, remaining)


def hybrid(context: RunContext) -> Strategy:
    """Return CoMind's playbooks with the hybrid's policy and briefings."""
    phases, intake = Phases(context), open_intake(context)
    policy = PhasedRounds(context.settings_of(RoundsSettings), phases.deep_from)
    labs = PhasedLabs(context.settings_of(LabSettings), phases.deep_from), HybridLabs(context, intake, phases)
    return in_rounds("hybrid", context, intake, labs, (policy, HybridScripts(context, policy, intake, phases)))
