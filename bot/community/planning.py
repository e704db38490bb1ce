"""Planning: a round of distinct drafts from ideas and reports."""

from itertools import chain
from itertools import count as counted

from bot.community.idea_pool import idea_texts
from bot.community.plan_prompts import DraftPlan, DraftsAnswer, PlanDrafts
from bot.community.report_pool import report_texts, reports_of
from bot.community.shown import item_time
from bot.engine.budget import DraftLeft
from bot.engine.context import RunContext
from bot.models import Item
from state.errors import ModelRefused
from state.knowledge import add_draft, drafts
from state.tables import Draft

PLAIN_IDEAS = 4
"""Ideas in a draft that no model planned."""


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
