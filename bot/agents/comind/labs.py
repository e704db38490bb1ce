"""CoMind with labs: each draft is worked on in a lab of its own, and nobody waits for a round to end."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bot.agents.comind.insights import insights, lacks
from bot.agents.comind.lineage import resting, used_families
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.settings import DAY, SHORTEST, LabSettings
from bot.community.drafts.planning import draft_row, draft_text, kernel_texts, plan_drafts, provenance
from bot.community.drafts.prompts import Room
from bot.community.drafts.reporting import measured_parts
from bot.community.ideas.pool import idea_texts
from bot.community.intake import Intake
from bot.community.report_pool import code_source, keep_report, lineage, numbers, reports_of
from bot.community.shown import ComponentNote, IdeaText, ReportAnswer, item_time
from bot.engine.attempts import attempt
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action
from bot.engine.tree import BASELINE, Tree
from bot.knowledge.retrieval import Found
from state.errors import BotError, BudgetExceeded
from state.knowledge import add_draft
from state.labs import lab, labs
from state.tables import Lab

_OPENING = "The best that is published"
_OPENING_TEXT = (
    "Read the best published script that can be run here within the time, as far as there is one, and the topics with the most "
    "votes: what was measured there may be worth more than a script. Begin with what of their features and models is better "
    "than what usually wins such tasks, in one script of this contract. Then improve it by experiments, and blend models that "
    "differ. Say in your report which of their claims held here."
)
_MEASURED_TEXT = (
    "Start from the public script that you are given: of those that ran here it scored best, {one.measured:.6g} on rows withheld "
    "as yours are. Make it a whole script of this contract first, and have that scored. Then find by experiments "
    "what it lacks, take in what other public scripts and topics measured, and blend models that differ. Say in your report "
    "which of their claims held here."
)
_FIRST = "A first solution"
_FIRST_TEXT = (
    "Nothing is published here so far. Have a whole script scored early, then improve it by experiments, "
    "and blend models that differ."
)
_ON = "On from the best"
_ON_TEXT = (
    "Go on from the script that you are given: find by experiments what it lacks, add what differs, blend, score again."
)
_NEW = "A new start"
_NEW_TEXT = (
    "Start anew, with another family of models or another published script than the labs before and beside this one: have a "
    "whole script scored early, then improve it by experiments."
)
_EXPERIMENTS, _FILES = 12, 40
"""Of a lab, that its report names: the clearest comparisons, and what files it left."""
_IDEA = re.compile(r"\bidea (\d+)", re.IGNORECASE)
_PLAIN = "A safe baseline, written before anything was known of this task: something to beat."


@dataclass(frozen=True)
class LabWay:
    """What is set of a lab beside its plan, by whoever has it otherwise than CoMind."""

    seconds: float | None = None
    """That it has at the least; None: as its plan and the settings have it."""
    most: float = math.inf
    """Seconds that it has at the most."""
    looks: int | None = None
    """Scripts that it may have scored; None: as the settings have it."""
    advice: str = ""
    """What its plan and its coder are told of it."""


class LabsBriefing:
    """Plans each lab when it opens, and keeps its report when it closes."""

    def __init__(self, context: RunContext, intake: Intake) -> None:
        self._context = context
        self._intake = intake

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return the draft that the lab works on: the first opens with what is published, the others are planned."""
        if action.draft_id is None:
            raise ValueError("every lab of CoMind belongs to a draft")
        context = self._context
        # Beside the lab, and ready for the next one's plan.
        self._intake.begin("kernels", action.draft_id)
        way = self.way(action, tree)
        if draft_row(context, action.draft_id) is None:
            await self._plan(action, action.draft_id, node, tree, way)
        draft = draft_row(context, action.draft_id)
        if draft is None:
            raise BotError(f"draft {action.draft_id} was not planned")
        chosen = set(draft.idea_ids)
        # What was made without a model has no share, and was shown nothing.
        found = Found() if draft.share is None else await self.found(action, node)
        told = (draft_text(draft), way.advice, _about_families(action.parents, tree))
        planned = None if draft.share is None else draft.share * context.budget.seconds
        return LabAssignment(
            title=draft.title,
            draft="\n\n".join(filter(None, told)),
            codebase=draft.codebase_node,
            parents=action.parents[1:],
            seconds=planned if way.seconds is None else max(planned or 0.0, way.seconds),
            most=way.most,
            looks=way.looks,
            known=(*provenance(context, draft), *found.items),
            replied=partial(self._intake.begin, "posts", action.draft_id),
            ideas=lambda: [(_idea_line(idea, idea.number in chosen), idea.item) for idea in idea_texts(context)],
        )

    def way(self, action: Action, tree: Tree) -> LabWay:
        """Return what is set of a lab beside its plan."""
        return LabWay()

    async def found(self, action: Action, node: int) -> Found:
        """Return entries of the knowledge base for a lab's plan; CoMind's coders read those in their lab alone."""
        return Found()

    def beside(self, action: Action) -> list[int]:
        """Return the drafts that a lab's is to differ from: those of the labs that are open."""
        others = [row.draft_id for row in labs(self._context.store, self._context.run_id) if row.ended_at is None]
        return [int(one) for one in others if one is not None and int(one) != action.draft_id]

    async def _plan(self, action: Action, draft_id: int, node: int, tree: Tree, way: LabWay) -> None:
        context, parents = self._context, action.parents
        if draft_id == 1:
            # Nothing is waited for: the coder reads the public scripts itself.
            if context.community is None or not context.community.newest(1):
                self._keep(draft_id, _FIRST, _FIRST_TEXT, ())
                return
            measured = kernel_texts(context)[:1]
            text = _MEASURED_TEXT.format(one=measured[0]) if measured else _OPENING_TEXT
            self._keep(draft_id, _OPENING, text, tuple(one.node for one in measured))
            return
        best = best_seconds(context, tree)
        if context.budget.usable(best) < SHORTEST:
            # No model is asked: the time that is left is better spent on experiments.
            title, text = (_ON, _ON_TEXT) if parents else (_NEW, _NEW_TEXT)
            self._keep(draft_id, f"{title} ({draft_id})", text, parents)
            return
        await self._intake.ready("posts", draft_id - 1)
        await self._intake.ready("kernels", draft_id - 1)
        if not reports_of(context) and tree[BASELINE].valid:
            first = attempt(context, BASELINE)
            answer = ReportAnswer(method=first.plan, numbers=f"hold-out score {first.score:.6g}", limitations=_PLAIN)
            keep_report(context, None, "Baseline", answer, [first], context.card.enabled_at)
        seconds = context.budget.execution_seconds(best)
        if seconds is None:
            raise BudgetExceeded("no time is left to plan and run another lab")
        await plan_drafts(
            context,
            draft_id,
            draft_id,
            lambda: _room(context, best, seconds, way),
            beside=self.beside(action),
            start=" ".join(filter(None, (start_of(parents), way.advice, _about_families(parents, tree)))),
            parents=parents,
            insights=insights(context, tree),
            lacks=lacks(context, tree),
            found=await self.found(action, node),
        )

    def _keep(self, draft_id: int, title: str, text: str, parents: tuple[int, ...]) -> None:
        """Keep a draft that no model is asked for."""
        context = self._context
        sources = [source for node in parents if (source := code_source(context, node)) is not None]
        with context.store.write() as tx:
            add_draft(
                tx,
                context.run_id,
                str(draft_id),
                title=title,
                description=text,
                idea_ids=(),
                known_at=item_time(sources, context.card.enabled_at),
                codebase_node=next(iter(parents), None),
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
        seen = [ComponentNote(name="what its coder saw", analysis=report["seen"])] if report.get("seen") else []
        answer = ReportAnswer(
            method="\n".join(filter(None, (draft.description, report.get("believed"))))[:6_000],
            components=(*await measured_parts(context, attempts, draft.codebase_node), *seen, *experiments(row)),
            numbers=numbers(attempts),
            limitations="; ".join(filter(None, (report.get("why"), report.get("condition"), row.reason))),
            next_steps=report.get("other", ""),
        )
        known_at = max(draft.known_at, context.card.enabled_at)
        left = context.executor.folder.labs / f"lab{node}" / "work"
        files = sorted(str(path.relative_to(left)) for path in left.rglob("*") if path.is_file())
        keep_report(context, draft.id, draft.title, answer, attempts, known_at, lineage(context, draft), files[:_FILES])

    async def finish(self, tree: Tree) -> None:
        """Do nothing: reports are made by code when a lab closes."""


def experiments(row: Lab) -> tuple[ComponentNote, ...]:
    """Return a lab's logged experiments that were compared with another one, the clearest differences first."""
    compared = [hint for hint in row.hints if hint["gain"] is not None]
    compared.sort(key=lambda hint: -abs(hint["gain"]) / (hint["gain_error"] or math.inf))
    return tuple(_experiment(hint) for hint in compared[:_EXPERIMENTS])


def _experiment(hint: Mapping[str, Any]) -> ComponentNote:
    # Its coder names the ideas that it carries out; of two at once nobody knows which one gained.
    named = {int(number) for number in _IDEA.findall(f"{hint['name']} {hint['note']}")}
    return ComponentNote(
        name=hint["name"][:160],
        analysis=f"over {hint['against']}, paired on folds. {hint['note'] or ''}".strip()[:600],
        idea=named.pop() if len(named) == 1 else None,
        gain=hint["gain"],
        gain_error=hint["gain_error"],
    )


def _room(context: RunContext, best: float | None, execution_seconds: float, way: LabWay) -> Room:
    """Return what is left for a lab that opens now: the other labs that are open have their own time.

    Args:
        context: the run.
        best: seconds of the best script.
        execution_seconds: time limit of one script.
        way: what is set of it.
    """
    usable, total = context.budget.usable(best), context.budget.seconds
    left = min(usable, DAY, way.most)
    usual = context.settings_of(LabSettings).seconds(total, usable, way.seconds)
    return Room(
        most=1,
        usual=min(1.0, usual / left),
        least=min(1.0, (way.seconds or SHORTEST) / left),
        of_run=left / total,
        execution_seconds=execution_seconds,
        seconds=left,
        lab=True,
    )


def start_of(parents: tuple[int, ...]) -> str:
    """Return the sentence on what a draft starts from."""
    if not parents:
        return "It is an approach absent from all reports: `codebase` is null, or the node of a public kernel."
    start = f"It starts from the script of node {parents[0]}, which its coder is handed (`codebase` is {parents[0]})"
    if len(parents) > 1:
        start += f", and takes from node {parents[1]}, whose script lies beside it, what the first one lacks"
    return f"{start}."


def _idea_line(idea: IdeaText, chosen: bool) -> str:
    gains = ", ".join(f"{gain:+.3g}" for gain in idea.gains)
    error = "" if idea.error is None else f" ± {idea.error:.2g}"
    measured = f": gain {gains}{error}" if gains else ""
    return f"{'*' if chosen else '-'} idea {idea.number} (support {idea.support:.1f} of 10, {idea.basis}{measured}): {idea.text}"


def _about_families(parents: tuple[int, ...], tree: Tree) -> str:
    """Return the sentences on families of models for a draft and its coder; empty where there is nothing to say."""
    sentences = []
    if tired := resting(tree):
        sentences.append(
            f"These families of models rest, as the last labs that worked with them gained nothing beyond noise: "
            f"{', '.join(tired)}. Put the time into others; in a blend they may stay."
        )
    if not parents and (used := used_families(tree)):
        counted = ", ".join(f"{family} ({scripts})" for family, scripts in used.most_common())
        sentences.append(
            "Begin with a family of models that no scored script of this run uses, or few do. So far, with the number of "
            f"scripts: {counted}."
        )
    return " ".join(sentences)
