"""Planning: distinct drafts from ideas, reports, kernels and findings of labs, each with its share of the remaining budget."""

from collections.abc import Callable, Sequence
from itertools import count

from bot.community.drafts.prompts import DraftPlan, DraftsAnswer, KernelText, OpenDraft, PlanDrafts, Room
from bot.community.ideas.pool import idea_items, idea_texts
from bot.community.prompt_views import item_time
from bot.community.report_pool import code_source, report_texts
from bot.engine.context import RunContext
from bot.knowledge.retrieval import RetrievedEntries
from bot.models import Item
from state.errors import ModelRefused
from state.knowledge import add_draft, drafts, reproductions
from state.steps import Key, StepKind
from state.tables import Draft

_ROOM = StepKind("room", Room)
_KERNELS = 5
"""Reproduced kernels that a plan sees, best first."""


async def plan_drafts(
    context: RunContext,
    round_number: int,
    first: int,
    find_room: Callable[[], Room],
    *,
    other_ids: Sequence[int] = (),
    start: str = "",
    parents: Sequence[int] = (),
    insights: Sequence[str] = (),
    ensemble_gaps: str = "",
    knowledge: RetrievedEntries | None = None,
    begun: bool = False,
) -> None:
    """Ask a model for one draft or more and store them, unless they are stored already.

    Rounds count from 1. `find_room` is called once, so that a resumed run has the same room; the drafts must differ from
    `other_ids`. `start`, in a sentence, and `parents`, the nodes that they start from, may be fixed; `insights` have a line
    for each closed lab, and `ensemble_gaps` says what the ensemble lacks. If a draft was `begun`, the plan replaces its text
    but not its time.
    """
    if draft_row(context, first) is not None and not begun:
        return

    async def room_now() -> Room:
        return find_room()

    room = await context.steps.once(_ROOM, room_now, Key(attempt=first))
    prompt = PlanDrafts(
        task=context.task,
        preview=context.preview,
        machine=context.machine,
        ideas=tuple(idea_texts(context, room.max_drafts)),
        reports=tuple(report_texts(context)),
        results=context.results,
        remaining=context.remaining_lines,
        room=room,
        kernels=kernel_texts(context),
        open_drafts=tuple(
            OpenDraft(Item(f"draft/{row.id}", row.known_at), row.title, row.aim, tuple(row.idea_ids), row.codebase_node)
            for row in known_drafts(context)
            if int(row.id) in other_ids
        ),
        insights=tuple(insights),
        blends=context.blender is not None,
        blend=context.blend,
        ensemble_gaps=ensemble_gaps,
        start=start,
        parents=tuple(parents),
        knowledge="" if knowledge is None else knowledge.text,
        entries=() if knowledge is None else knowledge.items,
    )
    try:
        answer = await context.asker.ask(prompt, role="coordinator", name=f"plan:{first}")
    except ModelRefused as error:
        if begun:
            # The coder goes on with the text that it has; a plain one would be no news.
            return
        context.say(f"planning failed, so a plain draft is used: {error}")
        answer = plain_drafts(prompt)
    _keep(context, round_number, first, prompt, answer, begun=begun)


def _keep(
    context: RunContext, round_number: int, first: int, prompt: PlanDrafts, answer: DraftsAnswer, *, begun: bool
) -> None:
    parents = prompt.parents
    sources = [source for node in parents if (source := code_source(context, node)) is not None]
    titles = {row.title for row in known_drafts(context)}
    # A run may be shown entries from after its clock's time, but nothing of it may be dated after that.
    entries = [entry for entry in prompt.entries if entry.time <= context.clock.as_of()]
    with context.store.write() as tx:
        for offset, plan in enumerate(answer.drafts):
            numbered_titles = (f"{plan.title} ({number})" for number in count(2))
            title = plan.title if plan.title not in titles else next(t for t in numbered_titles if t not in titles)
            titles.add(title)
            items = [i.item for i in prompt.ideas if i.number in plan.ideas]
            if plan.codebase is not None:
                items += [r.item for r in prompt.reports if r.node == plan.codebase]
                items += [k.item for k in prompt.kernels if k.node == plan.codebase]
            # A plan that names nothing may come from anything in the prompt.
            items = items or [item for item in prompt.items() if item not in prompt.entries]
            draft = Draft(
                run_id=context.run_id,
                id=str(first + offset),
                title=title,
                aim=plan.aim,
                description=plan.description,
                idea_ids=list(plan.ideas),
                known_at=item_time([*items, *entries, *sources], context.card.enabled_at),
                created_at=tx.now(),
                codebase_node=parents[0] if parents else plan.codebase,
                share=None if begun else prompt.share(plan) * prompt.room.of_run,
                round=round_number,
            )
            add_draft(tx, draft)


def plain_drafts(prompt: PlanDrafts) -> DraftsAnswer:
    """Return a draft without a model: it extends the best report if no open draft does, else starts fresh, with unused ideas."""
    scored_reports = [r for r in prompt.reports if r.score is not None]
    used_ideas = {number for draft in prompt.open_drafts for number in draft.ideas}
    proposed_ideas = [idea for idea in prompt.ideas if 1 in idea.proposed and idea.number not in used_ideas]
    starts_fresh = bool(prompt.start) and not prompt.parents
    extends = bool(scored_reports) and not starts_fresh and all(draft.codebase is None for draft in prompt.open_drafts)
    start = "Improve the given script." if extends else "Start over with a different kind of model or features."
    draft = DraftPlan(
        title="Plain extension" if extends else "Plain start",
        description="\n".join([start, *(f"- {idea.text}" for idea in proposed_ideas)])[:6_000],
        ideas=tuple(i.number for i in proposed_ideas),
        codebase=scored_reports[0].node if extends else None,
    )
    return DraftsAnswer(drafts=(draft,))


def kernel_texts(context: RunContext) -> tuple[KernelText, ...]:
    """Return the public kernels that ran here, the best measured first."""
    rows = reproductions(context.store, context.run_id, context.clock.as_of())
    texts = [
        KernelText(Item(r.id, r.known_at), r.node, r.title, r.measured, r.noise, r.published, r.seconds)
        for r in rows
        if r.state == "ran" and r.node is not None and r.measured is not None
    ]
    return tuple(sorted(texts, key=lambda kernel: -context.card.oriented(kernel.validation))[:_KERNELS])


def known_drafts(context: RunContext) -> list[Draft]:
    """Return the run's drafts."""
    return drafts(context.store, context.run_id, context.clock.as_of())


def draft_row(context: RunContext, draft_id: int) -> Draft | None:
    """Return a stored draft, or None."""
    with context.store.read() as session:
        row = session.get(Draft, (context.run_id, str(draft_id)))
    return row if row is not None and row.known_at <= context.clock.as_of() else None


def draft_text(draft: Draft) -> str:
    """Return a draft as its coder sees it."""
    return f"Its aim: {draft.aim}\n\n{draft.description}" if draft.aim else draft.description


def provenance(context: RunContext, draft: Draft) -> tuple[Item, ...]:
    """Return the ideas that a draft carries out and the source of the code that it extends, with their times."""
    ideas = idea_items(context)
    items = [ideas[n] for n in draft.idea_ids if n in ideas]
    extended = None if draft.codebase_node is None else code_source(context, draft.codebase_node)
    return (*items, extended) if extended is not None else tuple(items)
