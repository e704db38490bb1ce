"""AutoMind: plans from a knowledge base, then scripts by self-adaptive coding (arXiv 2506.10974)."""

from bot.agents.tree.memory import Memory
from bot.agents.tree.policy import PRESETS, TreeSearchPolicy
from bot.agents.tree.settings import TreeSearchSettings
from bot.coder.brief import Brief
from bot.coder.playbook import Assignment, Briefing
from bot.engine.attempts import attempt
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.knowledge.retrieval import RetrievedEntries
from bot.research.agents.adaptive import AdaptivePlaybook
from bot.research.agents.automind_prompts import PlanSolution
from state.errors import BudgetExceeded, ModelRefused

_HEADINGS = {
    "draft": "Carry out this plan:",
    "debug": "The script below is broken. Repair it by carrying out this plan:",
    "improve": "Improve the script below by carrying out this plan:",
}
_UNPLANNED = {
    "draft": "Propose a solution that differs from the earlier ones in its features or its model.",
    "debug": "The script below is broken. Repair it without changing its approach.",
    "improve": "Improve the script below.",
}
"""What a script is to come to where no model plans it."""


class AutoMindBriefing(Briefing):
    """Has each node planned first: drafts with papers, improvements with tricks, repairs with neither."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._memory = Memory(context, role="verifier")

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the plan, if a model makes one, as the brief, and the parent as the only earlier script.

        The prompt for a draft's plan has the plans of the valid nodes, as in AIDE, so that drafts differ. That for a repair or an
        improvement has only the parent, and for an improvement the results of earlier scripts that build on it.
        """
        context = self._context
        longest = context.asker.longest_answer
        planning = max(longest("planner", 0.0), longest("improver", 0.0)) + longest("analyzer", 0.0)
        seconds = context.budget.execution_seconds(best_seconds(context, tree), context.answer_seconds + planning)
        if seconds is None:
            raise BudgetExceeded("not enough time to plan, write and run another script")
        parents = tuple(attempt(context, parent) for parent in action.parents)
        knowledge = await self._retrieve(action, node)
        prompt = PlanSolution(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            action=action.kind,
            knowledge=knowledge.text,
            earlier=await self._memory.text(tree) if action.kind == "draft" else "",
            parent=parents[0] if parents else None,
            review=await self._memory.review(parents[0].node) if action.kind == "improve" else "",
            results=tuple(
                result for result in context.results if action.kind == "improve" and action.parents[0] in result.parents
            ),
            seconds=seconds,
            seconds_left=context.budget.seconds_left(),
            known_items=knowledge.items,
        )
        plan = await self._plan(prompt, node)
        brief = Brief(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            title=f"{action.kind.capitalize()} {node}",
            draft=_UNPLANNED[action.kind] if plan is None else f"{_HEADINGS[action.kind]}\n\n{plan}",
            planned=plan is not None,
        )
        return Assignment(brief=brief, attempts=parents, known_items=knowledge.items, plan=plan)

    async def _plan(self, prompt: PlanSolution, node: int) -> str | None:
        role = "improver" if prompt.action == "improve" else "planner"
        try:
            return await self._context.asker.ask(prompt, role=role, name="plan", node=node)
        except ModelRefused:
            return None

    async def _retrieve(self, action: Action, node: int) -> RetrievedEntries:
        """Return entries of the knowledge base: papers for a draft, tricks for an improvement if the policy drew them."""
        base = self._context.knowledge
        if base is None or not action.knowledge:
            return RetrievedEntries()
        if action.kind == "draft":
            return await base.papers(node)
        return await base.tricks(node, topic=attempt(self._context, action.parents[0]).plan)


def automind(context: RunContext) -> Strategy:
    """Return AutoMind's policy and playbooks."""
    briefing = AutoMindBriefing(context)
    playbook = AdaptivePlaybook(context, briefing)
    policy = TreeSearchPolicy(context.settings_of(TreeSearchSettings).over(PRESETS["automind"]))
    return Strategy("automind", policy, {"draft": playbook, "debug": playbook, "improve": playbook})
