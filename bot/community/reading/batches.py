"""Reading in batches: several documents per call, the most telling first, within a token budget that grows while it pays."""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.community.reading.allowance import allowance, may_read
from bot.community.reading.documents import Document, documents, excerpt, is_note, most_telling, words_of
from bot.community.reading.prompts import Findings, ReadPosts
from bot.community.reading.suspicion import steering
from bot.community.report_pool import reports_of
from bot.community.settings import ReadingSettings
from bot.engine.context import RunContext
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.completion import estimated_tokens
from state.errors import ModelRefused
from state.knowledge import add_analysis, analyses, drafts, ideas
from state.steps import Key, StepKind
from state.tables import Analysis
from state.words import plural

_CALL_TOKENS = 6_500
"""Tokens of documents per call: fewer calls repeat the task less often, but long answers are late."""
_ANSWER_TOKENS = 250
"""Tokens of an answer, per document."""
_TASK_CHARACTERS = 1_000
"""Of the task's description: a reader needs the goal, not the rules for a submission."""
_USEFUL = 3.0
"""Effectiveness from which an analysis without suggestions is shown."""


@dataclass(frozen=True)
class Batch:
    """The documents to read at a time."""

    calls: tuple[tuple[str, ...], ...]
    """Items of documents, by call."""
    allowed_tokens: int
    used_tokens: int
    as_of: datetime


_BATCH, _NEWS = StepKind("reading", Batch), StepKind("reading news", Batch)
_CHOICE = "choice"
"""The part of both that is stored before anything is read."""


class AnalysisText(Findings):
    """An analysis as a prompt shows it."""

    item: Item
    """The document's, with the analysis' time."""
    title: str
    votes: int | None
    public_score: float | None


async def read_batch(context: RunContext, number: int) -> list[str]:
    """Read the next documents, and return their items: none if nothing is left to read or the budget is used up.

    The batch of a number reads what it first chose, however often it is cancelled and repeated; no answer is paid twice.
    Raises as `Asker.ask`.
    """
    return await _read(context, _BATCH, number)


async def read_news(context: RunContext, look: int) -> list[str]:
    """Read posts since the first batch, as `read_batch` does; none before that."""
    return await _read(context, _NEWS, look)


async def _read(context: RunContext, kind: StepKind[Batch], number: int) -> list[str]:
    async def choose() -> Batch:
        unread = _unread(context)
        token_limit = allowance(context).tokens if unread and may_read(context) else 0.0
        return _choose(context, kind, number, unread, token_limit)

    async def read() -> Batch:
        choice = await context.steps.once(kind, choose, Key(part=_CHOICE, attempt=number))
        await _read_all(context, choice.calls, f"{kind.name}:{number}")
        return choice

    async with context.learning:
        choice = await context.steps.once(kind, read, Key(attempt=number))
    return [item for call in choice.calls for item in call]


async def _read_all(context: RunContext, calls: Sequence[Sequence[str]], name: str) -> None:
    """Read the documents of each call; a restarted bot continues with the unfinished calls."""
    if context.community is None or not calls:
        return
    document_by_item = {document.item: document for document in documents(context.community)}
    digests = {row.id: row.digest for row in known_analyses(context)}
    documents_by_call = [[document_by_item[item] for item in call if item in document_by_item] for call in calls]
    missing = {
        n: call for n, call in enumerate(documents_by_call) if any(digests.get(d.item) != d.digest for d in call)
    }
    count = plural(sum(map(len, missing.values())), "document")
    if missing:
        context.say(f"reading {count}")
    try:
        async with asyncio.TaskGroup() as group:
            for n, call in missing.items():
                group.create_task(_read_call(context, call, f"{name}:{n}"))
    except ExceptionGroup as failures:
        # The first failure cancels the other calls, and stops the run or the node.
        context.say(f"reading {count} stopped: {failures.exceptions[0]}")
        raise failures.exceptions[0] from failures
    if missing:
        context.say(f"{count} read")


def _choose(
    context: RunContext, kind: StepKind[Batch], number: int, unread: Sequence[Document], token_limit: float
) -> Batch:
    """Choose what to read, within a limit of tokens."""
    settings = context.settings_of(ReadingSettings)
    earlier_choices = context.steps.all(_BATCH, part=_CHOICE)
    batches = [batch for key, batch in earlier_choices.items() if kind != _BATCH or key.attempt < number]
    as_of, first_as_of = context.clock.as_of(), batches[0].as_of if batches else None
    if kind != _BATCH:
        allowed = settings.first_tokens if batches else 0
    elif not batches:
        allowed = min(settings.first_tokens, settings.most_tokens)
    else:
        # The next batch depends on what this one was allowed, whatever the run could spare.
        factor = {True: settings.growth, None: 1.0, False: 1 / settings.growth}[pays(context)]
        remaining_tokens = settings.most_tokens - sum(batch.used_tokens for batch in batches)
        allowed = min(round(batches[-1].allowed_tokens * factor), remaining_tokens)
    room = min(allowed, token_limit)
    calls, used_tokens, call_tokens = list[list[str]](), 0, _CALL_TOKENS
    if room > 0:
        task = _brief(context.task)
        overhead = _tokens(ReadPosts(task, ()))
        longest = settings.document_characters
        if kind == _NEWS:
            # The owner may add a note of an earlier date.
            unread = [d for d in unread if first_as_of is not None and (d.time > first_as_of or is_note(d))]
        # What was edited since it was read counts as new.
        read_at = {item: row.known_at for row in known_analyses(context) for item in row.posts}
        posts = [] if context.community is None else context.community.find(read_at)
        known_words = words_of(*(post for post in posts if post.time <= read_at[post.item]))
        lower = context.card.lower_is_better
        for document in most_telling(
            unread, known_words, lower_is_better=lower, fresh_since=first_as_of, longest=longest
        ):
            size = _tokens(ReadPosts(task, (excerpt(document, longest),))) - overhead
            opens = call_tokens + size > _CALL_TOKENS
            cost = size + _ANSWER_TOKENS + (overhead if opens else 0)
            if used_tokens + cost > room:
                break
            if opens:
                calls.append([])
                call_tokens = 0
            calls[-1].append(document.item)
            used_tokens, call_tokens = used_tokens + cost, call_tokens + size
    return Batch(tuple(map(tuple, calls)), allowed, used_tokens, as_of)


def pays(context: RunContext) -> bool | None:
    """Return whether reading pays; None: not known yet.

    It pays if, of the drafts with a report that used an idea from something read, the latest scored better than all before it.
    """
    store, run, as_of = context.store, context.run_id, context.clock.as_of()
    read = {row.id for row in known_analyses(context)}
    idea_ids = {idea.id for idea in ideas(store, run, as_of) if read & set(idea.sources)}
    using = {draft.id for draft in drafts(store, run, as_of) if idea_ids & set(draft.idea_ids)}
    best, verdict = float("-inf"), None
    for report in reports_of(context):
        fitness = float("-inf") if report.score is None else context.card.oriented(report.score)
        if report.draft_id in using:
            verdict = fitness > best
        best = max(best, fitness)
    return verdict


def _unread(context: RunContext) -> list[Document]:
    """Return documents that were never read or have changed since; of near-duplicates only the first counts."""
    view = context.community
    if view is None:
        return []
    repeats, rows = view.repeats(), known_analyses(context)
    digests = {row.id: row.digest for row in rows}

    def original_of(item: str) -> str:
        while item in repeats:
            item = repeats[item].original
        return item

    item_by_original = {original_of(row.posts[0]): row.id for row in rows if row.posts}
    unread = []
    by_votes = sorted(
        documents(view), key=lambda document: (-(document.votes or 0), document.created_at, document.item)
    )
    for document in by_votes:
        first = item_by_original.setdefault(original_of(document.posts[0].item), document.item)
        if first == document.item and digests.get(document.item) != document.digest:
            unread.append(document)
    return unread


async def _read_call(context: RunContext, call: Sequence[Document], name: str) -> None:
    """Read documents by one call; those that its answer omits get a second call, and then empty findings."""
    limit, unread = context.settings_of(ReadingSettings).document_characters, list(call)
    for is_last in (False, True):
        findings: dict[str, Findings] = {}
        prompt = ReadPosts(_brief(context.task), tuple(excerpt(document, limit) for document in unread))
        try:
            answer = await context.asker.ask(prompt, role="analyst", name=f"{name}:again" if is_last else name)
            findings |= dict.fromkeys(answer.nothing, Findings())
            findings |= {document.id: document for document in answer.documents}
        except ModelRefused as error:
            context.say(f"{len(unread)} documents could not be read: {error}")
        with context.store.write() as tx:
            for document in unread:
                if document.item in findings or is_last:
                    add_analysis(tx, _analysis(context, document, findings.get(document.item, Findings())))
        unread = [document for document in unread if document.item not in findings]
        if not unread:
            return


def _analysis(context: RunContext, document: Document, findings: Findings) -> Analysis:
    shown_document = excerpt(document, context.settings_of(ReadingSettings).document_characters)
    kind, _, id = document.item.partition("/")
    suspicion = next(filter(None, (steering(document.title, post.text) for post in document.posts)), None)
    return Analysis(
        run_id=context.run_id,
        id=document.item,
        post_kind=kind,
        post_id=id,
        posts=[post.item for post in shown_document.posts],
        digest=document.digest,
        known_at=shown_document.time,
        **findings.model_dump(include=set(Findings.model_fields) - {"suspicion"}),
        suspicion=suspicion or findings.suspicion,
    )


def _brief(task: TaskText) -> TaskText:
    """Return the task with the beginning of its description, which says where it was cut: after a sentence, or after a word."""
    if len(task.description) <= _TASK_CHARACTERS:
        return task
    # Half a rule would mislead.
    sentence_end = re.compile(r"[.!?](?=\s)").search(task.description, _TASK_CHARACTERS, 2 * _TASK_CHARACTERS)
    beginning = (
        task.description[: sentence_end.end()]
        if sentence_end
        else task.description[:_TASK_CHARACTERS].rsplit(maxsplit=1)[0]
    )
    return replace(task, description=f"{beginning} [... the rest is omitted]")


def _tokens(prompt: ReadPosts) -> int:
    return sum(estimated_tokens(message.content) for message in prompt.messages())


def analysis_texts(context: RunContext, only: Collection[str]) -> list[AnalysisText]:
    """Return these analyses for a prompt, the most effective and efficient first."""
    if context.community is None:
        return []
    rows = [row for row in known_analyses(context) if row.id in only]
    rows.sort(key=lambda a: (-(a.effectiveness + 0.5 * a.efficiency), a.id))
    # Useless analyses are left out, and those of posts that their authors have deleted since.
    telling = [row for row in rows if row.suggestions or row.fails or row.effectiveness >= _USEFUL]
    posts = {
        post.item: post for post in context.community.find(item for row in telling for item in (row.id, *row.posts[:1]))
    }
    shown_rows = [row for row in telling if {row.id, *row.posts[:1]} <= posts.keys()]
    return [
        AnalysisText(
            item=Item(row.id, row.known_at),
            title=posts[row.id].title,
            votes=posts[row.id].votes,
            public_score=posts[row.id].public_score,
            **row.model_dump(include=set(Findings.model_fields)),
        )
        for row in shown_rows[: context.settings_of(ReadingSettings).shown_analyses]
    ]


def known_analyses(context: RunContext) -> list[Analysis]:
    """Return the run's analyses that are known now, by id."""
    return analyses(context.store, context.run_id, context.clock.as_of())
