"""Planning: a round of distinct drafts from ideas and reports, and the reports on finished drafts."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from itertools import count as counted

from bot.community.evidence import WHOLE
from bot.community.pool import idea_texts, propose_ideas, report_texts, reports_of
from bot.community.prompts import (
    ComponentNote,
    DraftPlan,
    DraftsAnswer,
    PlanDrafts,
    ReportAnswer,
    WriteReport,
    item_time,
)
from bot.engine.attempts import Attempt
from bot.engine.budget import DraftLeft
from bot.engine.context import RunContext
from bot.models import Item
from state.errors import ModelRefused
from state.knowledge import add_draft, add_report, drafts
from state.tables import Draft

PLAIN_IDEAS = 4
"""Ideas in a draft that no model planned."""
_GAIN_SECONDS = 3.0
"""For the draws of one paired comparison."""


async def plan_drafts(
    context: RunContext,
    round_number: int,
    first: int,
    count: int,
    each: DraftLeft,
    seconds: float,
    *,
    lab_seconds: float | None = None,
    start: str = "",
) -> None:
    """Ask a model for the drafts of a round and store them, unless they are stored already.

    Args:
        context: the run.
        round_number: from 1.
        first: number of the first of them.
        count: of drafts.
        each: what one draft may use.
        seconds: time limit of one script.
        lab_seconds: time of the lab that works on it; None: scripts alone.
        start: a sentence on what it starts from, where that is fixed.
    """
    if draft_row(context, first) is not None:
        return
    await propose_ideas(context, f"propose:{first}", context.task, seconds)
    prompt = PlanDrafts(
        context.task,
        context.preview,
        context.machine,
        tuple(idea_texts(context)),
        tuple(report_texts(context)),
        context.results,
        context.left,
        each,
        seconds,
        count,
        lab_seconds,
        start,
        context.blender is not None,
        context.blend,
    )
    try:
        answer = await context.asker.ask(prompt, role="coordinator", name=f"plan:{first}")
    except ModelRefused as error:
        context.say(f"no plan, so that plain drafts are used: {error}")
        answer = plain_drafts(prompt)
    titles = {d.title for d in drafts(context.store, context.run_id, context.clock.as_of())}
    with context.store.write() as tx:
        for offset, plan in enumerate(answer.drafts):
            title = _unique(plan.title, titles)
            titles.add(title)
            add_draft(
                tx,
                context.run_id,
                str(first + offset),
                title=title,
                description=plan.description,
                idea_ids=plan.ideas,
                known_at=item_time(_inputs(prompt, plan), context.card.enabled_at),
                codebase_report=str(plan.codebase) if plan.codebase is not None else None,
                novel=plan.codebase is None,
                round=round_number,
            )


def plain_drafts(prompt: PlanDrafts) -> DraftsAnswer:
    """Return drafts without a model: one extends the best report with new ideas, the others start anew."""
    scored = [r for r in prompt.reports if r.score is not None]
    unused = sorted(prompt.ideas, key=lambda i: (i.times_used, -i.support, i.number))
    share = max(1, len(unused) // prompt.count)
    drafts = []
    for place in range(prompt.count):
        chosen = unused[place * share : (place + 1) * share][:PLAIN_IDEAS]
        extends = place == 0 and bool(scored)
        start = (
            "Improve the script that you are given."
            if extends
            else "Start anew, with another kind of model or features."
        )
        drafts.append(
            DraftPlan(
                title="Plain extension" if extends else f"Plain start {place + 1}",
                description="\n".join([start, *(f"- {idea.text}" for idea in chosen)])[:6_000],
                ideas=tuple(i.number for i in chosen),
                codebase=scored[0].number if extends else None,
            )
        )
    return DraftsAnswer(drafts=tuple(drafts))


def _inputs(prompt: PlanDrafts, plan: DraftPlan) -> list[Item]:
    items = [i.item for i in prompt.ideas if i.number in plan.ideas]
    items += [r.item for r in prompt.reports if r.number == plan.codebase]
    # A plan that names nothing may come from anything in the prompt.
    return items or list(prompt.items())


def _unique(title: str, taken: set[str]) -> str:
    numbered = (f"{title} ({number})" for number in counted(2))
    return next(one for one in chain([title], numbered) if one not in taken)


def draft_row(context: RunContext, draft_id: int) -> Draft | None:
    """Return a stored draft, or None."""
    with context.store.read() as session:
        row = session.get(Draft, (context.run_id, str(draft_id)))
    return row if row is not None and row.known_at <= context.clock.as_of() else None


def provenance(context: RunContext, draft: Draft) -> tuple[Item, ...]:
    """Return the ideas that a draft carries out and the report that it extends, with their times."""
    texts = {i.number: i.item for i in idea_texts(context)}
    items = [texts[n] for n in draft.idea_ids if n in texts]
    items += [Item(f"report/{r.id}", r.known_at) for r in reports_of(context) if r.id == draft.codebase_report]
    return tuple(items)


async def report_on(
    context: RunContext, draft: Draft, attempts: Sequence[Attempt], codebase_node: int | None = None
) -> None:
    """Ask a model for the report on a closed draft and store it; its scores and its gain are the evaluator's.

    Args:
        context: the run.
        draft: the draft.
        attempts: its scripts, oldest first; without any there is no report.
        codebase_node: the node that it builds on; None: none.
    """
    if any(r.draft_id == draft.id for r in reports_of(context)) or not attempts:
        return
    prompt = WriteReport(
        context.task,
        draft.title,
        draft.description,
        tuple(attempts),
        tuple(idea_texts(context)),
        tuple(draft.idea_ids),
        provenance(context, draft),
    )
    try:
        answer = await context.asker.ask(prompt, role="reporter", name=f"report:{draft.id}")
    except ModelRefused as error:
        answer = ReportAnswer(method=draft.description, limitations=f"no report was written: {error}")
    gain = await _gain(context, attempts, codebase_node)
    answer = answer.model_copy(update={"components": (*gain, *answer.components)})
    # The draft may carry out an idea that the prompt no longer shows.
    known_at = max(draft.known_at, item_time(prompt.items(), draft.known_at))
    keep_report(context, draft.id, draft.title, answer, attempts, known_at)


async def _gain(
    context: RunContext, attempts: Sequence[Attempt], codebase_node: int | None
) -> tuple[ComponentNote, ...]:
    """Return the draft's gain over the script that it builds on, from a paired comparison."""
    best = best_attempt(context, attempts)
    if best is None or codebase_node is None or context.executor.self_reported is not None:
        return ()
    found = await context.executor.noise(best.node, codebase_node, _GAIN_SECONDS)
    if found.gain is None or found.gain_error is None:
        return ()
    analysis = f"node {best.node} against node {codebase_node}, which the draft builds on, on the same hold-out rows"
    return (ComponentNote(name=WHOLE, analysis=analysis, gain=found.gain, gain_error=found.gain_error),)


def best_attempt(context: RunContext, attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the attempt with the best score, the earliest of equals; None where none has one."""
    scored = [a for a in attempts if a.score is not None]
    return max(scored, key=lambda a: (context.card.oriented(a.score or 0.0), -a.node), default=None)


def keep_report(
    context: RunContext,
    draft_id: str | None,
    title: str,
    answer: ReportAnswer,
    attempts: Sequence[Attempt],
    known_at: datetime,
) -> None:
    """Store a report: number 1 is the baseline's, which has no draft, and n + 1 that of draft n.

    Numbers do not depend on the order in which reports end, nor on a restart between them.
    """
    best = best_attempt(context, attempts)
    number = 1 if draft_id is None else int(draft_id) + 1
    with context.store.write() as tx:
        add_report(
            tx,
            context.run_id,
            str(number),
            draft_id=draft_id,
            title=title,
            known_at=known_at,
            best_node=best.node if best else None,
            score=best.score if best else None,
            **answer.model_dump(),
        )
