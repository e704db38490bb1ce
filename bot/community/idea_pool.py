"""The pool of ideas with their evidence: it only grows, and shows what was known at the clock's time."""

from collections.abc import Sequence

from sqlmodel import select

from bot.community.evidence import Evidence, evidence
from bot.community.idea_prompts import IdeasAnswer, ProposeIdeas
from bot.community.reading import analysis_texts, known_analyses
from bot.community.report_pool import report_texts, reports_of
from bot.community.settings import ReadingSettings
from bot.community.shown import IdeaText
from bot.engine.context import RunContext
from bot.engine.results import typical_noise
from bot.execution.task import TaskText
from bot.models import Item
from state.errors import ModelRefused
from state.knowledge import add_idea, analyses, drafts, ideas
from state.tables import Analysis, Event

_PROPOSED = "ideas.proposed"


def idea_texts(context: RunContext) -> list[IdeaText]:
    """Return ideas for a prompt with their evidence, best supported first."""
    store, run, as_of = context.store, context.run_id, context.clock.as_of()
    known = analyses(store, run, as_of), drafts(store, run, as_of), reports_of(context)
    found = evidence(ideas(store, run, as_of), *known, typical_noise(store, run))
    return [_idea_text(one) for one in found[: context.settings_of(ReadingSettings).shown_ideas]]


def _idea_text(one: Evidence) -> IdeaText:
    return IdeaText(
        item=Item(f"idea/{one.idea.id}", one.idea.known_at),
        number=one.idea.id,
        text=one.idea.text,
        support=one.support,
        times_used=one.times_used,
        gains=one.gains,
    )


async def propose_ideas(context: RunContext, name: str, task: TaskText, seconds: float | None = None) -> None:
    """Ask a model for new ideas, add them to the pool, and record which analyses the prompt showed.

    Args:
        context: the run.
        name: of the step.
        task: the task.
        seconds: time limit of one script; None: the budget's present one.
    """
    asked_about = [row.id for row in known_analyses(context)]
    prompt = ProposeIdeas(
        task,
        context.machine,
        tuple(analysis_texts(context)),
        tuple(idea_texts(context)),
        tuple(report_texts(context)),
        context.left,
        seconds if seconds is not None else context.budget.execution_seconds(None) or 0.0,
    )
    try:
        answer = await context.asker.ask(prompt, role="proposer", name=name)
    except ModelRefused as error:
        context.say(f"no new ideas: {error}")
        answer = IdeasAnswer(ideas=())
    _add(context, answer, prompt.items(), asked_about)


async def propose_news(context: RunContext) -> None:
    """Ask for ideas on the analyses that no earlier prompt showed, and add them to the pool; raises as `Asker.ask`."""
    async with context.learning:
        if not_asked_about(context):
            # Each set of analyses is asked about once, however often the bot is killed.
            await propose_ideas(context, f"propose:news:{len(known_analyses(context))}", context.task)


def not_asked_about(context: RunContext) -> list[Analysis]:
    """Return the analyses that no prompt for ideas has shown yet, by id."""
    asked = select(Event).where(Event.run_id == context.run_id, Event.type == _PROPOSED)
    with context.store.read() as session:
        done = {item for event in session.exec(asked) for item in event.data["analyses"]}
    return [row for row in known_analyses(context) if row.id not in done]


def _add(context: RunContext, answer: IdeasAnswer, items: Sequence[Item], asked_about: Sequence[str]) -> None:
    known = {_normal(i.text) for i in ideas(context.store, context.run_id, context.clock.as_of())}
    times = {item.id: item.time for item in items}
    fresh = {row.id for row in not_asked_about(context)}
    with context.store.write() as tx:
        for proposed in answer.ideas:
            if _normal(proposed.text) in known:
                continue
            known.add(_normal(proposed.text))
            # An idea that names no source may come from anything in the prompt.
            named = [times[source] for source in proposed.sources] or list(times.values())
            known_at = max(named, default=context.card.enabled_at)
            add_idea(tx, context.run_id, text=proposed.text, sources=proposed.sources, known_at=known_at)
        # Only new ones: an event a round would repeat them all.
        if now := [item for item in asked_about if item in fresh]:
            tx.record(_PROPOSED, run_id=context.run_id, analyses=now)


def _normal(text: str) -> str:
    return " ".join(text.lower().split())
