"""The pool of ideas with their evidence, as known at the clock's time; nothing in it is ever deleted."""

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from sqlmodel import select as query

from bot.community.ideas.changes import PoolChanges
from bot.community.ideas.evidence import IdeaEvidence, pool_evidence
from bot.community.ideas.prompts import MOST_ADDED, Failure, IdeasAnswer, ProposedIdea, ProposeIdeas, shown_suggestions
from bot.community.ideas.similarity import Similarity, repetitions
from bot.community.prompt_views import IdeaText, item_time
from bot.community.reading.allowance import may_read
from bot.community.reading.batches import AnalysisText, analysis_texts, known_analyses
from bot.community.report_pool import report_texts, reports_of
from bot.community.settings import ReadingSettings
from bot.engine.attempts import open_record
from bot.engine.context import RunContext
from bot.engine.families import families_in, not_used
from bot.execution.task import shown_description
from bot.models import Item
from bot.models.quoting import line
from state.errors import ModelRefused
from state.labs import labs
from state.tables import Analysis, Event

IDEAS_A_DRAFT = 4
_OVERLAP_PENALTY = 0.7
"""Share of an idea's value that it loses in a draft beside one that holds the same idea (as in CoMind's predecessor)."""
_SAME_PATH = 0.5
"""Minimum overlap of two ideas of one solution path in different drafts."""
_USED_FACTOR = 0.6
"""Factor for an idea that a draft used already without a measured gain."""
_IMPOSSIBLE = 0.2
"""Factor for an idea that this machine can hardly carry out; above 0, as the idea may only mention such a part."""
_MISSING_KIND_FACTOR = 1.3
"""Factor for a family of models that the blend lacks."""
_GPU = re.compile(
    r"\b(?:gpu|cuda|fine-?tun\w*|(?:distil|ro|de)?bert\w*|transformers?|llms?|resnet\w*|efficientnet\w*)\b", re.I
)
_FETCHED = re.compile(
    r"\b(?:download\w*|internet|api|scrap(?:e|ing)|external data\w*|pre-?trained|embeddings? from)\b", re.I
)


@dataclass(frozen=True)
class Situation:
    """What the value of an idea depends on beside its evidence."""

    gpus: int
    weights: bool
    """Whether pretrained weights are here."""
    late: bool
    """Whether it is the last third of a run that is limited by time: quick and sure ideas go first."""
    blended: frozenset[str] = frozenset()
    """Families of models in the ensemble; without an ensemble, those of all scored scripts."""


def value(idea: IdeaText, now: Situation) -> float:
    """Return the value of trying an idea now: 0 if it was measured without a gain, else its support, adjusted."""
    if idea.has_no_gain:
        return 0.0
    worth = idea.support * (0.5 + 0.05 * idea.feasibility) ** (2 if now.late else 1)
    if idea.times_used and not idea.gains:
        worth *= _USED_FACTOR
    if (_GPU.search(idea.text) and not now.gpus) or (_FETCHED.search(idea.text) and not now.weights):
        worth *= _IMPOSSIBLE
    if now.blended and not_used(families_in(idea.text), now.blended):
        worth *= _MISSING_KIND_FACTOR
    return worth


def select(
    ideas: Sequence[IdeaText], drafts: int, now: Situation, ideas_per_draft: int = IDEAS_A_DRAFT
) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the ideas for each of several drafts, best first.

    In turns, each draft takes the idea of the highest value. An idea loses value by its overlap with the ideas taken so far:
    it would add little to the same draft, and other drafts should differ.
    """
    values = {idea.number: value(idea, now) for idea in ideas}
    likeness = Similarity(idea.text for idea in ideas)
    picks: list[list[IdeaText]] = [[] for _ in range(drafts)]

    def marginal_value(idea: IdeaText, draft: int) -> float:
        overlap = 0.0
        for place, pick in enumerate(picks):
            for earlier_idea in pick:
                same_path = place != draft and idea.path == earlier_idea.path != ""
                overlap = max(overlap, likeness(idea.text, earlier_idea.text), _SAME_PATH * same_path)
        return values[idea.number] * (1 - _OVERLAP_PENALTY * overlap)

    for _ in range(ideas_per_draft):
        for draft in range(drafts):
            free = [i for i in ideas if values[i.number] > 0 and i not in picks[draft]]
            if free:
                picks[draft].append(max(free, key=lambda idea: (marginal_value(idea, draft), -idea.number)))
    return tuple(tuple(idea.number for idea in pick) for pick in picks)


PROPOSED = "ideas.proposed"
"""Type of the event with the analyses of one prompt for ideas, and the brainstormed and dropped ideas."""
_LATE_SHARE = 1 / 3
"""Share of a run's time that is left when it is late."""
_ANALYSES_CHARACTERS = 7_500
"""Of the suggestions that one prompt shows; the next prompt shows the others."""
_DESCRIPTION_CHARACTERS = 3_000
_FAILURES = 18
"""Maximum number of negative results that a prompt lists, each of this run and of posts."""
_MAX_ACTIVE_WORK = 20
"""Maximum number of experiments of open labs that a prompt lists, the latest ones."""


def idea_texts(context: RunContext, drafts: int = 0) -> list[IdeaText]:
    """Return the live ideas for a prompt, the most promising first; some are selected for each of the planned `drafts`."""
    feasibility_of = {row.id: row.feasibility for row in known_analyses(context)}
    # The time left counts only where it limits the run, and coarsely.
    budget, blend = context.budget, context.blend
    by_time = budget.remaining(0, None).seconds is not None
    rows = [row for row in context.results if blend is None or row.node in blend.weights]
    now = Situation(
        gpus=context.machine.gpus,
        weights=bool(context.machine.weights),
        late=by_time and budget.seconds_left() < _LATE_SHARE * budget.seconds,
        blended=frozenset(family for row in rows for family in row.families),
    )
    texts = []
    for evidence in (evidence for evidence in _evidence(context) if evidence.live):
        feasibilities = [feasibility_of[source] for source in evidence.sources if source in feasibility_of]
        text = IdeaText(
            item=_item(evidence),
            number=evidence.idea.id,
            text=evidence.idea.text,
            support=evidence.support,
            times_used=evidence.times_used,
            gains=evidence.gains,
            error=evidence.error,
            basis=evidence.basis_in_words,
            has_no_gain=evidence.has_no_gain,
            feasibility=statistics.fmean(feasibilities) if feasibilities else 5.0,
            path=evidence.idea.path,
        )
        texts.append(text)
    texts.sort(key=lambda text: (-value(text, now), text.number))
    del texts[context.settings_of(ReadingSettings).shown_ideas :]
    selected = select(texts, drafts, now)
    return [
        replace(text, proposed=tuple(place for place, numbers in enumerate(selected, 1) if text.number in numbers))
        for text in texts
    ]


def idea_items(context: RunContext) -> dict[int, Item]:
    """Return all ideas that are known, closed ones too, by number."""
    return {evidence.idea.id: _item(evidence) for evidence in _evidence(context)}


def _evidence(context: RunContext) -> list[IdeaEvidence]:
    with open_record(context) as run:
        return pool_evidence(run)


def _item(evidence: IdeaEvidence) -> Item:
    return Item(f"idea/{evidence.idea.id}", evidence.idea.known_at)


def may_propose(context: RunContext) -> bool:
    """Return whether `propose_ideas` costs nothing, or something of the allowance for reading is left."""
    return context.budget.one_lab_a_slot or may_read(context)


async def propose_ideas(context: RunContext, name: str, seconds: float | None = None) -> None:
    """Ask a model what is worth trying, change the pool by its answer, and record the question; once per name.

    Where a lab lasts for the whole run, its coder reads and judges posts itself: the suggestions of new analyses are added
    as they are, without a model call. A script has `seconds`; None: the budget's present limit. Raises as `Asker.ask`, but
    for a refusal.
    """
    if any(event.data["name"] == name for event in _proposal_events(context)):
        return
    new = not_asked_about(context)
    room, new_analyses = _ANALYSES_CHARACTERS, list[AnalysisText]()
    for text in analysis_texts(context, {row.id for row in new if row.suggestions}):
        room -= len(shown_suggestions(text))
        if new_analyses and room < 0:
            break
        new_analyses.append(text)
    prompt = ProposeIdeas(
        replace(context.task, description=shown_description(context.card.description, _DESCRIPTION_CHARACTERS)),
        context.machine,
        tuple(new_analyses),
        tuple(idea_texts(context)),
        tuple(report_texts(context)),
        context.remaining_lines,
        seconds if seconds is not None else context.budget.execution_seconds(None) or 0.0,
        tuple(_failed_here(context))[:_FAILURES],
        tuple(_failed_elsewhere(context))[:_FAILURES],
        tuple(_active_work(context))[-_MAX_ACTIVE_WORK:],
    )
    try:
        if context.budget.one_lab_a_slot:
            answer = IdeasAnswer(add=_suggested(new_analyses))
        else:
            answer = await context.asker.ask(prompt, role="proposer", name=name)
    except ModelRefused as error:
        context.say(f"no new ideas: {error}")
        answer = IdeasAnswer()
    items = prompt.items()
    proposed = [idea.text for idea in answer.add[:MOST_ADDED]]
    repetition_by_text = await repetitions(
        context.similarity, [evidence.idea.text for evidence in _evidence(context)], proposed
    )
    pool, analysis_ids = _evidence(context), {analysis.item.id for analysis in new_analyses}
    with context.store.write() as tx:
        changes = PoolChanges(tx, context.run_id, pool, item_time(items, context.card.enabled_at), repetition_by_text)
        changes.apply(answer, {item.id: item.time for item in items})
        tx.record(
            PROPOSED,
            run_id=context.run_id,
            name=name,
            # An analysis without suggestions needs no prompt.
            analyses={row.id: row.digest for row in new if row.id in analysis_ids or not row.suggestions},
            paths=[path.model_dump() for path in answer.paths],
            dropped=[
                *(dropped_idea.model_dump() for dropped_idea in answer.dropped),
                *({"idea": number, "why": ""} for number in changes.refused),
            ],
        )


def _suggested(analyses: Sequence[AnalysisText]) -> tuple[ProposedIdea, ...]:
    """Return the analyses' suggestions as ideas: the first of each, then the second ones, as many as may be added.

    A post that tries to steer its readers gives none: it is not judged before a coder reads them.
    """
    by_rank = zip_longest(*([(text, row.item.id) for text in row.suggestions] for row in analyses if not row.suspicion))
    pairs = [pair for pair in chain.from_iterable(by_rank) if pair is not None and len(pair[0]) > 2]
    return tuple(ProposedIdea(text=text[:1_500], sources=(source,)) for text, source in pairs[:MOST_ADDED])


async def propose_news(context: RunContext) -> None:
    """Ask for ideas on the analyses that no earlier prompt showed, and add them to the pool; raises as `Asker.ask`."""
    async with context.learning:
        if not_asked_about(context):
            # Each set of analyses has one prompt, however often the bot is killed.
            count, asked_count = len(known_analyses(context)), len(_proposal_events(context))
            await propose_ideas(context, f"propose:news:{count}:{asked_count}")


def not_asked_about(context: RunContext) -> list[Analysis]:
    """Return the analyses that no prompt for ideas has shown as they are now, by id."""
    asked_digests = {analysis for event in _proposal_events(context) for analysis in event.data["analyses"].items()}
    return [row for row in known_analyses(context) if (row.id, row.digest) not in asked_digests]


def _proposal_events(context: RunContext) -> Sequence[Event]:
    with context.store.read() as session:
        return session.exec(query(Event).where(Event.run_id == context.run_id, Event.type == PROPOSED)).all()


def _active_work(context: RunContext) -> Iterator[str]:
    """Yield a line on each experiment that was logged in a lab that is still open."""
    if context.experiments is None:
        return
    still_open = {row.id for row in labs(context.store, context.run_id) if row.ended_at is None}
    for experiment in context.experiments.all():
        if experiment.lab in still_open:
            gain = experiment.result.gain
            over = "" if gain is None else f", {_gain(gain.value, gain.std_error)} over {gain.over}"
            yield line(
                f"{experiment.name}: {context.card.metric.name} {experiment.shown_score}{over}. {experiment.note}".strip(),
                250,
            )


def _failed_here(context: RunContext) -> Iterator[Failure]:
    """Yield what reports measured to gain nothing beyond noise, the latest first."""
    with open_record(context) as run:
        noise = run.typical_noise or 0.0
    for report in reversed(reports_of(context)):
        for part in report.components:
            gain, error = part.get("gain"), part.get("gain_error")
            if gain is not None and gain <= (noise if error is None else error):
                text = f"{part['name']}, gain {_gain(gain, error)}: {part.get('analysis', '')}"
                yield Failure(Item(f"report/{report.id}", report.known_at), text)


def _gain(gain: float, error: float | None) -> str:
    return f"{gain:+.3g}" + (f" ± {error:.2g}" if error is not None else "")


def _failed_elsewhere(context: RunContext) -> Iterator[Failure]:
    """Yield what posts measured to gain nothing, the most effective posts first."""
    rows = [row for row in known_analyses(context) if not row.suspicion]
    for row in sorted(rows, key=lambda row: (-row.effectiveness, row.id)):
        for text in row.fails:
            yield Failure(Item(row.id, row.known_at), text)
