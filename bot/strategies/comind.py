"""CoMind: posts become analyses, ideas and drafts; a coder works on each draft; its report returns to the pool."""

import asyncio

from bot.coder import Brief
from bot.community.learning import learn
from bot.community.planning import draft_row, keep_report, plan_round, provenance, report_on
from bot.community.pool import reports_of
from bot.community.prompts import ReportAnswer
from bot.runs.context import RunContext
from bot.strategies import Action, Strategy
from bot.strategies.attempts import BASELINE, attempt, code
from bot.strategies.playbooks import Assignment, ScriptPlaybook
from bot.strategies.rounds import RoundsPolicy
from bot.strategies.tree import Tree
from state.errors import BotError
from state.tables import Draft


class CoMindBriefing:
    """Briefs a coder with its draft alone: task, draft and feedback, never the pools."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._lock = asyncio.Lock()

    async def assign(self, action: Action, node: int, tree: Tree) -> Assignment:
        """Return the draft's brief and what came of its earlier scripts, the one to work on last."""
        if action.draft_id is None:
            raise ValueError("every action of CoMind belongs to a draft")
        if action.kind == "draft":
            async with self._lock:
                await self._open_round(action.draft_id, tree)
        draft = draft_row(self._context, action.draft_id)
        if draft is None:
            raise BotError(f"draft {action.draft_id} was not planned")
        earlier = [n.id for n in tree.of_draft(action.draft_id) if n.state in ("valid", "buggy") and n.id != node]
        ordered = [n for n in earlier if n not in action.parents] + [p for p in action.parents if p in earlier]
        limit = self._context.settings.rounds.steps_per_draft
        return Assignment(
            brief=self._brief(draft),
            attempts=tuple(attempt(self._context, n) for n in ordered),
            known=provenance(self._context, draft),
            steps_left=max(0, limit - len(earlier) - 1),
        )

    async def _open_round(self, draft_id: int, tree: Tree) -> None:
        context = self._context
        size = context.settings.rounds.drafts_per_round
        number = (draft_id - 1) // size + 1
        if draft_row(context, draft_id) is not None:
            return
        await self._learn(tree)
        for earlier in range(1, (number - 1) * size + 1):
            await self._report(earlier, tree)
        context.say(f"planning round {number}")
        await plan_round(context, number, size)

    async def _learn(self, tree: Tree) -> None:
        """Read what is to be read, and keep the baseline as the first report, so that a draft may extend it."""
        context = self._context
        await learn(context)
        if not reports_of(context) and tree[BASELINE].valid:
            first = attempt(context, BASELINE)
            answer = ReportAnswer(method=first.plan, numbers=f"hold-out score {first.score:.6g}")
            keep_report(context, None, "Baseline", answer, [first], context.card.enabled_at)

    async def _report(self, draft_id: int, tree: Tree) -> None:
        draft = draft_row(self._context, draft_id)
        if draft is None:
            return
        nodes = tree.of_draft(draft_id)
        if any(n.state == "running" for n in nodes):
            return  # with several slots: its report is written when the next round opens, or at the end
        ended = [n.id for n in nodes if n.state in ("valid", "buggy")]
        await report_on(self._context, draft, [attempt(self._context, n) for n in ended])

    def _brief(self, draft: Draft) -> Brief:
        context = self._context
        return Brief(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            title=draft.title,
            draft=draft.description,
            codebase=self._codebase(draft),
        )

    def _codebase(self, draft: Draft) -> str | None:
        report = next((r for r in reports_of(self._context) if r.id == draft.codebase_report), None)
        return code(self._context, report.best_node) if report is not None and report.best_node is not None else None

    async def finish(self, tree: Tree) -> None:
        """Write the reports that are still missing."""
        for draft_id in sorted({n.draft_id for n in tree.drafts() if n.draft_id is not None}):
            await self._report(draft_id, tree)


def comind(context: RunContext) -> Strategy:
    """Return CoMind's policy and playbooks."""
    briefing = CoMindBriefing(context)
    playbook = ScriptPlaybook(context, briefing)
    policy = RoundsPolicy(context.settings.rounds)
    return Strategy("comind", policy, {"draft": playbook, "debug": playbook, "improve": playbook}, briefing.finish)
