"""CoMind with labs: each draft is worked on in a lab of its own, and nobody waits for a round to end."""

import asyncio
import random
from collections.abc import Sequence

from bot.coder.lab.playbook import LabAssignment
from bot.coder.lab.settings import SHORTEST
from bot.community.planning import draft_row, keep_report, plan_drafts, provenance
from bot.community.pool import idea_texts, reports_of
from bot.community.prompts import ComponentNote, ReportAnswer
from bot.community.reading import learn
from bot.engine.attempts import attempt
from bot.engine.budget import DraftLeft
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import BASELINE, Tree
from state.errors import BotError, BudgetExceeded
from state.knowledge import add_draft
from state.labs import lab
from state.tables import Draft

_OPENING = "The best that is published"
_OPENING_TEXT = (
    "Begin with the best published script that can be run here within the time, as far as there is one: read it, carry its "
    "features and models over into a script of this contract, score it, and say how far its own claim holds. Without any, "
    "begin with what usually wins such tasks. Then improve it by experiments, and blend models that differ."
)
_ON = "On from the best"
_ON_TEXT = "Go on from the script that you are given: find out by experiments what it lacks, add what differs, blend, score again."
_PLAIN = "A safe baseline, written before anything was known of this task: something to beat."
_LEAST = 120.0
"""Seconds below which no further lab is worth opening."""


class LabsPolicy:
    """Opens a lab for each free slot while there is time for one; what each works on is planned when it opens."""

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return a lab for each free slot."""
        if budget.seconds is not None and budget.seconds < _LEAST:
            return ()
        first = 1 + max((node.draft_id or 0 for node in tree.nodes), default=0)
        return [Action("lab", draft_id=first + offset, slot=offset) for offset in range(free_slots)]


class LabsBriefing:
    """Plans each lab when it opens, and keeps its report when it closes."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._planning = asyncio.Lock()

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return the draft that the lab works on: the first opens with what is published, the others are planned."""
        if action.draft_id is None:
            raise ValueError("every lab of CoMind belongs to a draft")
        context = self._context
        async with self._planning:
            if draft_row(context, action.draft_id) is None:
                await self._plan(action.draft_id, tree)
        draft = draft_row(context, action.draft_id)
        if draft is None:
            raise BotError(f"draft {action.draft_id} was not planned")
        chosen = set(draft.idea_ids)
        return LabAssignment(
            title=draft.title,
            draft=draft.description,
            codebase=self._codebase(draft),
            known=provenance(context, draft),
            ideas=tuple(
                f"{'*' if idea.number in chosen else '-'} idea {idea.number} (support {idea.support:.1f} of 10): {idea.text}"
                for idea in idea_texts(context)
            ),
        )

    def _codebase(self, draft: Draft) -> int | None:
        """Return the node whose script the draft starts from, or None."""
        report = next((r for r in reports_of(self._context) if r.id == draft.codebase_report), None)
        return None if report is None else report.best_node

    async def _plan(self, draft_id: int, tree: Tree) -> None:
        context = self._context
        if draft_id == 1:
            # Nothing is waited for: the coder reads the public scripts itself.
            with context.store.write() as tx:
                add_draft(
                    tx,
                    context.run_id,
                    "1",
                    title=_OPENING,
                    description=_OPENING_TEXT,
                    idea_ids=(),
                    known_at=context.card.enabled_at,
                    novel=False,
                    round=1,
                )
            return
        best = best_seconds(context, tree)
        if context.budget.usable(best) < SHORTEST:
            self._go_on(draft_id)
            return
        await learn(context)
        if not reports_of(context) and tree[BASELINE].valid:
            first = attempt(context, BASELINE)
            answer = ReportAnswer(method=first.plan, numbers=f"hold-out score {first.score:.6g}", limitations=_PLAIN)
            keep_report(context, None, "Baseline", answer, [first], context.card.enabled_at)
        seconds = context.budget.execution_seconds(best)
        if seconds is None:
            raise BudgetExceeded("no time is left to plan and run another lab")
        left = DraftLeft(scripts=5, seconds=context.budget.usable(best), gainless=5, failed=5)
        await plan_drafts(context, draft_id, draft_id, 1, left, seconds)

    def _go_on(self, draft_id: int) -> None:
        """Keep a draft that no model is asked for, where the time that is left is better spent on experiments."""
        context = self._context
        scored = [r for r in reports_of(context) if r.score is not None]
        best = max(scored, key=lambda r: context.card.oriented(r.score or 0.0), default=None)
        with context.store.write() as tx:
            add_draft(
                tx,
                context.run_id,
                str(draft_id),
                title=_ON if best is not None else f"{_OPENING}, again",
                description=_ON_TEXT if best is not None else _OPENING_TEXT,
                idea_ids=(),
                known_at=context.card.enabled_at if best is None else best.known_at,
                codebase_report=None if best is None else best.id,
                novel=False,
                round=draft_id,
            )

    async def closed(self, action: Action, node: int, tree: Tree) -> None:
        """Keep the report on a lab's draft, made by code of what its coder reported and of what was measured."""
        context = self._context
        draft = draft_row(context, action.draft_id or 0)
        row = lab(context.store, context.run_id, node)
        if draft is None or row is None or any(r.draft_id == draft.id for r in reports_of(context)):
            return
        nodes = [n.id for n in tree.of_draft(action.draft_id or 0) if n.state in ("valid", "buggy")]
        attempts = [attempt(context, n) for n in nodes]
        report = row.report
        numbers = [
            f"node {a.node}: {'no score' if a.score is None else f'{a.score:.6g}'} ({a.plan[:120]})" for a in attempts
        ]
        numbers += [f"folds, {hint['name']}: {hint['score']:.6g}" for hint in row.hints[-12:]]
        answer = ReportAnswer(
            method="\n".join(filter(None, (draft.description, report.get("believed"))))[:6_000],
            components=(ComponentNote(name="the lab", analysis=report["seen"]),) if report.get("seen") else (),
            numbers="; ".join(numbers),
            limitations="; ".join(filter(None, (report.get("why"), report.get("condition"), row.reason))),
            next_steps=report.get("other", ""),
        )
        keep_report(context, draft.id, draft.title, answer, attempts, max(draft.known_at, context.card.enabled_at))

    async def finish(self, tree: Tree) -> None:
        """Do nothing: reports are made by code when a lab closes."""
