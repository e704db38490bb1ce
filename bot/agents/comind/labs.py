"""CoMind with labs: each draft is worked on in a lab of its own, and nobody waits for a round to end."""

import asyncio
import random
from collections.abc import Sequence

from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.cards import shown
from bot.coder.lab.settings import SHORTEST, LabSettings
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
_ON_TEXT = (
    "Go on from the script that you are given: find by experiments what it lacks, add what differs, blend, score again."
)
_PLAIN = "A safe baseline, written before anything was known of this task: something to beat."
_PUBLISHED, _BEST, _NEW = 1, 2, 3
"""What the first three drafts of a run begin with."""
_STEEPNESS = 5
"""Of n scripts the one of rank r is drawn with a weight of (n - r + 1) to this power (AIRA_2, arXiv 2603.26499)."""
_CROSSED = 1 / 7
"""Share of labs that start from two scripts."""
_STALL = 5
"""Labs in a row without a better score, after which one starts anew."""
_LEAST = 120.0
"""Seconds below which no further lab is worth opening."""


class LabsPolicy:
    """Opens a lab for each free slot while there is time for one, and waits for none.

    Three labs open the run: on what is published, on the best script so far, and on something new. From then on each starts
    from a script that is drawn by its rank, or one in seven from two; after several labs in a row without a better score one
    starts anew, but not in the last third of the run.
    """

    def next_actions(self, tree: Tree, budget: Remaining, free_slots: int, rng: random.Random) -> Sequence[Action]:
        """Return a lab for each free slot."""
        if budget.seconds is not None and budget.seconds < _LEAST:
            return ()
        first = 1 + max((node.draft_id or 0 for node in tree.nodes), default=0)
        return [
            Action("lab", self._parents(tree, budget, first + offset, rng), draft_id=first + offset, slot=offset)
            for offset in range(free_slots)
        ]

    def _parents(self, tree: Tree, budget: Remaining, draft_id: int, rng: random.Random) -> tuple[int, ...]:
        ranked = sorted(
            (node for node in tree.valid() if not node.baseline and not node.spoiled), key=lambda n: (-n.fitness, n.id)
        )
        if draft_id in (_PUBLISHED, _NEW) or not ranked or self._stalls(tree, budget):
            return ()
        if draft_id == _BEST:
            return (ranked[0].id,)
        weights = [(len(ranked) - place) ** _STEEPNESS for place in range(len(ranked))]
        [chosen] = rng.choices(ranked, weights)
        others = [
            (node, weight) for node, weight in zip(ranked, weights, strict=True) if node.draft_id != chosen.draft_id
        ]
        if others and rng.random() < _CROSSED:
            [second] = rng.choices([node for node, _ in others], [weight for _, weight in others])
            return (chosen.id, second.id)
        return (chosen.id,)

    def _stalls(self, tree: Tree, budget: Remaining) -> bool:
        """Whether the last labs brought nothing, and there is time for something else."""
        left = (budget.seconds, budget.seconds_total) if budget.steps is None else (budget.steps, budget.steps_total)
        if left[0] is None or left[1] is None or left[0] < left[1] / 3:
            return False
        best = tree.best()
        drafts = {node.draft_id for node in tree.nodes if node.draft_id is not None and node.state != "running"}
        later = [draft for draft in drafts if best is not None and draft > (best.draft_id or 0)]
        return len(later) >= _STALL


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
                await self._plan(action.draft_id, action.parents, tree)
        draft = draft_row(context, action.draft_id)
        if draft is None:
            raise BotError(f"draft {action.draft_id} was not planned")
        chosen = set(draft.idea_ids)
        return LabAssignment(
            title=draft.title,
            draft=draft.description,
            codebase=action.parents[0] if action.parents else self._codebase(draft),
            parents=action.parents[1:],
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

    async def _plan(self, draft_id: int, parents: tuple[int, ...], tree: Tree) -> None:
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
            self._go_on(draft_id, parents)
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
        room = context.settings_of(LabSettings).seconds(context.budget.seconds, context.budget.usable(best))
        start = self._start(parents, tree)
        await plan_drafts(context, draft_id, draft_id, 1, left, seconds, lab_seconds=room, start=start)

    def _start(self, parents: tuple[int, ...], tree: Tree) -> str:
        """Say what a draft starts from."""
        if not parents:
            return "It is an approach absent from all reports: `codebase` is null."
        report = next((r for r in reports_of(self._context) if r.draft_id == str(tree[parents[0]].draft_id)), None)
        which = f" (`codebase` is {report.id})" if report is not None else ""
        start = f"It starts from the script of node {parents[0]}, which its coder is handed{which}"
        if len(parents) > 1:
            start += f", and takes from node {parents[1]}, whose script lies beside it, what the first one lacks"
        return f"{start}."

    def _go_on(self, draft_id: int, parents: tuple[int, ...]) -> None:
        """Keep a draft that no model is asked for, where the time that is left is better spent on experiments."""
        context = self._context
        scored = [r for r in reports_of(context) if r.score is not None]
        best = max(scored, key=lambda r: context.card.oriented(r.score or 0.0), default=None)
        going_on = best is not None or bool(parents)
        with context.store.write() as tx:
            add_draft(
                tx,
                context.run_id,
                str(draft_id),
                title=f"{_ON} ({draft_id})" if going_on else f"{_OPENING} ({draft_id})",
                description=_ON_TEXT if going_on else _OPENING_TEXT,
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
            f"node {a.node}: {'no score' if a.score is None else shown(a.score, a.noise)} ({a.plan[:120]})"
            for a in attempts
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
