"""Planning: a round of distinct drafts from ideas and reports."""

from collections.abc import Sequence
from itertools import chain
from itertools import count as counted

from bot.community.idea_pool import idea_items, idea_texts
from bot.community.plan_prompts import DraftPlan, DraftsAnswer, PlanDrafts
from bot.community.report_pool import code_source, report_texts
from bot.community.shown import item_time
from bot.engine.budget import DraftLeft
from bot.engine.context import RunContext
from bot.models import Item
from state.errors import ModelRefused
from state.knowledge import add_draft, drafts
from state.tables import Draft


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
    parents: Sequence[int] = (),
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
        parents: the nodes that it starts from, where that is fixed.
    """
    if draft_row(context, first) is not None:
        return
    prompt = PlanDrafts(
        context.task,
        context.preview,
        context.machine,
        tuple(idea_texts(context, count)),
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
        tuple(parents),
    )
    try:
        answer = await context.asker.ask(prompt, role="coordinator", name=f"plan:{first}")
    except ModelRefused as error:
        context.say(f"no plan, so that plain drafts are used: {error}")
        answer = plain_drafts(prompt)
    sources = [source for node in parents if (source := code_source(context, node)) is not None]
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
                known_at=item_time([*_inputs(prompt, plan), *sources], context.card.enabled_at),
                codebase_node=parents[0] if parents else plan.codebase,
                novel=not parents and plan.codebase is None,
                round=round_number,
            )


def plain_drafts(prompt: PlanDrafts) -> DraftsAnswer:
    """Return drafts without a model: one extends the best report with new ideas, the others start anew."""
    scored = [r for r in prompt.reports if r.score is not None]
    drafts = []
    for place in range(prompt.count):
        chosen = [idea for idea in prompt.ideas if place + 1 in idea.proposed]
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
                codebase=scored[0].node if extends else None,
            )
        )
    return DraftsAnswer(drafts=tuple(drafts))


def _inputs(prompt: PlanDrafts, plan: DraftPlan) -> list[Item]:
    items = [i.item for i in prompt.ideas if i.number in plan.ideas]
    items += [r.item for r in prompt.reports if plan.codebase is not None and r.node == plan.codebase]
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
    """Return the ideas that a draft carries out and the report on the code that it extends, with their times."""
    ideas = idea_items(context)
    items = [ideas[n] for n in draft.idea_ids if n in ideas]
    extended = None if draft.codebase_node is None else code_source(context, draft.codebase_node)
    return (*items, extended) if extended is not None else tuple(items)
