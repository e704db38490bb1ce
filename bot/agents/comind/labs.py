"""CoMind with labs: each draft has a lab of its own, without rounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bot.agents.comind.lineage import ensemble_gaps, insights, resting, used_families
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.settings import DAY, SHORTEST, LabSettings
from bot.community.drafts.planning import draft_row, draft_text, plan_drafts, provenance
from bot.community.drafts.prompts import Room
from bot.community.drafts.reporting import measured_parts
from bot.community.ideas.pool import idea_texts
from bot.community.ideas.uses import Uses, added, credited, uses
from bot.community.intake import Intake
from bot.community.prompt_views import ComponentNote, IdeaText, ReportAnswer, item_time
from bot.community.report_pool import code_source, keep_report, lineage, numbers, reports_of
from bot.community.reproduction.reproducing import record_refused
from bot.engine.attempts import NodeFeedback, attempt
from bot.engine.context import RunContext
from bot.engine.experiment import Experiment
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action
from bot.engine.tree import BASELINE, Tree
from bot.knowledge.retrieval import RetrievedEntries
from bot.models.quoting import in_quotes
from state.errors import BotError, BudgetExceeded
from state.knowledge import add_draft
from state.labs import lab, labs
from state.tables import Draft

_IDEA = 1500
"""Characters of an idea in a lab."""
_FIRST = "A first solution"
_FIRST_TEXT = "Start with the task alone: log a simple model early, then add features and other model families."
_PUBLISHED_TEXT = (
    "Posts are being read in the meantime, so do not wait for them; what a planner makes of them will reach you as news. "
    "Weigh it against your own measurements."
)
_FIRST_START = (
    "Its coder has been working on the task alone since the run started, while the posts were read, and will continue: plan what "
    "the posts add to this work. `codebase` is null, or the node of a public notebook."
)
_CONTINUATION = "Build on the best"
_CONTINUATION_TEXT = "Continue from the best experiment: find what the ensemble lacks, and add it."
_NEW = "A new start"
_NEW_TEXT = "Start from scratch, with features or a model family that no experiment in this run has used."
_BUILT, _EXPERIMENTS, _FILES = 5, 12, 40
"""Best experiments, clearest comparisons and files of a lab that its report names."""
_PLAIN = (
    "A long, generic script for any kind of table, written without knowledge of this task: a score to beat "
    "rather than code to build on."
)


@dataclass(frozen=True)
class LabTerms:
    """Time and advice for a lab, where an agent sets them differently from CoMind."""

    seconds: float | None = None
    """Its minimum time in seconds; None: by its plan and the settings."""
    longest_seconds: float = math.inf
    advice: str = ""
    """For the planner and the coder."""


class LabsBriefing:
    """Plans each lab when it opens, and keeps its report when it closes."""

    def __init__(self, context: RunContext, intake: Intake) -> None:
        self._context = context
        self._intake = intake

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return the draft that the lab works on: the first opens on the task alone, the others are planned."""
        if action.draft_id is None:
            raise ValueError("every CoMind lab must belong to a draft")
        context = self._context
        # Labs do not see public kernels that cannot run here.
        await record_refused(context)
        # Beside the lab, and ready for the next one's plan.
        self._intake.begin("kernels", action.draft_id)
        terms = self.terms(action, tree)
        if draft_row(context, action.draft_id) is None:
            await self._plan(action, action.draft_id, node, tree, terms)
        draft = draft_row(context, action.draft_id)
        if draft is None:
            raise BotError(f"draft {action.draft_id} has not been planned")
        # A draft without a model has no share, and was shown nothing.
        knowledge = RetrievedEntries() if draft.share is None else await self.plan_knowledge(action, node)
        texts = (draft_text(draft), terms.advice, _family_advice(action.parents, tree))
        planned = None if draft.share is None else draft.share * context.budget.seconds
        return LabAssignment(
            title=draft.title,
            draft="\n\n".join(filter(None, texts)),
            codebase=draft.codebase_node,
            parents=action.parents[1:],
            seconds=planned if terms.seconds is None else max(planned or 0.0, terms.seconds),
            max_seconds=terms.longest_seconds,
            known_items=(*provenance(context, draft), *knowledge.items),
            replied=partial(self._replied, action, node),
            ideas=lambda: [
                (_idea_line(idea, is_chosen=idea.number in draft.idea_ids), idea.item) for idea in idea_texts(context)
            ],
        )

    def terms(self, action: Action, tree: Tree) -> LabTerms:
        """Return the time and advice for a lab."""
        return LabTerms()

    async def plan_knowledge(self, action: Action, node: int) -> RetrievedEntries:
        """Return entries of the knowledge base for a lab's plan; CoMind's coders read those in their lab alone."""
        return RetrievedEntries()

    def other_drafts(self, action: Action) -> list[int]:
        """Return the drafts that this one must differ from: those of the open labs."""
        open_drafts = [row.draft_id for row in labs(self._context.store, self._context.run_id) if row.ended_at is None]
        return [int(draft) for draft in open_drafts if draft is not None and int(draft) != action.draft_id]

    async def _plan(self, action: Action, draft_id: int, node: int, tree: Tree, terms: LabTerms) -> None:
        context, parents = self._context, action.parents
        if draft_id == 1:
            text = f"{_FIRST_TEXT} {_PUBLISHED_TEXT}" if self._has_posts else _FIRST_TEXT
            self._keep(draft_id, _FIRST, text, ())
            return
        best = best_seconds(context, tree)
        if context.budget.usable(best) < SHORTEST:
            # Without a model: the remaining time is better spent on experiments.
            title, text = (_CONTINUATION, _CONTINUATION_TEXT) if parents else (_NEW, _NEW_TEXT)
            self._keep(draft_id, f"{title} ({draft_id})", text, parents)
            return
        await self._intake.ready("posts", draft_id - 1)
        await self._intake.ready("kernels", draft_id - 1)
        keep_baseline(context, tree)
        seconds = context.budget.execution_seconds(best)
        if seconds is None:
            raise BudgetExceeded("no time left to plan and run another lab")
        await plan_drafts(
            context,
            draft_id,
            draft_id,
            lambda: _room(context, best, seconds, terms),
            other_ids=self.other_drafts(action),
            start=" ".join(filter(None, (starting_point(parents), terms.advice, _family_advice(parents, tree)))),
            parents=parents,
            insights=insights(context, tree),
            ensemble_gaps=ensemble_gaps(context, tree),
            knowledge=await self.plan_knowledge(action, node),
        )

    @property
    def _has_posts(self) -> bool:
        community = self._context.community
        return community is not None and bool(community.newest(1))

    def _replied(self, action: Action, node: int) -> None:
        """Start the work after the coder's first reply: reading and, for the first lab, the plan of its draft."""
        self._intake.begin("posts", action.draft_id or 1)
        if action.draft_id == 1 and self._has_posts:
            self._intake.begin_after_reading(partial(self._plan_first, action, node))

    async def _plan_first(self, action: Action, node: int) -> None:
        """Let a model plan the draft of the first lab, which is at work: its coder gets the plan as news."""
        context = self._context
        draft, row = draft_row(context, 1), lab(context.store, context.run_id, node)
        if draft is None or draft.title != _FIRST or row is None or row.ended_at is not None:
            return
        await plan_drafts(
            context,
            1,
            1,
            lambda: Room(1, 1.0, 1.0, 1.0, context.budget.seconds, seconds=context.budget.usable(None), lab=True),
            other_ids=self.other_drafts(action),
            start=_FIRST_START,
            knowledge=await self.plan_knowledge(action, node),
            begun=True,
        )

    def _keep(self, draft_id: int, title: str, text: str, parents: tuple[int, ...]) -> None:
        context = self._context
        sources = [source for node in parents if (source := code_source(context, node)) is not None]
        with context.store.write() as tx:
            draft = Draft(
                run_id=context.run_id,
                id=str(draft_id),
                title=title,
                description=text,
                known_at=item_time(sources, context.card.enabled_at),
                created_at=tx.now(),
                codebase_node=next(iter(parents), None),
                round=draft_id,
            )
            add_draft(tx, draft)

    async def closed(self, action: Action, node: int, tree: Tree) -> None:
        """Store the report on a lab's draft, compiled from what its coder reported and from measurements."""
        context = self._context
        draft = draft_row(context, action.draft_id or 0)
        row = lab(context.store, context.run_id, node)
        if draft is None or row is None or any(r.draft_id == draft.id for r in reports_of(context)):
            return
        unscored = () if context.experiments is None else context.experiments.unscored()
        node_ids = [n.id for n in tree.of_draft(action.draft_id or 0) if n.state in ("valid", "buggy")]
        attempts = [attempt(context, n) for n in node_ids if n not in unscored]
        report, components = row.report, list(await measured_parts(context, attempts, draft.codebase_node))
        parts = experiments(context, node)
        limits, next_step = conclusions(parts)
        if text := report.get("components"):
            components.append(ComponentNote(name="according to its coder", analysis=text))
        answer = ReportAnswer(
            method=(report.get("method") or built(context, node, attempts) or draft.description)[:6_000],
            components=(*components, *parts),
            numbers=numbers(attempts),
            limitations="; ".join(filter(None, (report.get("limitations") or limits, row.reason))),
            next_steps=report.get("next") or " ".join(filter(None, (next_step, ensemble_gaps(context, tree)))),
        )
        known_at = max(draft.known_at, context.card.enabled_at)
        work = context.executor.folder.labs / f"lab{node}" / "work"
        files = sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())
        keep_report(context, draft.id, draft.title, answer, attempts, known_at, lineage(context, draft), files[:_FILES])


def keep_baseline(context: RunContext, tree: Tree) -> None:
    """Store the baseline as the first report, so that a draft may extend it."""
    if not tree.spare_baseline and not reports_of(context) and tree[BASELINE].valid:
        first, score = attempt(context, BASELINE), tree[BASELINE].score
        answer = ReportAnswer(method=first.plan, numbers=f"hold-out score {score:.6g}", limitations=_PLAIN)
        keep_report(context, None, "Baseline", answer, [first], context.card.enabled_at)


def built(context: RunContext, lab: int, attempts: Sequence[NodeFeedback]) -> str:
    """Return a lab's best experiments, or its scripts, with their scores: its method if its coder states none."""
    log = context.experiments
    logged = [] if log is None else [e for e in log.ranking() if e.lab == lab and e.kind != "portfolio"]
    if logged:
        return "; ".join(f"{e.name}, {e.shown_score}: {e.note or 'no note'}" for e in logged[:_BUILT])
    return "; ".join(f"node {a.node}: {in_quotes(a.plan, 600)}" for a in attempts if a.score is not None)


def experiments(context: RunContext, lab: int) -> tuple[ComponentNote, ...]:
    """Return a coder's experiments that were compared with another one, the clearest differences first."""
    by_name = {} if context.experiments is None else {e.name: e for e in context.experiments.all()}
    of_lab = [e for e in by_name.values() if e.lab == lab and e.kind != "portfolio"]
    comparisons = [(e, e.result.gain) for e in of_lab if e.result.gain is not None]
    comparisons.sort(key=lambda pair: -abs(pair[1].value) / (pair[1].std_error or math.inf))
    ideas = {idea.number: idea.text for idea in idea_texts(context)}

    def uses_of(experiment: Experiment) -> Uses:
        files = {name: context.store.blob(sha).decode(errors="replace") for name, sha in experiment.sources.items()}
        return uses(files, f"{experiment.name}: {experiment.note}", ideas)

    parts = []
    for experiment, gain in comparisons[:_EXPERIMENTS]:
        reference = by_name.get(gain.over)
        own_uses, before = uses_of(experiment), None if reference is None else uses_of(reference)
        part = ComponentNote(
            name=experiment.name[:160],
            analysis=f"compared with {gain.over} on the same out-of-fold rows. {experiment.note}".strip()[:600],
            idea=credited(own_uses, before),
            ideas=tuple(sorted(added(own_uses, before))),
            gain=gain.value,
            gain_error=gain.std_error,
        )
        parts.append(part)
    return tuple(parts)


def conclusions(parts: Sequence[ComponentNote]) -> tuple[str, str]:
    """Return limitations and next steps by what experiments measured, if their coder states none; empty without any."""
    clear = [part for part in parts if abs(part.gain or 0.0) > 2 * (part.gain_error or math.inf)]
    unclear = ", ".join(part.name for part in parts if part not in clear)
    gains = ", ".join(part.name for part in clear if (part.gain or 0.0) > 0)
    return unclear and f"not beyond noise: {unclear}", gains and f"Build on what gained beyond noise: {gains}."


def _room(context: RunContext, best: float | None, execution_seconds: float, terms: LabTerms) -> Room:
    """Return what remains for a lab that opens now, beside the open ones.

    `best` is the seconds of the best script, `execution_seconds` the time limit of one.
    """
    usable, total = context.budget.usable(best), context.budget.seconds
    seconds = min(usable, DAY, terms.longest_seconds)
    usual = context.settings_of(LabSettings).seconds(total, usable, terms.seconds)
    return Room(
        max_drafts=1,
        usual_share=min(1.0, usual / seconds),
        min_share=min(1.0, (terms.seconds or SHORTEST) / seconds),
        of_run=seconds / total,
        execution_seconds=execution_seconds,
        seconds=seconds,
        lab=True,
    )


def starting_point(parents: tuple[int, ...]) -> str:
    """Return the sentence that says what a draft starts from."""
    if not parents:
        return "It is an approach that no report describes: `codebase` is null, or the node of a public notebook."
    start = f"It starts from node {parents[0]}, whose code is given to the coder (`codebase` is {parents[0]})"
    if len(parents) > 1:
        start += f", and takes from node {parents[1]} what node {parents[0]} lacks; the coder gets the code of both"
    return f"{start}."


def _idea_line(idea: IdeaText, *, is_chosen: bool) -> str:
    gains = ", ".join(f"{gain:+.3g}" for gain in idea.gains)
    error = "" if idea.error is None else f" ± {idea.error:.2g}"
    gain_text = f": gain {gains}{error}" if gains else ""
    label = f"idea {idea.number} (support {idea.support:.1f} of 10, {idea.basis}{gain_text})"
    return f"{'*' if is_chosen else '-'} {label}: {in_quotes(idea.text, _IDEA)}"


def _family_advice(parents: tuple[int, ...], tree: Tree) -> str:
    """Return advice on families of models for a draft and its coder; empty if there is none."""
    sentences = []
    if paused := resting(tree):
        sentences.append(
            f"The last labs that used these model families gained nothing beyond noise: {', '.join(paused)}. "
            "Spend the time on other families; these may stay in an ensemble."
        )
    if not parents and (family_counts := used_families(tree)):
        counts_text = ", ".join(f"{family} ({count})" for family, count in family_counts.most_common())
        sentences.append(
            f"Start with a model family that few or no scored solutions use. Solutions by family so far: {counts_text}."
        )
    return " ".join(sentences)
