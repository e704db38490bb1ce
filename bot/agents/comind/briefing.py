"""CoMind: posts become analyses, ideas and drafts; a coder works on each draft; its report returns to the pool."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bot.agents.comind.labs import LabsBriefing, keep_baseline
from bot.agents.comind.lineage import LabsPolicy
from bot.agents.comind.policy import RoundsPolicy, ScriptTimes
from bot.agents.comind.settings import RoundsSettings
from bot.coder.brief import Brief
from bot.coder.coder_config import ChosenCoder
from bot.coder.lab.playbook import LabPlaybook
from bot.coder.lab.settings import LabSettings
from bot.coder.playbook import Assignment, ScriptPlaybook
from bot.community.drafts.planning import draft_row, draft_text, plan_drafts, provenance
from bot.community.drafts.reporting import report_on
from bot.community.intake import Intake
from bot.community.settings import ReadingSettings
from bot.engine.attempts import attempt, code, infer_code
from bot.engine.budget import SHORTEST_EXECUTION, SHORTEST_SHARE
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action, ActionKind, Playbook, Policy, Remaining, Strategy
from bot.engine.tree import Tree
from bot.knowledge.retrieval import RetrievedEntries
from state.errors import BotError, BudgetExceeded
from state.knowledge import reproductions
from state.tables import Draft


class CoMindBriefing:
    """Briefs a coder that writes scripts: task, draft and earlier results, never the pools."""

    def __init__(self, context: RunContext, policy: RoundsPolicy, intake: Intake, *, kernels: bool = True) -> None:
        """Brief the coders of a run; `kernels` says whether public kernels are run beside the drafts."""
        self._context = context
        self._intake = intake
        self._kernels = kernels
        self._policy = policy
        self._lock = asyncio.Lock()
        self._reporting: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the draft's brief and its earlier scripts with their results, the one to work on last."""
        if action.draft_id is None:
            raise ValueError("every CoMind action must belong to a draft")
        if action.kind == "draft":
            async with self._lock:
                await self._open_round(action, action.draft_id, node, tree)
            if self._kernels:
                # They run beside the drafts, and are ready for the next round.
                self._intake.begin("kernels", self._round_of(action.draft_id))
        draft = draft_row(self._context, action.draft_id)
        if draft is None:
            raise BotError(f"draft {action.draft_id} has not been planned")
        nodes = [n for n in tree.of_draft(action.draft_id) if n.state in ("valid", "buggy") and n.id != node]
        earlier = [n.id for n in nodes]
        node_ids = [n for n in earlier if n not in action.parents] + [p for p in action.parents if p in earlier]
        return Assignment(
            brief=self._brief(draft),
            attempts=tuple(attempt(self._context, n) for n in node_ids),
            known_items=provenance(self._context, draft),
            draft_left=self._policy.draft_left(nodes, self._remaining(tree), action.draft_id, draft.share),
            compared_node=None if action.parents else draft.codebase_node,
        )

    def _remaining(self, tree: Tree) -> Remaining:
        return self._context.remaining(len(tree.nodes), best_seconds(self._context, tree))

    async def meanwhile(self, tree: Tree) -> None:
        """Write reports on closed drafts now, so that the next round need not wait for them."""
        remaining = self._remaining(tree)
        for draft_id, nodes in tree.by_draft().items():
            if all(n.state != "running" for n in nodes) and self._policy.is_closed(nodes, remaining):
                await self._report(draft_id, tree)

    def _round_of(self, draft_id: int) -> int:
        return (draft_id - 1) // self._context.settings_of(RoundsSettings).drafts_per_round + 1

    def start(self, action: Action, tree: Tree) -> str:
        """Return what is fixed of a draft, in a sentence or two; nothing in CoMind."""
        return ""

    async def plan_knowledge(self, parents: Sequence[int], node: int) -> RetrievedEntries:
        """Return entries of the knowledge base for the plan of the draft that a node opens; none in CoMind."""
        return RetrievedEntries()

    def to_report(self, draft_id: int) -> range:
        """Return the drafts whose reports are written before one is planned: those of earlier rounds."""
        return range(1, (self._round_of(draft_id) - 1) * self._context.settings_of(RoundsSettings).drafts_per_round + 1)

    async def _open_round(self, action: Action, draft_id: int, node: int, tree: Tree) -> None:
        context, number = self._context, self._round_of(draft_id)
        size = context.settings_of(RoundsSettings).drafts_per_round
        if draft_row(context, draft_id) is not None:
            return
        self._script_seconds(tree, "reporter", "proposer", "coordinator")
        keep_baseline(context, tree)
        await self._intake.ready("posts", number)
        await self._intake.ready("kernels", number - 1 if self._kernels else 0)
        await self._write_reports(self.to_report(draft_id), tree)
        best = best_seconds(context, tree) or 0.0
        script = ScriptTimes(
            self._script_seconds(tree, "coordinator"),
            context.answer_seconds,
            max(SHORTEST_EXECUTION, SHORTEST_SHARE * best),
            context.slots,
        )
        # From one script one draft is planned.
        openings = 1 if action.parents else min(number * size + 1 - draft_id, context.slots)
        remaining = self._remaining(tree)
        context.say(f"planning round {number}")
        await plan_drafts(
            context,
            number,
            draft_id,
            lambda: self._policy.room(tree, remaining, draft_id, openings, script),
            other_ids=self.other_drafts(draft_id, tree, remaining),
            start=self.start(action, tree),
            parents=action.parents,
            knowledge=await self.plan_knowledge(action.parents, node),
        )

    def other_drafts(self, draft_id: int, tree: Tree, remaining: Remaining) -> list[int]:
        """Return the earlier drafts that are open or of the same round."""
        number = self._round_of(draft_id)
        return [
            draft
            for draft, nodes in tree.by_draft().items()
            if draft < draft_id and (self._round_of(draft) == number or not self._policy.is_closed(nodes, remaining))
        ]

    def _script_seconds(self, tree: Tree, *roles: str) -> float:
        """Return the time limit of a script that starts once these roles and the coder have answered, as slowly as before.

        Raises BudgetExceeded: there is no time for one any more.
        """
        context = self._context
        later = context.answer_seconds + sum(context.asker.longest_answer(role, 0.0) for role in roles)
        seconds = context.budget.execution_seconds(best_seconds(context, tree), later)
        if seconds is None:
            raise BudgetExceeded("no time left to plan, write and run another script")
        return seconds

    async def _write_reports(self, drafts: Iterable[int], tree: Tree) -> None:
        """Write the missing reports side by side."""
        try:
            async with asyncio.TaskGroup() as group:
                for draft_id in drafts:
                    group.create_task(self._report(draft_id, tree))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures

    async def _report(self, draft_id: int, tree: Tree) -> None:
        draft = draft_row(self._context, draft_id)
        if draft is None:
            return
        nodes = tree.of_draft(draft_id)
        if any(n.state == "running" for n in nodes):
            return  # with several slots: its report is written when the next round opens, or at the end
        finished = [n.id for n in nodes if n.state in ("valid", "buggy")]
        async with self._reporting[draft_id]:
            attempts = [attempt(self._context, n) for n in finished]
            await report_on(self._context, draft, attempts, draft.codebase_node)

    def _brief(self, draft: Draft) -> Brief:
        context, node = self._context, draft.codebase_node
        kernels = reproductions(context.store, context.run_id, context.clock.as_of())
        return Brief(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            title=draft.title,
            draft=draft_text(draft),
            codebase=None if node is None else code(context, node),
            codebase_infer=None if node is None else infer_code(context, node),
            public=next((row.id for row in kernels if node is not None and row.node == node), None),
        )

    async def finish(self, tree: Tree) -> None:
        """Write the missing reports."""
        await self._write_reports(sorted({n.draft_id for n in tree.drafts() if n.draft_id is not None}), tree)


def comind(context: RunContext) -> Strategy:
    """Return CoMind's policy and playbooks: labs, or scripts alone."""
    policy, intake = RoundsPolicy(context.settings_of(RoundsSettings)), open_intake(context)
    labs, briefing = LabsBriefing(context, intake), CoMindBriefing(context, policy, intake)
    return in_rounds("comind", context, intake, (LabsPolicy(), labs), (policy, briefing))


def comind_paper(context: RunContext) -> Strategy:
    """Return CoMind as in its paper (arXiv 2506.20640, section 4): rounds of drafts by scripts that coders do not share."""
    reading = context.settings_of(ReadingSettings).model_copy(update={"share": 1.0})  # the paper sets no limit
    context = replace(context, agent_settings=(reading, *context.agent_settings))
    policy, intake = RoundsPolicy(context.settings_of(RoundsSettings)), Intake(context)
    briefing = CoMindBriefing(context, policy, intake, kernels=False)
    playbook = ScriptPlaybook(context, briefing, alone=True)
    playbooks: Mapping[ActionKind, Playbook] = dict.fromkeys(("draft", "debug", "improve"), playbook)
    return Strategy("comind-paper", policy, playbooks, briefing.finish, intake.close, reads_posts=True)


def open_intake(context: RunContext) -> Intake:
    """Return the intake of posts and kernels beside the drafts."""
    return Intake(context, shares_cores=context.settings_of(ChosenCoder).labs)


def in_rounds(
    name: str,
    context: RunContext,
    intake: Intake,
    in_labs: tuple[Policy, LabsBriefing],
    by_script: tuple[Policy, CoMindBriefing],
) -> Strategy:
    """Return the strategy of a name that works in labs or by scripts alone, each with its policy and briefing."""
    (labs_policy, labs), (policy, briefing) = in_labs, by_script
    scripts = ScriptPlaybook(context, briefing)
    # Both, as a live run may finish its work with another model or sandbox than it started with.
    playbooks: Mapping[ActionKind, Playbook] = {
        "lab": LabPlaybook(context, labs, context.settings_of(LabSettings)),
        **dict.fromkeys(("draft", "debug", "improve"), scripts),
    }
    if context.settings_of(ChosenCoder).labs:
        return Strategy(name, labs_policy, playbooks, None, intake.close, reads_posts=True, opens_labs=True)
    return Strategy(name, policy, playbooks, briefing.finish, intake.close, reads_posts=True)
